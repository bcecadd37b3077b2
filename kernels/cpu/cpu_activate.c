/* cpu_activate.c - activations, gates, rotary positions, sums of columns; formulas: ref_activate.c */
#include "kernels/cpu/cpu.h"
#include "kernels/ref/ref.h"

void CPU(activate)(struct dev *d, struct tensor out, struct tensor x, const float *bias,
		   enum activation act, struct dropout drop)
{
	ref_activate(d, out, x, bias, act, drop);
}

void CPU(activate_grad)(struct dev *d, struct tensor dx, float *dbias, struct tensor dout,
			struct tensor x, const float *bias, enum activation act,
			struct dropout drop)
{
	ref_activate_grad(d, dx, dbias, dout, x, bias, act, drop);
}

void CPU(column_sums)(struct dev *d, float *sums, struct tensor x)
{
	ref_column_sums(d, sums, x);
}

void CPU(rotate)(struct dev *d, struct tensor x, struct tensor waves, const int32_t *positions,
		 int32_t heads, bool back)
{
	ref_rotate(d, x, waves, positions, heads, back);
}
