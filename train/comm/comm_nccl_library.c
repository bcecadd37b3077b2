/* comm_nccl_library.c - loads NCCL at run time; see comm_nccl_library.h */
#include "train/comm/comm_nccl_library.h"

#include <stdbool.h>

#include "kernels/cuda/toolkit_library.h"

#define LIBRARY "libnccl.so.2"

static bool nccl_find_functions(struct nccl_library *l, void *library)
{
	bool all = true;

#define X(name)                                                                                    \
	*(void **)(void *)&l->name = dlsym(library, "nccl" #name);                                 \
	all = all && l->name;
	NCCL_FUNCTIONS(X)
#undef X
	return all;
}

const struct nccl_library *nccl_load(const char **why)
{
	static struct nccl_library found;
	static void *library;

	if (!library) {
		library = TOOLKIT_LIBRARY(LIBRARY);
		if (!library) {
			*why = "the library " LIBRARY " was not found";
			return NULL;
		}
		if (!nccl_find_functions(&found, library)) {
			*why = "the library " LIBRARY " is too old: NCCL 2.14 or newer is needed";
			dlclose(library);
			library = NULL;
			return NULL;
		}
	}
	return &found;
}
