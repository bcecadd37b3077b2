/*
 * sim.h - what the files of the simulated GPU share; what it is: cuda_runtime.h.
 *
 *	block.cc	threads of a block as fibers, barriers, warps, shared memory
 *	warp.cc		what warps do together: votes, tensor cores, matrices from shared memory
 *	runtime.cc	device memory, errors
 *	stream.cc	streams, events, graphs
 *	blas.cc		the few functions of cuBLASLt, with plain loops
 *	nccl.cc		the few functions of NCCL, between processes
 *
 * Tests steer it through the functions below.
 */
#ifndef CUDASIM_SIM_H
#define CUDASIM_SIM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* The order of everything that is not ordered follows from this. */
void sim_seed(uint64_t seed);
/* How many faults there were, and the sentence of the last; quiet: nothing on stderr. */
int sim_faults(const char **last);
void sim_quiet(bool quiet);
/* Forget errors, as a new process would. */
void sim_forget(void);
/* Bytes of device memory that are in use. */
size_t sim_allocated(void);
/* Threads that ran until now: proof that something did. */
uint64_t sim_threads_run(void);
/* How often the host has waited for a stream, and asked for memory, streams or events. */
uint64_t sim_waits(void);
uint64_t sim_allocations(void);
/* How often it has begun a copy, started a kernel or a graph, and a graph. */
uint64_t sim_copies(void);
uint64_t sim_starts(void);
uint64_t sim_graphs(void);
/* There is no GPU from now on, or there is one. */
void sim_pretend_absent(bool absent);
/* It is from before tensor cores for bf16, or it is not. */
void sim_pretend_old(bool old);
/* NCCL: from its n-th operation on this rank hangs, or the connections of all break; 0: never. */
void sim_nccl_hang(int n);
void sim_nccl_break(int n);
void sim_nccl_absent(bool absent); /* the library is not there */
/*
 * Programs listen to the environment: CUDASIM_GPUS=N, CUDASIM_NO_NCCL, CUDASIM_HANG=RANK:N; CUDASIM_LEFT and
 * CUDASIM_WAITS make them say at the end what is left of memory and how often they waited.
 */

#ifdef __cplusplus
}
#endif

#ifdef CUDASIM_CUDA_RUNTIME_H

#define SIM_SHARED_DEFAULT (48 * 1024)
#define SIM_SHARED_MAX	   (227 * 1024)

/* block.cc: run all blocks of a launch; false: it faulted. */
bool sim_run_grid(const struct sim_launch *l, const std::function<void()> &body);
/* Is a kernel running? */
bool sim_in_kernel(void);
int sim_shared_limit(const void *kernel);

/* runtime.cc */
uint64_t sim_random(void);
void sim_set_error(cudaError_t e, bool sticky);
cudaError_t sim_sticky(void);
bool sim_is_old(void);
cudaError_t sim_absent(void); /* cudaSuccess: there is a GPU */
bool sim_is_device(const void *p, size_t bytes);
bool sim_is_pinned(const void *p);
/* Device memory can be seen between these two. */
void sim_memory_open(void);
void sim_memory_close(void);

void sim_count_wait(void);
void sim_count_allocation(void);
void sim_count_copy(void);
void sim_count_start(bool graph);

/* stream.cc: something for a stream to do, later. */
cudaError_t sim_enqueue(cudaStream_t s, std::function<void()> what);
/* … or to try again until it says true. */
cudaError_t sim_enqueue_attempt(cudaStream_t s, std::function<bool()> what);
/* Let streams do some of their work, as a GPU does that nobody waits for. */
void sim_go_on(void);
void sim_drain_all(void);
/* Is a stream being captured? Then nobody takes memory. */
bool sim_capturing(void);

#endif
#endif
