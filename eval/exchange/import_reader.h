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

enum foreign_type {
	FOREIGN_F32, FOREIGN_F64, FOREIGN_F16, FOREIGN_BF16,
	FOREIGN_I8, FOREIGN_I16, FOREIGN_I32, FOREIGN_OTHER	/* no numbers of a model */
};

struct foreign_tensor {
	const char *name;		/* borrowed from the file */
	enum foreign_type type;
	int32_t n_dims;			/* 0: one number */
	int64_t rows, cols;		/* the last dimension is cols, rows is all others */
	const unsigned char *data;	/* rows * cols elements of any alignment, borrowed */
	bool used;
};

struct foreign {
	const char *path;		/* borrowed: for messages */
	struct foreign_tensor *all;	/* owned */
	size_t n, cap;
	struct map map;			/* of model.bin */
	struct safetensors *file;	/* owned */
};

/* foreign_close() in any case. ERR_DATA: the file is not what it should be. */
int  foreign_open_safetensors(struct foreign *f, const char *path, struct err *e);
int  foreign_open_ct2(struct foreign *f, const char *path, struct err *e);
void foreign_close(struct foreign *f);

/* Does a file begin like model.bin, or like safetensors? */
bool foreign_looks_like_ct2(const unsigned char *bytes, size_t n);
bool foreign_looks_like_safetensors(const unsigned char *bytes, size_t n);

struct foreign_tensor *foreign_find(const struct foreign *f, const char *name);	/* NULL: none */

/* Bytes of one element; 0 for FOREIGN_OTHER. */
size_t foreign_bytes(enum foreign_type type);

/*
 * n floats from element number first on of row r. ERR_DATA: integers without a scale, or a value
 * that is not finite.
 */
int foreign_read(const struct foreign *f, const struct foreign_tensor *t, int64_t r, int64_t first,
		 int64_t n, float *out, struct err *e);

/* The whole number that a tensor of one integer or float holds; NAN: another tensor. */
double foreign_number(const struct foreign_tensor *t);

#endif
