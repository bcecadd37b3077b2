/*
 * verify.h - the command "verify": are the files of a run, a corpus or a model intact?
 *
 * Reads every file whose checksum or form is known: SHA256SUMS of checkpoints and models, the files
 * of manifest.json of a corpus, the journal, the links best and last. Writes nothing into the
 * folder. Each fault comes with the command that cures it, if there is one.
 */
#ifndef WERKBANK_EVAL_VERIFY_VERIFY_H
#define WERKBANK_EVAL_VERIFY_VERIFY_H

#include "share/base/err.h"
#include "share/conf/conf.h"

/* 0; ERR_DATA: damage was found and printed; ERR_NOINPUT: there is no such run, corpus or model. */
int verify_run(struct conf *c, struct err *e);

#endif
