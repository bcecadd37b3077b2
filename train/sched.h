/* sched.h - (not written yet) */
#ifndef WERKBANK_TRAIN_SCHED_H
#define WERKBANK_TRAIN_SCHED_H

#endif
