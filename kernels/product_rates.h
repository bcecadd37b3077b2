/*
 * product_rates.h - how fast this processor multiplies matrices in fp32 and in bf16.
 *
 * bf16 is not always the faster format: some processors run their bf16 instruction at half the rate
 * of fp32 multiply-adds and have no tiles (AMX). Only a measurement tells.
 */
#ifndef WERKBANK_KERNELS_PRODUCT_RATES_H
#define WERKBANK_KERNELS_PRODUCT_RATES_H

#include <stdbool.h>

#include "share/base/err.h"

/* 10^9 floating-point operations a second of one thread, inputs in the caches. */
struct product_rates {
	double fp32, bf16;
};

/*
 * Multiplies matrices of 256 x 256 with the CPU backend for about 0.1 s: both formats in turn, best
 * of several. ERR_NOMEM.
 */
int product_rates_measure(struct product_rates *r, struct err *e);

/* Is fp32 so much faster that noise cannot be the reason? */
bool product_rates_prefer_fp32(const struct product_rates *r);

#endif
