/*
 * host_gpu.h - the GPUs of this host: NVIDIA's by its management library (opened at run time,
 * host_nvml.c), Jetson's and AMD's by /sys.
 *
 *	struct host_gpus *g = host_gpus_open(&roots, e);	may take seconds
 *	n = host_gpus_sample(g, now, HOST_GPUS_MAX, at);		about once a second
 *	host_gpus_free(g);
 *
 * Whatever a driver does not tell is NAN. Not for two threads at once.
 */
#ifndef WERKBANK_TRAIN_COMMON_HOST_GPU_H
#define WERKBANK_TRAIN_COMMON_HOST_GPU_H

#include "share/base/err.h"
#include "train/common/host_file.h"

#define HOST_GPUS_MAX 16

/* Why clocks are lower than they could be. */
#define HOST_THROTTLES(X)                                                                          \
	X(HOST_THROTTLE_CLOCKS, "application clocks")                                              \
	X(HOST_THROTTLE_POWER, "power cap")                                                        \
	X(HOST_THROTTLE_HARDWARE, "hardware slowdown")                                             \
	X(HOST_THROTTLE_SYNC, "sync boost")                                                        \
	X(HOST_THROTTLE_HEAT, "heat")                                                              \
	X(HOST_THROTTLE_HARDWARE_HEAT, "hardware heat")                                            \
	X(HOST_THROTTLE_BRAKE, "power brake")                                                      \
	X(HOST_THROTTLE_DISPLAY, "display clocks")

enum host_throttle {
#define X(id, word) id##_NUMBER,
	HOST_THROTTLES(X)
#undef X
#define X(id, word) id = 1 << id##_NUMBER,
		HOST_THROTTLES(X)
#undef X
			HOST_THROTTLE_UNKNOWN = 1 << 30,
};

/* One GPU at one look. Plain data: it travels between ranks. */
struct host_gpu {
	char name[48];			  /* printable ASCII; "" unknown */
	char uuid[96];			  /* "" unknown */
	double util;			  /* 0..1 of the time something ran on it */
	double memory_used, memory_total; /* bytes; of the host where they share it */
	double power_w, power_limit_w, temperature_c, sm_mhz, sm_max_mhz;
	double pcie_tx_bytes_s, pcie_rx_bytes_s, nvlink_tx_bytes_s, nvlink_rx_bytes_s;
	int32_t index;
	int32_t throttle; /* sum of enum host_throttle */
	bool mig;	  /* divided: its own utilisation is not known */
	bool lost;	  /* fell off the bus, or needs a reset */
};

struct host_gpus;

/*
 * Never fails for lack of GPUs: NULL only without memory. What keeps NVIDIA's
 * from being seen is told by host_gpus_trouble().
 */
struct host_gpus *host_gpus_open(const struct host_roots *roots, struct err *e);

/* How many were written to now (at most room). at: CLOCK_MONOTONIC. */
int host_gpus_sample(struct host_gpus *g, struct host_gpu *now, int room, double at);

/*
 * "": none. Else a sentence. *is_normal: nothing is wrong with a host without
 * NVIDIA's GPUs that says so (no library, no driver).
 */
const char *host_gpus_trouble(const struct host_gpus *g, bool *is_normal);
const char *host_gpus_driver(const struct host_gpus *g); /* NVIDIA's version; "" unknown */
int host_gpus_cuda(const struct host_gpus *g); /* that the driver knows: 12040; 0 unknown */
void host_gpus_free(struct host_gpus *g);      /* may be NULL */

/* "power cap, heat"; "none"; "" when unknown. Returns text. */
const char *host_throttle_words(int32_t throttle, char *text, size_t room);

/* All unknown. */
void host_gpu_clear(struct host_gpu *gpu, int32_t index);

#endif
