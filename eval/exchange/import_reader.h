/*
 * import_reader.h - the tensors of a file that another program wrote, as floats.
 *
 * Where they come from: safetensors (F32, F64, F16, BF16) and model.bin of
 * CTranslate2 (ct2.h; floats, float16, bfloat16, and int8 or int16 with NAME_scale:
 * weight = integer / scale, one scale for each row or one for all). Whoever takes a
 * tensor notes it, so that what is left over can be told.
 *
 * Nothing in a file is trusted: what a tensor says of its type, shape and length was
 * compared with the bytes that are there before it is listed.
 */
#ifndef WERKBANK_EVAL_EXCHANGE_IMPORT_READER_H
#define WERKBANK_EVAL_EXCHANGE_IMPORT_READER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "share/base/err.h"
#include "share/base/file.h"
#include "train/ckpt/safetensors.h"

enum import_type {
	IMPORT_F32,
	IMPORT_F64,
	IMPORT_F16,
	IMPORT_BF16,
	IMPORT_I8,
	IMPORT_I16,
	IMPORT_I32,
	IMPORT_OTHER /* no numbers of a model */
};

struct import_tensor {
	const char *name; /* borrowed from the file */
	enum import_type type;
	int32_t n_dims;		   /* 0: one number */
	int64_t rows, cols;	   /* the last dimension is cols, rows is all others */
	const unsigned char *data; /* rows * cols elements of any alignment, borrowed */
	bool is_used;
};

struct import_reader {
	const char *path;	   /* borrowed: for messages */
	struct import_tensor *all; /* owned */
	size_t n, cap;
	struct map map;		  /* of model.bin */
	struct safetensors *file; /* owned */
};

/* import_reader_close() in any case. ERR_DATA: the file is not what it should be. */
int import_open_safetensors(struct import_reader *f, const char *path, struct err *e);
int import_open_ct2(struct import_reader *f, const char *path, struct err *e);
void import_reader_close(struct import_reader *f);

/* Does a file begin like model.bin, or like safetensors? */
bool import_is_ct2(const unsigned char *bytes, size_t n);
bool import_is_safetensors(const unsigned char *bytes, size_t n);

struct import_tensor *import_find_tensor(const struct import_reader *f,
					 const char *name); /* NULL: none */

/* Bytes of one element; 0 for IMPORT_OTHER. */
size_t import_type_bytes(enum import_type type);

/*
 * n floats from element number first on of row r. ERR_DATA: integers without a scale, or a value
 * that is not finite.
 */
int import_read_floats(const struct import_reader *f, const struct import_tensor *t, int64_t r,
		       int64_t first, int64_t n, float *out, struct err *e);

/* The whole number that a tensor of one integer or float holds; NAN: another tensor. */
double import_tensor_number(const struct import_tensor *t);

#endif
