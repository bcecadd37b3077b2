/*
 * doctor.h - "werkbank doctor": hardware and software of this host, which of it Werkbank uses and
 * why, what is missing, and what it would be good for.
 *
 * It changes nothing and runs only "mpirun --version". For other hosts and the network between
 * hosts there is "werkbank hosts check".
 */
#ifndef WERKBANK_TRAIN_DOCTOR_H
#define WERKBANK_TRAIN_DOCTOR_H

#include "share/base/err.h"
#include "share/conf/conf.h"

/*
 * Reads workspace and json of conf. Prints a table, or one JSON document {"findings":[{"what",
 * "state": good | limited | missing, "found", "advice"}, …]}. Bad findings are no failure: the only
 * errors are ERR_IO and ERR_NOMEM.
 */
int doctor_run(const struct conf *c, struct err *e);

#endif
