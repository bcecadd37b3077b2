/*
 * toolkit_library.h - load a library of CUDA at run time, so that the same program also runs on
 * machines without CUDA.
 */
#ifndef WERKBANK_KERNELS_CUDA_TOOLKIT_LIBRARY_H
#define WERKBANK_KERNELS_CUDA_TOOLKIT_LIBRARY_H

#include <dlfcn.h>

/* Search the path of the dynamic linker, then the folder of the CUDA toolkit of the build. NULL: not found. */
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
