/* cuda_blas.cu - see cuda_blas.h */
#include "kernels/cuda_blas.h"

#include <dlfcn.h>
#include <stdio.h>

#define TEXT2(x) #x
#define TEXT(x)	 TEXT2(x)
#define LIBRARY	 "libcublasLt.so." TEXT(CUBLAS_VER_MAJOR)

/* Where the linker looks, and else where the toolkit was when this was built. */
static void *open_library(void)
{
	void *library = dlopen(LIBRARY, RTLD_NOW | RTLD_LOCAL);

#ifdef CUDA_LIBRARY_DIR
	if (!library)
		library = dlopen(CUDA_LIBRARY_DIR "/" LIBRARY, RTLD_NOW | RTLD_LOCAL);
#endif
	return library;
}

static bool find_all(struct cuda_blas *b, void *library)
{
	bool all = true;

#define X(name) \
	b->name = (decltype(b->name))dlsym(library, "cublasLt" #name); \
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
		library = open_library();
		if (!library) {
			*why = "the library " LIBRARY " of CUDA is not there";
			return NULL;
		}
		if (!find_all(&blas, library)) {
			*why = "the library " LIBRARY " lacks functions that are needed";
			dlclose(library);
			library = NULL;
			return NULL;
		}
	}
	return &blas;
}
