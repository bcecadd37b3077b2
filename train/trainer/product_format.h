/*
 * product_format.h - the number format of matrix products in training: bf16 or fp32.
 *
 * With precision = auto a run keeps the format that it began with; a new one takes bf16 if all
 * ranks have products of bf16.
 */
#ifndef WERKBANK_TRAIN_TRAINER_PRODUCT_FORMAT_H
#define WERKBANK_TRAIN_TRAINER_PRODUCT_FORMAT_H

#include <stdbool.h>

#include "share/conf/conf.h"
#include "train/comm/comm.h"
#include "train/model/model.h"
#include "train/trainer/run_records.h"

/* A rank of a run; everything is borrowed. */
struct product_format {
	const struct conf *conf;
	struct comm *comm;
	const char *folder; /* of the run */
	int gpu;	    /* of this rank */
	struct run_records *records;
};

/* Collective. */
int product_format_choose(const struct product_format *f, bool *is_bf16, struct err *e);
/* What precision means on a rank alone. */
bool product_format_is_bf16(const struct conf *c, const struct ops *ops, int gpu);
/* First rank, before the first step of a run with bf16: warns if fp32 is faster here. */
void product_format_warn(const struct product_format *f, const struct ops *ops);
/* The backend of the recipe. NULL: failure. */
const struct ops *product_backend(const struct conf *c, struct err *e);
const char *product_backend_name(const struct conf *c); /* as in the recipe */

#endif
