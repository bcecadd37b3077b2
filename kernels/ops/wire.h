/*
 * wire.h - constants of compressed gradients on the network, shared by the two implementations:
 * train/comm/compress.c (host; compress.h describes the formats) and cuda_compress.cu (GPU).
 */
#ifndef WERKBANK_KERNELS_OPS_WIRE_H
#define WERKBANK_KERNELS_OPS_WIRE_H

#define WIRE_BLOCK	 512 /* numbers that share one pair of levels */
#define WIRE_LEVEL_BYTES 4   /* two levels as bf16, before each block */
#define WIRE_LANES	 16  /* partial sums of a block; fixed, so that all sides round alike */

/*
 * 2bit: magnitudes above WIRE_SPLIT * mean get the high level. For exponentially distributed |x|
 * this is the midpoint between both levels, which minimises the squared error (the condition of Lloyd 1982).
 */
#define WIRE_SPLIT 1.594f

/* In the order of the values of option "wire". */
enum wire_format { WIRE_FP32, WIRE_BF16, WIRE_2BIT, WIRE_1BIT };

#endif
