/*
 * import.h - the command "import": weights and logs of other programs.
 *
 * Weights (a file or folder) become a model folder or a run, see import_model.h. A log becomes a
 * run: werkbank import LOG --run NAME. LOG is the output of an OpenSeq2Seq training (nohup.out).
 * runs/NAME/ must not exist; it gets journal.jsonl and state.json, so that status, report and the
 * workbench show the run like Werkbank's own runs. Fields: train/record/openseq2seq.h.
 */
#ifndef WERKBANK_EVAL_IMPORT_IMPORT_H
#define WERKBANK_EVAL_IMPORT_IMPORT_H

#include "share/base/err.h"
#include "share/conf/conf.h"

/* Recognises c->arguments[0] by its first bytes and imports it. 0 or a negative code. */
int import_run(struct conf *c, struct err *e);

#endif
