/*
 * host_gpu.h - load, memory, power and traffic of the GPUs of this host: NVIDIA GPUs through their
 * management library (host_nvml.c, opened at run time), Jetson and AMD GPUs through /sys.
 *
 *	struct host_gpus *g = host_gpus_open(&roots, e);	may take seconds
 *	n = host_gpus_sample(g, now, HOST_GPUS_MAX, at);		about once a second
 *	host_gpus_free(g);
 *
 * A number that the driver does not report is NAN. Not for several threads at the same time.
 */
#ifndef WERKBANK_TRAIN_HOST_HOST_GPU_H
#define WERKBANK_TRAIN_HOST_HOST_GPU_H

#include "share/base/err.h"
#include "train/host/host_file.h"

#define HOST_GPUS_MAX 16

/* Reasons for reduced clocks. */
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

/* One sample of one GPU. Plain data: ranks send it to each other as bytes. */
struct host_gpu {
	char name[48];			  /* printable ASCII; "" unknown */
	char uuid[96];			  /* "" unknown */
	double util;			  /* 0..1 of the time a kernel was running */
	double memory_used, memory_total; /* bytes; of the host if it shares its memory */
	double power_w, power_limit_w, temperature_c, sm_mhz, sm_max_mhz;
	double ecc_corrected, ecc_uncorrected; /* memory errors since the driver was loaded */
	double pcie_tx_bytes_s, pcie_rx_bytes_s, nvlink_tx_bytes_s, nvlink_rx_bytes_s;
	int32_t index;
	int32_t throttle; /* sum of enum host_throttle */
	bool mig;	  /* divided (MIG): its utilisation is unknown */
	bool lost;	  /* fell off the bus, or needs a reset */
};

struct host_gpus;

/*
 * NULL only without memory: a host without GPUs is no error. host_gpus_trouble() has the reason why
 * NVIDIA GPUs are not visible.
 */
struct host_gpus *host_gpus_open(const struct host_roots *roots, struct err *e);

/* Write a sample of each GPU to now (at most room); returns their number. at: CLOCK_MONOTONIC. */
int host_gpus_sample(struct host_gpus *g, struct host_gpu *now, int room, double at);

/*
 * Why NVIDIA GPUs are not visible, "" if they are. *is_normal: the reason is only a missing library
 * or driver, as on a host without such GPUs.
 */
const char *host_gpus_trouble(const struct host_gpus *g, bool *is_normal);
const char *host_gpus_driver(const struct host_gpus *g); /* version of NVIDIA's; "": unknown */
void host_gpus_free(struct host_gpus *g);		 /* may be NULL */

/* "power cap, heat"; "none"; "": unknown. Returns text. */
const char *host_throttle_words(int32_t throttle, char *text, size_t room);

/* Set all numbers to unknown. */
void host_gpu_clear(struct host_gpu *gpu, int32_t index);

#endif
