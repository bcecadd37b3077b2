/*
 * ct2.h - CTranslate2's format of weights: file version 6, TransformerSpec revision 7.
 * ct2.c writes it, ct2_read.c reads it (import_reader.h).
 *
 * model.bin, all numbers little-endian, text as u16 (bytes + 1), bytes, NUL:
 *
 *	u32 6   text "TransformerSpec"   u32 7   u32 number of variables
 *	each variable, by rising name:
 *		text name   u8 dimensions   u32 size of each
 *		u8 type (0 float, 1 int8, 2 int16, 3 int32, 4 float16, 5 bfloat16)   u32 bytes   its data
 *	u32 number of aliases
 *	each alias: text alias   text name of the variable it refers to
 *
 * Matrices are (outputs, inputs). In an int8 model each matrix NAME has a vector NAME_scale with
 * one float per row: integer = rint(weight * scale), where scale = 127 / the greatest magnitude of
 * the row. The names are in ct2.def.
 */
#ifndef WERKBANK_EVAL_EXCHANGE_CT2_H
#define WERKBANK_EVAL_EXCHANGE_CT2_H

#include <stdbool.h>
#include <stdio.h>

#include "share/base/err.h"
#include "train/ckpt/safetensors.h"
#include "train/model/model.h"

#define CT2_FILE_VERSION   6
#define CT2_SPEC_REVISION  7
#define CT2_POSITIONS_ROWS 1024 /* positions of an exported model: CTranslate2's limit */

/*
 * Writes the weights of a model of this shape to a stream, as floats or int8, with the real
 * vocabulary's rows only. Needs memory for one row. ERR_DATA: a tensor is missing or has another
 * shape.
 */
int ct2_write(FILE *out, const struct safetensors *weights, const struct model_shape *shape,
	      bool int8, struct err *e);

/* x[0 .. d): the sinusoids of position r, computed by the reference op "embed". */
void ct2_position_row(float *x, int64_t d, int64_t r);

#endif
