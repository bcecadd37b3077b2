/*
 * compress.h - how gradients are written for the way between ranks.
 *
 *	fp32	as they are
 *	bf16	the upper half of the bits, rounded to nearest, ties to even: relative error <= 2^-8
 *	2bit	four levels: -b -a a b
 *	1bit	two levels:  -a a
 *
 * 2bit and 1bit choose their levels for each block of COMPRESS_BLOCK numbers: a is the mean
 * of |x|; with 2bit a and b are the means of what is below and above COMPRESS_SPLIT times the mean.
 * So they fit gradients of any size, and what is written is never further from x
 * than 0 is: |x - written|^2 = |x|^2 - |written|^2 in each block, but for the rounding of levels to bf16.
 * What is lost is kept and added to what is written next (error feedback: Seide et al. 2014;
 * Karimireddy et al. 2019), so that sums over time are right.
 *
 * A block of m numbers, little-endian; q = m/4 (2bit) or m/8 (1bit), rounded up:
 *
 *	2bit	a, b as bf16; q bytes: bits 2k and 2k+1 of byte j are number j + k q: 1 beyond the
 *		split, 2 negative
 *	1bit	a as bf16, 2 bytes of 0; q bytes: bit k of byte j is number j + k q: 1 negative
 */
#ifndef WERKBANK_TRAIN_COMM_COMPRESS_H
#define WERKBANK_TRAIN_COMM_COMPRESS_H

#include <stdbool.h>
#include <stddef.h>

#include "kernels/ops/wire.h"

#define COMPRESS_BLOCK WIRE_BLOCK
#define COMPRESS_SPLIT WIRE_SPLIT

const char *compress_name(enum wire_format w);
bool compress_feeds_back(enum wire_format w);	     /* is there a residual */
size_t compress_bytes(enum wire_format w, size_t n); /* that n numbers take */
double compress_ratio(enum wire_format w);	     /* bytes for one of fp32, long runs */

/*
 * out (compress_bytes()) = x (n). residual (n; 2bit and 1bit only, NULL: none) is added to x
 * and becomes what was lost. A block with a number that is not finite is written as such, and its
 * residual stays.
 */
void compress_encode(enum wire_format w, void *out, const float *x, float *error_feedback,
		     size_t n);
void compress_decode(enum wire_format w, float *x, const void *in, size_t n);
/* x += what in says */
void compress_add(enum wire_format w, float *x, const void *in, size_t n);

#endif
