/*
 * ct2.h - weights in the format of CTranslate2, version 6 of the file, revision 7 of TransformerSpec.
 * Written by ct2.c, read by ct2_read.c (import_reader.h).
 *
 * model.bin, all numbers little-endian, text as u16 (bytes + 1), bytes, NUL:
 *
 *	u32 6   text "TransformerSpec"   u32 7   u32 number of variables
 *	each variable, by rising name:
 *		text name   u8 dimensions   u32 size of each
 *		u8 type (0 float, 1 int8, 2 int16, 3 int32, 4 float16, 5 bfloat16)   u32 bytes   its data
 *	u32 number of aliases
 *	each alias: text alias   text name of the variable it stands for
 *
 * Matrices are (outputs, inputs). In an int8 model each matrix NAME has a vector
 * NAME_scale of one float a row: integer = rint(weight * scale), scale = 127 / the
 * greatest magnitude of the row. Which tensor is which: ct2.def.
 */
#ifndef WERKBANK_EVAL_EXCHANGE_CT2_H
#define WERKBANK_EVAL_EXCHANGE_CT2_H

#include <stdbool.h>
#include <stdio.h>

#include "share/base/err.h"
#include "train/model/model.h"
#include "train/ckpt/safetensors.h"

#define CT2_FILE_VERSION   6
#define CT2_SPEC_REVISION  7
#define CT2_POSITIONS_ROWS 1024 /* that an exported model knows: the tool's limit */

/*
 * Write the weights of a model of this shape to a stream, as floats or as int8. Only the rows of the
 * vocabulary that exist are written. Memory: one row. ERR_DATA: a tensor is missing or has another
 * shape.
 */
int ct2_write(FILE *out, const struct safetensors *weights, const struct model_shape *shape,
	      bool int8, struct err *e);

/* Row r, d floats, of the positions that are added to embeddings: the definition of the op. */
void ct2_position_row(float *x, int64_t d, int64_t r);

#endif
