/* predicted.c - see predicted.h */
#include "tests/bench/predicted.h"

#include <stdbool.h>
#include <string.h>

#include "share/base/util.h"

#define START_S 2.2e-6 /* start of a kernel among others, and one access to memory */

/*
 * Rates that well-written kernels should reach, not those of the data sheet. Names as a whole: an H100 PCIe, a
 * GH200 or a part of an H100 (MIG) has other rates.
 */
static const struct {
	const char *name;
	double memory;	 /* bytes/s */
	double products; /* FLOP/s in bf16, by cuBLASLt */
	double others;	 /* FLOP/s of mma.sync, attention */
} chips[] = {
	{ "NVIDIA H200", 4.0e12, 500e12, 400e12 },
	{ "NVIDIA H100 80GB HBM3", 3.0e12, 500e12, 400e12 },
};

double predicted_seconds(const char *gpu, const char *op, double flops, double bytes)
{
	const bool is_product = !strcmp(op, "matmul") || !strncmp(op, "linear", 6);

	for (size_t i = 0; i < ARRAY_LEN(chips); i++) {
		const double rate = is_product ? chips[i].products : chips[i].others;

		if (!strcmp(gpu, chips[i].name))
			return START_S + MAX(flops / rate, bytes / chips[i].memory);
	}
	return 0;
}
