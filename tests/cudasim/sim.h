/*
 * sim.h - declarations shared by the files of the simulated GPU; cuda_runtime.h describes it.
 *
 *	block.cc	threads of a block as fibers, barriers, warps, shared memory
 *	warp.cc		warp functions: votes, tensor cores, ldmatrix
 *	runtime.cc	device memory, errors
 *	stream.cc	streams, events, graphs
 *	blas.cc		the few functions of cuBLASLt, with plain loops
 *	nccl.cc		the few functions of NCCL, between processes
 *
 * Tests control it by the functions below.
 */
#ifndef CUDASIM_SIM_H
#define CUDASIM_SIM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Seed of the order of threads, blocks and streams, where the program defines none. */
void sim_seed(uint64_t seed);
/* Number of faults, and the text of the last one; quiet: print nothing on stderr. */
int sim_faults(const char **last);
void sim_quiet(bool quiet);
/* Clear all errors, as in a new process. */
void sim_forget(void);
/* Bytes of device memory in use. */
size_t sim_allocated(void);
/* Number of threads that have run: proof that kernels ran at all. */
uint64_t sim_threads_run(void);
/* Number of waits of the host for a stream; of allocations of memory, streams and events. */
uint64_t sim_waits(void);
uint64_t sim_allocations(void);
/* Number of copies; of launches of kernels and graphs; of launches of graphs. */
uint64_t sim_copies(void);
uint64_t sim_starts(void);
uint64_t sim_graphs(void);
/* Pretend that there is no GPU, or that there is one. */
void sim_pretend_absent(bool absent);
/* Pretend a GPU without tensor cores for bf16, or one with them. */
void sim_pretend_old(bool old);
/* Pretend a GPU that none of the program's kernels was compiled for. */
void sim_pretend_unfit(bool unfit);
/* cuBLASLt has no algorithm for any product from now on. */
void sim_refuse_products(bool refuse);
/* The candidate of cuBLASLt's heuristic that is fastest: events show a second more for others; at first 0. */
void sim_prefer_algorithm(int candidate);
void sim_set_blas_version(size_t number);
/* Instantiated graphs take so many bytes of device memory for each of their kernels and copies; at first 0. */
void sim_set_graph_bytes(size_t bytes);
/* The next n instantiations of graphs find no memory. */
void sim_fail_instantiations(int n);
/* NCCL: from the n-th operation on this rank hangs, or all connections break; 0: never. */
void sim_nccl_hang(int n);
void sim_nccl_break(int n);
void sim_nccl_absent(bool absent); /* pretend that the library cannot be loaded */
/*
 * Environment variables for programs: CUDASIM_GPUS=N, CUDA_VISIBLE_DEVICES=LIST (hides the others), CUDASIM_NO_NCCL, CUDASIM_NO_PRODUCTS, CUDASIM_FASTEST=CANDIDATE, CUDASIM_HANG=RANK:N. With CUDASIM_LEFT
 * and CUDASIM_WAITS they print at exit the memory not freed, and the number of waits.
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
bool sim_take_memory(
	size_t bytes); /* of the device, beside allocations; false: there is not so much */
void sim_give_memory(size_t bytes);
uint64_t sim_random(void);
void sim_set_error(cudaError_t e, bool sticky);
cudaError_t sim_sticky(void);
bool sim_is_old(void);
cudaError_t sim_absent(void); /* cudaSuccess: there is a GPU */
bool sim_is_device(const void *p, size_t bytes);
bool sim_is_pinned(const void *p);
/* The host can access device memory only between these two calls. */
void sim_memory_open(void);
void sim_memory_close(void);
/* Meanwhile nobody can access device memory. */
void sim_memory_hide(bool hide);

void sim_pass_time(double seconds); /* events show that work takes this time, too */
void sim_count_wait(void);
void sim_count_allocation(void);
void sim_count_copy(void);
void sim_count_start(bool graph);

/* stream.cc: enqueue work. */
cudaError_t sim_enqueue(cudaStream_t s, std::function<void()> what);
/* Enqueue work that is called again until it returns true. */
cudaError_t sim_enqueue_attempt(cudaStream_t s, std::function<bool()> what);
/* Let streams do some of their work, as a GPU does in the background. */
void sim_go_on(void);
void sim_drain_all(void);
/* Is a stream being captured? Then allocation is a fault. */
bool sim_capturing(void);

#endif
#endif
