/*
 * trainer_gpu.h - which GPU does a rank use?
 */
#ifndef WERKBANK_TRAIN_TRAINER_TRAINER_GPU_H
#define WERKBANK_TRAIN_TRAINER_TRAINER_GPU_H

#include <stdint.h>

#include "share/base/err.h"
#include "train/comm/comm.h"

/* What a rank knows of its GPUs: its host, and the value of its CUDA_VISIBLE_DEVICES. */
struct gpu_view {
	char host[64], visible[128];
};

/* Index, as CUDA counts for its process, of the GPU of a rank among n ranks. first: the option gpu. */
int64_t gpu_view_index(const struct gpu_view *all, int n, int rank, int64_t first);

/* Collective: *gpu = this rank's index among the GPUs that CUDA shows to its process. */
int trainer_choose_gpu(struct comm *c, int64_t first, int *gpu, struct err *e);

#endif
