/* comm_nccl_library.h - NCCL, found when the program runs. Inside comm_nccl*.c only. */
#ifndef WERKBANK_TRAIN_COMM_COMM_NCCL_LIBRARY_H
#define WERKBANK_TRAIN_COMM_COMM_NCCL_LIBRARY_H

#include <nccl.h>

/* Every function that is used: X(name without nccl). */
#define NCCL_FUNCTIONS(X)                                                                          \
	X(GetVersion)                                                                              \
	X(GetUniqueId)                                                                             \
	X(GetErrorString) X(GetLastError) X(CommInitRankConfig) X(CommGetAsyncError)               \
		X(CommFinalize) X(CommDestroy) X(CommAbort) X(GroupStart) X(GroupEnd) X(Send)      \
			X(Recv) X(AllReduce) X(ReduceScatter) X(AllGather)

struct nccl_library {
#define X(name) __typeof__(&nccl##name) name;
	NCCL_FUNCTIONS(X)
#undef X
};

/* Loaded once and kept. NULL: *why is a sentence. */
const struct nccl_library *nccl_load(const char **why);

#endif
