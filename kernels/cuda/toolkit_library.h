/*
 * toolkit_library.h - a library of CUDA's world that is loaded when it is needed, so that the same
 * program runs where it is not.
 */
#ifndef WERKBANK_KERNELS_CUDA_TOOLKIT_LIBRARY_H
#define WERKBANK_KERNELS_CUDA_TOOLKIT_LIBRARY_H

#include <dlfcn.h>

/* Where the linker looks, and else beside the toolkit with which this was built. NULL: not there. */
#ifdef CUDA_LIBRARY_DIR
#define TOOLKIT_LIBRARY(name) toolkit_library(name, CUDA_LIBRARY_DIR "/" name)
#else
#define TOOLKIT_LIBRARY(name) toolkit_library(name, 0)
#endif

static inline void *toolkit_library(const char *name, const char *else_name)
{
	void *library = dlopen(name, RTLD_NOW | RTLD_LOCAL);

	return library || !else_name ? library : dlopen(else_name, RTLD_NOW | RTLD_LOCAL);
}

#endif
