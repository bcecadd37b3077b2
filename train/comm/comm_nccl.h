/*
 * comm_nccl.h - the GPUs of the ranks reach each other, by NCCL.
 *
 * An MPI job opens its GPUs and then calls comm_nccl_open(): the comm stays what it was for
 * all that lies on hosts (sums of a few numbers, broadcasts, checkpoints, the barrier), and what lies
 * on GPUs can be summed in place; reduce.h is how. NCCL is a library that the program looks for when
 * it runs: where it is missing nothing is lost but this.
 *
 * The communicator is non-blocking, so that no call of NCCL waits for another host for ever. A
 * thread asks it for errors; after one it is aborted, which ends kernels that wait for a
 * rank that is gone, and every test() and check() of the comm fails with ERR_NOHOST, as it does
 * with MPI. What hangs without an error is the watchdog's (heartbeat.h), which ends the process.
 */
#ifndef WERKBANK_TRAIN_COMM_COMM_NCCL_H
#define WERKBANK_TRAIN_COMM_COMM_NCCL_H

#include "kernels/ops/wire.h"
#include "train/comm/comm.h"

struct gpus;

/*
 * Collective, with this thread's GPU. ERR_UNAVAILABLE: on none of the ranks, because NCCL is not
 * built in, not found somewhere or of different versions; the comm is as before. Other failures end the job.
 */
int comm_nccl_open(struct comm *c, struct err *e);

/* The library's version as "2.28.9"; false: text says why there is none. */
bool comm_nccl_find(char *text, size_t room);

/* Several ranks on a host, and several hosts: what all send to all crosses the network many times. */
bool gpus_share_host_links(const struct gpus *g);

/*
 * Work for a stream (cudaStream_t), the same on all ranks. Pointers are of GPUs. type: WIRE_FP32 or
 * WIRE_BF16, which is rounded after each addition; the order of additions is NCCL's, the result
 * has the same bits on all ranks.
 */
int gpus_all_reduce(struct gpus *g, void *x, size_t n, enum wire_format type, void *stream,
		    struct err *e);
/* x (ranks * each): the part of this rank becomes the sum. */
int gpus_reduce_scatter(struct gpus *g, void *x, size_t each, enum wire_format type, void *stream,
			struct err *e);
/* x (ranks * each) floats: the parts of all ranks. */
int gpus_all_gather(struct gpus *g, float *x, size_t each, void *stream, struct err *e);
/* all (ranks * bytes): what the ranks have in own (bytes), in their order. */
int gpus_all_gather_bytes(struct gpus *g, void *all, const void *own, size_t bytes, void *stream,
			  struct err *e);
/* x->channel does not matter: exchanges are matched in their order. */
int gpus_exchange(struct gpus *g, const struct comm_exchange *x, void *stream, struct err *e);

#endif
