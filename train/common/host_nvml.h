/*
 * host_nvml.h - NVIDIA's GPUs by libnvidia-ml, as host_gpu.h wants them.
 *
 * The library is opened at run time and each function looked for by name, with
 * prototypes of our own: no header of NVIDIA's is needed to build, and a driver that lacks a
 * function only tells less.
 */
#ifndef WERKBANK_TRAIN_COMMON_HOST_NVML_H
#define WERKBANK_TRAIN_COMMON_HOST_NVML_H

#include "train/common/host_gpu.h"

struct host_nvml {
	char trouble[200], driver[80];
	bool is_normal;	    /* see host_gpus_trouble() */
	int cuda, n;	    /* GPUs */
	struct nvml *state; /* NULL: not usable */
};

void host_nvml_open(struct host_nvml *v, const struct host_roots *roots);
int host_nvml_sample(struct host_nvml *v, struct host_gpu *now, int room, double at);
void host_nvml_close(struct host_nvml *v);

#endif
