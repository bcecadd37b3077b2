/*
 * wire.h - constants of compressed gradients on the network, shared by the two implementations:
 * train/comm/compress.c (host; compress.h describes the formats) and cuda_compress.cu (GPU).
 */
#ifndef WERKBANK_KERNELS_OPS_WIRE_H
#define WERKBANK_KERNELS_OPS_WIRE_H

#define WIRE_BLOCK	 512 /* numbers that share one pair of levels, or a scale */
#define WIRE_LEVEL_BYTES 4   /* two levels as bf16, or a scale, before each block */
#define WIRE_LANES	 16  /* partial sums of a block; fixed, so that all sides round alike */

/*
 * 2bit: magnitudes above WIRE_SPLIT * mean get the high level. For exponentially distributed |x|
 * this is the midpoint between both levels, which minimises the squared error (the condition of Lloyd 1982).
 */
#define WIRE_SPLIT 1.594f

/*
 * In the order of the values of option "wire". Checkpoints store the number of a format, so new formats
 * follow the others. From WIRE_2BIT on, formats use error feedback.
 */
enum wire_format { WIRE_FP32, WIRE_BF16, WIRE_2BIT, WIRE_1BIT, WIRE_INT8 };
#define WIRE_FORMATS 5

#define WIRE_INT8_MOST 127 /* largest code of int8; codes are symmetric */

#endif
