/* cuda_none.c - stands in when CUDA is not built. */
#include "kernels/ops.h"

const struct ops *ops_cuda(void)
{
	return NULL;
}
