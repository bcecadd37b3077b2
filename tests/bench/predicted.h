/*
 * predicted.h - calculated times of ops on a GPU, for comparison with measured ones. share/doc/gpu/roofs.md
 * explains the numbers.
 */
#ifndef WERKBANK_TESTS_BENCH_PREDICTED_H
#define WERKBANK_TESTS_BENCH_PREDICTED_H

/*
 * Seconds of a call with so many FLOPs in bf16 and so many bytes; 0: unknown GPU. gpu: its whole name, e.g.
 * "NVIDIA H200".
 */
double predicted_seconds(const char *gpu, const char *op, double flops, double bytes);

#endif
