/*
 * fetch_command.h - the command "werkbank fetch CORPUS...": download the archives of manifests
 *
 * A CORPUS is the name of a manifest in share/corpora, or the path of a manifest. Standard output
 * has one line an archive: name, bytes, SHA-256, path, separated by tabs; with --json one document.
 * After a failure the archives that are here are printed all the same.
 */
#ifndef WERKBANK_DATA_FETCH_COMMAND_H
#define WERKBANK_DATA_FETCH_COMMAND_H

#include "share/base/err.h"
#include "share/conf/conf.h"

/* c->arguments: the CORPUS names. Returns the first failure. */
int fetch_command_run(struct conf *c, struct err *e);

#endif
