/* cpu_ssru.c - the simpler simple recurrent unit; formulas: ref_ssru.c */
#include "kernels/cpu/cpu.h"
#include "kernels/ref/ref.h"

void CPU(ssru)(struct dev *d, struct tensor out, struct tensor state, struct tensor x,
	       const float *bias, const int32_t *start, int32_t n, int32_t longest)
{
	ref_ssru(d, out, state, x, bias, start, n, longest);
}

void CPU(ssru_grad)(struct dev *d, struct tensor dx, float *dbias, struct tensor dout,
		    struct tensor state, struct tensor x, const float *bias, const int32_t *start,
		    int32_t n, int32_t longest)
{
	ref_ssru_grad(d, dx, dbias, dout, state, x, bias, start, n, longest);
}

void CPU(ssru_step)(struct dev *d, struct tensor out, struct tensor states, struct tensor x,
		    const float *bias, const int32_t *from, const int32_t *to)
{
	ref_ssru_step(d, out, states, x, bias, from, to);
}
