/* t_product_rates.c - the measured rates of fp32 and bf16 products. */
#include "kernels/product_rates.h"

#include "kernels/ops/ops.h"
#include "tests/test.h"

TEST(product_rates_are_measured)
{
	struct product_rates r;
	struct err e = { 0 };

	if (!check_err(product_rates_measure(&r, &e), 0))
		return;
	check(r.fp32 > 1e-3 && r.fp32 < 1e5); /* GFLOP/s of a thread, of any machine */
	check(r.bf16 > 1e-3 && r.bf16 < 1e5);
}

TEST(product_rates_prefer_fp32_only_where_it_is_clearly_faster)
{
	check(product_rates_prefer_fp32(&(struct product_rates){ .fp32 = 183, .bf16 = 90 }));
	check(!product_rates_prefer_fp32(&(struct product_rates){ .fp32 = 100, .bf16 = 95 }));
	check(!product_rates_prefer_fp32(&(struct product_rates){ .fp32 = 100, .bf16 = 190 }));
}

/* The rows of the table: AMX, AVX-512 BF16 of full and of half rate, neither. */
TEST(product_format_by_processor_features)
{
	check(cpu_features_prefer_bf16(
		&(struct cpu_features){ .bf16 = true, .has_slow_bf16 = true, .tiles = true }));
	check(cpu_features_prefer_bf16(&(struct cpu_features){ .bf16 = true }));
	check(!cpu_features_prefer_bf16(
		&(struct cpu_features){ .bf16 = true, .has_slow_bf16 = true }));
	check(!cpu_features_prefer_bf16(&(struct cpu_features){ .vnni = true }));
}
