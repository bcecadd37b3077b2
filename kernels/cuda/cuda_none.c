/* cuda_none.c - stubs for builds without CUDA. */
#include "kernels/ops/ops.h"

const struct ops *ops_cuda(void)
{
	return NULL;
}

const char *ops_cuda_unusable_reason(void)
{
	return "this build is without CUDA";
}
