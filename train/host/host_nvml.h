/*
 * host_nvml.h - samples NVIDIA GPUs with libnvidia-ml, for host_gpu.c.
 *
 * The library is opened at run time and each function is looked up by name, with our own
 * prototypes. So the build needs no header of NVIDIA, and if a driver lacks a function, only its
 * numbers are unknown.
 */
#ifndef WERKBANK_TRAIN_HOST_HOST_NVML_H
#define WERKBANK_TRAIN_HOST_HOST_NVML_H

#include "train/host/host_gpu.h"

struct host_nvml {
	char trouble[200], driver[80];
	bool is_normal;	    /* see host_gpus_trouble() */
	int n;		    /* number of GPUs */
	struct nvml *state; /* private; NULL: not usable */
};

/* Never fails: trouble says why there are no GPUs. */
void host_nvml_open(struct host_nvml *v, const struct host_roots *roots);
/* Returns the number of samples, at most room. at: CLOCK_MONOTONIC. */
int host_nvml_sample(struct host_nvml *v, struct host_gpu *now, int room, double at);
void host_nvml_close(struct host_nvml *v);

#endif
