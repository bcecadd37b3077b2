/*
 * wire.h - forms of numbers on the way between ranks, for both sides that make them: compress.c of
 * train/, where they are described, and the GPU's kernels.
 */
#ifndef WERKBANK_KERNELS_OPS_WIRE_H
#define WERKBANK_KERNELS_OPS_WIRE_H

#define WIRE_BLOCK	 512 /* numbers that share their levels */
#define WIRE_LEVEL_BYTES 4   /* in front of a block */
#define WIRE_LANES	 16  /* sums side by side, over which levels are means */

/* Half of the sum of both means, where |x| is exponentially distributed: no other split is better. */
#define WIRE_SPLIT 1.594f

/* In the order of the option "wire". */
enum wire_format { WIRE_FP32, WIRE_BF16, WIRE_2BIT, WIRE_1BIT };

#endif
