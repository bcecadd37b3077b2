/*
 * safetensors.h - named tensors in one file.
 *
 *	offset 0   8 bytes   n: length of the header, little-endian
 *	8          n bytes   JSON: {"NAME":{"dtype":"F32","shape":[3,4],"data_offsets":[0,48]}, ...}
 *	8 + n                the data; offsets count from here, without holes, to the end of the file
 *
 * (huggingface/safetensors, format of 2023.) We pad the header with blanks so that data
 * starts at a multiple of 64. Vectors (one row) are written with one dimension.
 * Nothing in a file is trusted: lengths, types, shapes, overlaps and holes are
 * checked before any tensor is given out.
 */
#ifndef WERKBANK_TRAIN_CKPT_SAFETENSORS_H
#define WERKBANK_TRAIN_CKPT_SAFETENSORS_H

#include <stddef.h>
#include <stdint.h>

#include "share/base/err.h"

#define SAFETENSORS_MAX_DIMS 8

/* What is written. */
struct safetensors_item {
	char name[80];
	int64_t rows, cols;
};

/* Gives the rows * cols floats of item i, borrowed until the next call; NULL: failure. */
typedef const float *safetensors_fetch(void *arg, size_t i, struct err *e);

/* Write a file of F32 tensors, atomically. */
int safetensors_write(const char *path, const struct safetensors_item *items, size_t n,
		      safetensors_fetch *fetch, void *arg, struct err *e);

/* What is read; everything is borrowed from the open file. */
struct safetensor {
	const char *name;
	const char *dtype; /* "F32", ... */
	int64_t dims[SAFETENSORS_MAX_DIMS];
	size_t n_dims;
	uint64_t begin, end;	   /* bytes from the start of the data */
	const unsigned char *data; /* end - begin bytes, of any alignment */
};

struct safetensors;

struct safetensors *safetensors_open(const char *path,
				     struct err *e); /* NULL: ERR_DATA saying what is wrong */
size_t safetensors_count(const struct safetensors *s);
const struct safetensor *safetensors_at(const struct safetensors *s, size_t i);
const struct safetensor *safetensors_find(const struct safetensors *s,
					  const char *name); /* NULL: none */
/*
 * The bytes of an F32 tensor of this shape; NULL: ERR_DATA naming file, tensor and what was
 * expected.
 */
const unsigned char *safetensors_get(const struct safetensors *s, const char *name, int64_t rows,
				     int64_t cols, struct err *e);
/* What the file says of itself under "__metadata__"; NULL: nothing. Borrowed. */
const char *safetensors_metadata(const struct safetensors *s, const char *key);
void safetensors_close(struct safetensors *s);

#endif
