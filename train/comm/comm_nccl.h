/*
 * comm_nccl.h - communication between the GPUs of the ranks by NCCL.
 *
 * An MPI job opens its GPUs and then calls comm_nccl_open(). Data in host memory still uses MPI
 * (sums of a few numbers, broadcasts, checkpoints, the barrier). Arrays on GPUs are summed in
 * place, see reduce.h. The program loads the NCCL library at run time; without the library,
 * gradients go through host memory.
 *
 * The NCCL communicator is non-blocking, so no call of NCCL waits for another host forever. A
 * thread polls it for errors. After an error the thread aborts the communicator: kernels that
 * wait for a lost rank end, and every test() and check() of the comm fails with ERR_NOHOST, as
 * with MPI. A hang without an error is the watchdog's task (heartbeat.h): it ends the process.
 */
#ifndef WERKBANK_TRAIN_COMM_COMM_NCCL_H
#define WERKBANK_TRAIN_COMM_COMM_NCCL_H

#include "kernels/ops/wire.h"
#include "train/comm/comm.h"

struct gpus; /* the GPU side of a communicator */

/*
 * Collective; uses the current GPU of this thread. ERR_UNAVAILABLE, then on all ranks: NCCL is not
 * built in, missing on a host, or of different versions; the comm is unchanged. After any other
 * failure the job must end.
 */
int comm_nccl_open(struct comm *c, struct err *e);

/* text (room bytes) = the version of the library, like "2.28.9"; false: text says why not. */
bool comm_nccl_find(char *text, size_t room);

/*
 * True with several hosts and several ranks on a host: in an exchange between all ranks, the ranks
 * of a host share its network link.
 */
bool gpus_share_host_links(const struct gpus *g);

/*
 * The functions below enqueue work on a stream (a cudaStream_t); all ranks call them in the same
 * order. Pointers are to GPU memory. type: WIRE_FP32, or WIRE_BF16, which rounds after each
 * addition. NCCL chooses the order of additions; the result has the same bits on all ranks.
 * ERR_NOHOST: NCCL failed.
 */

/* x (n) = its sum over ranks. */
int gpus_all_reduce(struct gpus *g, void *x, size_t n, enum wire_format type, void *stream,
		    struct err *e);
/* x (ranks * each): part number rank of x becomes its sum over ranks; the rest is undefined. */
int gpus_reduce_scatter(struct gpus *g, void *x, size_t each, enum wire_format type, void *stream,
			struct err *e);
/* x (ranks * each) floats: part number i of x becomes the one of rank i. */
int gpus_all_gather(struct gpus *g, float *x, size_t each, void *stream, struct err *e);
/* all (ranks * bytes) = own (bytes) of every rank, in the order of ranks. */
int gpus_all_gather_bytes(struct gpus *g, void *all, const void *own, size_t bytes, void *stream,
			  struct err *e);
/* x->channel is ignored: exchanges are matched in their order. */
int gpus_exchange(struct gpus *g, const struct comm_exchange *x, void *stream, struct err *e);

#endif
