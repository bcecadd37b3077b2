/*
 * trainer.h - one rank of a training run, from its folder.
 *
 * Reads corpora/CORPUS (train.shard, vocab.tsv, bpe.codes or sentencepiece.model),
 * works in runs/NAME: goes on from the newest good checkpoint or begins anew, trains, saves,
 * evaluates, writes the journal. A step is `micro_batches` micro-batches of the
 * loader's one sequence, number i of it on rank i mod ranks; their gradients
 * are summed and divided by the target tokens of all of them. So a run depends
 * neither on how often it was stopped nor, but for the order of additions, on
 * the number of ranks.
 */
#ifndef WERKBANK_TRAIN_TRAINER_TRAINER_H
#define WERKBANK_TRAIN_TRAINER_TRAINER_H

#include <signal.h>

#include "share/conf/conf.h"
#include "share/base/err.h"
#include "train/comm/comm.h"

/*
 * Train the run c->run of the workspace; c holds its recipe, sizes applied.
 * 0: finished, by steps or by time. ERR_TEMPFAIL: stopped on request (*stop
 * became non-zero, or "stop" in the run's control file) after saving. After
 * any other failure with several ranks the caller must comm->abort().
 */
int trainer_run(const struct conf *c, struct comm *comm, const volatile sig_atomic_t *stop,
		struct err *e);

#endif
