/*
 * compress.h - the number formats in which gradients are sent between ranks.
 *
 *	fp32	unchanged
 *	bf16	the upper half of the bits, rounded to nearest, ties to even: relative error <= 2^-8
 *	2bit	four levels: -b -a a b
 *	1bit	two levels:  -a a
 *	int8	multiples of a: -127 a .. 127 a
 *
 * 2bit, 1bit and int8 choose the levels of each block of COMPRESS_BLOCK numbers. With 1bit, a is the
 * mean of |x|. With 2bit, a and b are the means of the |x| below and above COMPRESS_SPLIT times
 * the mean of |x|. With int8, a is the largest |x| / 127. So the levels fit
 * gradients of any size. With 2bit and 1bit, sent numbers are never further from x
 * than 0 is: |x - sent|^2 = |x|^2 - |sent|^2 in each block, except for the rounding of levels to
 * bf16. The rounding error x - sent is stored and added to the next gradient (error feedback:
 * Seide et al. 2014; Karimireddy et al. 2019), so nothing is lost in the sum over steps.
 *
 * Bytes of a block of m numbers, little-endian; q = m/4 (2bit) or m/8 (1bit), rounded up:
 *
 *	2bit	a, b as bf16; q bytes: bits 2k and 2k+1 of byte j are number j + k q: value 1 is
 *		at or above the split, value 2 is negative
 *	1bit	a as bf16, 2 bytes of 0; q bytes: bit k of byte j is number j + k q: 1 is negative
 *	int8	a as bf16, 2 bytes of 0; m bytes: the multiples, in two's complement
 */
#ifndef WERKBANK_TRAIN_COMM_COMPRESS_H
#define WERKBANK_TRAIN_COMM_COMPRESS_H

#include <stdbool.h>
#include <stddef.h>

#include "kernels/ops/wire.h"

#define COMPRESS_BLOCK WIRE_BLOCK
#define COMPRESS_SPLIT WIRE_SPLIT

/* The name of the option's value: "fp32", … */
const char *compress_name(enum wire_format w);
/* Does this format use error feedback? */
bool compress_feeds_back(enum wire_format w);
/* Bytes of n encoded numbers. */
size_t compress_bytes(enum wire_format w, size_t n);
/* Encoded bytes for each byte of fp32, of a full block. */
double compress_ratio(enum wire_format w);

/*
 * out (compress_bytes(w, n)) = x (n), encoded. error_feedback (n; NULL: none; fp32 and bf16 don't
 * read it) is added to x first and then becomes the rounding error. A block with a number that is
 * not finite gets NaN levels, and its error feedback is unchanged.
 */
void compress_encode(enum wire_format w, void *out, const float *x, float *error_feedback,
		     size_t n);
/* x (n) = the numbers encoded in in (compress_bytes(w, n)). */
void compress_decode(enum wire_format w, float *x, const void *in, size_t n);
/* x (n) += the numbers encoded in in. */
void compress_add(enum wire_format w, float *x, const void *in, size_t n);

#endif
