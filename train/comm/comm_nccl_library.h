/* comm_nccl_library.h - NCCL, loaded at run time. For comm_nccl*.c only. */
#ifndef WERKBANK_TRAIN_COMM_COMM_NCCL_LIBRARY_H
#define WERKBANK_TRAIN_COMM_COMM_NCCL_LIBRARY_H

#include <nccl.h>

/* Every function of NCCL that the program calls: X(name without the prefix nccl). */
/* clang-format off */
#define NCCL_FUNCTIONS(X) \
	X(GetVersion) X(GetUniqueId) X(GetErrorString) X(GetLastError) X(CommInitRankConfig) \
	X(CommGetAsyncError) X(CommFinalize) X(CommDestroy) X(CommAbort) X(GroupStart) \
	X(GroupEnd) X(Send) X(Recv) X(AllReduce) X(ReduceScatter) X(AllGather)
/* clang-format on */

struct nccl_library {
#define X(name) __typeof__(&nccl##name) name;
	NCCL_FUNCTIONS(X)
#undef X
};

/* The functions of the library; loaded once, never unloaded. NULL: *why is the reason. */
const struct nccl_library *nccl_load(const char **why);

#endif
