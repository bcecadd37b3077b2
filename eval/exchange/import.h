/*
 * import.h - what other programs left: werkbank import.
 *
 * Weights (a folder or file) become a model folder or a run, see import_model.h. A log becomes a
 * run: werkbank import LOG --run NAME. LOG is the output of an OpenSeq2Seq training (nohup.out). runs/NAME/ must not be there; it gets
 * journal.jsonl and state.json, so that status, report and the workbench show it beside runs of
 * our own. What the records say: train/record/openseq2seq.h.
 */
#ifndef WERKBANK_EVAL_EXCHANGE_IMPORT_H
#define WERKBANK_EVAL_EXCHANGE_IMPORT_H

#include "share/conf/conf.h"
#include "share/base/err.h"

int import_run(struct conf *c, struct err *e);

#endif
