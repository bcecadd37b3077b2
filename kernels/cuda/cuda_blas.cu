/* cuda_blas.cu - loads cuBLASLt at run time; see cuda_blas.h */
#include "kernels/cuda/cuda_blas.h"

#include <stdio.h>

#include "kernels/cuda/toolkit_library.h"

#define TEXT2(x) #x
#define TEXT(x)	 TEXT2(x)
#define LIBRARY	 "libcublasLt.so." TEXT(CUBLAS_VER_MAJOR)

static bool load_blas_symbols(struct cuda_blas *b, void *library)
{
	bool all = true;

#define X(name)                                                                                    \
	b->name = (decltype(b->name))dlsym(library, "cublasLt" #name);                             \
	all = all && b->name;
	CUDA_BLAS_FUNCTIONS(X)
#undef X
	return all;
}

const struct cuda_blas *cuda_blas_load(const char **why)
{
	static struct cuda_blas blas;
	static void *library;

	if (!library) {
		library = TOOLKIT_LIBRARY(LIBRARY);
		if (!library) {
			*why = "the CUDA library " LIBRARY " cannot be loaded";
			return NULL;
		}
		if (!load_blas_symbols(&blas, library)) {
			*why = "the CUDA library " LIBRARY " lacks functions: too old?";
			dlclose(library);
			library = NULL;
			return NULL;
		}
	}
	return &blas;
}
