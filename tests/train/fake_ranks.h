/*
 * fake_ranks.h - several ranks as threads of one process, behind struct comm. Code for several
 * ranks can be tested with it without MPI, and under sanitizers.
 */
#ifndef WERKBANK_TESTS_TRAIN_FAKE_RANKS_H
#define WERKBANK_TESTS_TRAIN_FAKE_RANKS_H

#include "train/comm/comm.h"

/* Call body once for each rank, each in a thread of its own; returns when all have returned. */
void fake_ranks(int n, void (*body)(struct comm *c, void *arg), void *arg);

#endif
