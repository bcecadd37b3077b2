/*
 * ct2.h - CTranslate2's format of weights: file version 6, TransformerSpec revision 7.
 * ct2.c writes it, ct2_read.c reads it (import_reader.h), ct2_shape.c finds the architecture.
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
#ifndef WERKBANK_EVAL_WEIGHTS_CT2_H
#define WERKBANK_EVAL_WEIGHTS_CT2_H

#include <stdbool.h>
#include <stdio.h>

#include "eval/weights/weight_store.h"
#include "share/base/err.h"

#define CT2_FILE_VERSION   6
#define CT2_SPEC_REVISION  7
#define CT2_POSITIONS_ROWS 1024 /* positions of an exported model: CTranslate2's limit */

/*
 * Writes the weights, a store of NAMING_ctranslate2, to a stream as floats or int8. Needs memory for one row.
 * ERR_DATA: a tensor is larger than the format allows.
 */
int ct2_write(FILE *out, const struct weight_store *weights, bool int8, struct err *e);

/* CTranslate2's number of an activation (activation.h). */
int ct2_activation(int32_t activation);

/* Sets t->shape to the architecture of the file, except what config.json says. ERR_DATA: an unknown one. */
int ct2_read_shape(struct weight_map *t, struct err *e);

#endif
