/*
 * doctor.h - "werkbank doctor": what this machine has, what will be used of it and why, what is
 * missing and what that would bring.
 *
 * Nothing is changed or started but "mpirun --version". What belongs to other machines (hosts of a
 * training, their network) is told by "werkbank hosts check" instead.
 */
#ifndef WERKBANK_TRAIN_DOCTOR_H
#define WERKBANK_TRAIN_DOCTOR_H

#include "share/conf/conf.h"
#include "share/base/err.h"

/*
 * Of conf: workspace, json. A table, or one JSON document { "findings": [{ "what", "state": good | limited |
 * missing, "found", "advice" }, …] }, to standard output. A finding is no failure: ERR_IO and ERR_NOMEM only.
 */
int doctor_run(const struct conf *c, struct err *e);

#endif
