/*
 * fetch_command.h - werkbank fetch CORPUS…: every archive of these manifests, here and verified.
 *
 * A CORPUS is the name of a manifest in share/corpora, or the path of one of your own. On
 * standard output one line an archive: name, bytes, SHA-256, path; tabs between them. With --json
 * one document. What could not be had is the failure; what could is printed all the same.
 */
#ifndef WERKBANK_DATA_FETCH_COMMAND_H
#define WERKBANK_DATA_FETCH_COMMAND_H

#include "share/conf/conf.h"
#include "share/base/err.h"

int fetch_command_run(struct conf *c, struct err *e);

#endif
