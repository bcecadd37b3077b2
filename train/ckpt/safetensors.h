/*
 * safetensors.h - named tensors in one file.
 *
 *	offset 0   8 bytes   n: length of the header, little-endian
 *	8          n bytes   JSON: {"NAME":{"dtype":"F32","shape":[3,4],"data_offsets":[0,48]}, ...}
 *	8 + n                the data; offsets count from here; no holes, up to the end of the file
 *
 * Format: huggingface/safetensors, 2023. The writer pads the header with blanks, so that data
 * starts at a multiple of 64, and writes vectors (one row) with one dimension. The reader trusts
 * nothing: it checks lengths, types, shapes, overlaps and holes before it returns a tensor.
 */
#ifndef WERKBANK_TRAIN_CKPT_SAFETENSORS_H
#define WERKBANK_TRAIN_CKPT_SAFETENSORS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "share/base/err.h"

#define SAFETENSORS_MAX_DIMS 8

/* A tensor to write. */
struct safetensors_item {
	char name[80];
	int64_t rows, cols;
	bool is_matrix; /* two dimensions, even with one row */
};

/* Returns the rows * cols floats of item i, borrowed until the next call; NULL: failure. */
typedef const float *safetensors_fetch(void *arg, size_t i, struct err *e);

/* Write a file of F32 tensors, atomically. */
int safetensors_write(const char *path, const struct safetensors_item *items, size_t n,
		      safetensors_fetch *fetch, void *arg, struct err *e);
/* The same with a JSON object of texts as "__metadata__". */
int safetensors_write_with(const char *path, const struct safetensors_item *items, size_t n,
			   const char *metadata, safetensors_fetch *fetch, void *arg,
			   struct err *e);

/* A tensor of an open file; everything is borrowed from the file. */
struct safetensor {
	const char *name;
	const char *dtype; /* "F32", ... */
	int64_t dims[SAFETENSORS_MAX_DIMS];
	size_t n_dims;
	uint64_t begin, end;	   /* bytes from the start of the data */
	const unsigned char *data; /* end - begin bytes, of any alignment */
};

struct safetensors; /* an open, mapped file */

/* NULL: failure; ERR_DATA: not a safetensors file, or damaged. */
struct safetensors *safetensors_open(const char *path, struct err *e);
size_t safetensors_count(const struct safetensors *s);
/* Tensor number i in the order of their data; i < safetensors_count(). */
const struct safetensor *safetensors_at(const struct safetensors *s, size_t i);
/* NULL: the file has no tensor of this name. */
const struct safetensor *safetensors_find(const struct safetensors *s, const char *name);
/*
 * The data of an F32 tensor of this shape, of any alignment. NULL: ERR_DATA naming file, tensor and
 * the expected shape.
 */
const unsigned char *safetensors_get(const struct safetensors *s, const char *name, int64_t rows,
				     int64_t cols, struct err *e);
/* The text of key under "__metadata__", borrowed; NULL: absent. */
const char *safetensors_metadata(const struct safetensors *s, const char *key);
void safetensors_close(struct safetensors *s); /* may be NULL */

/* Sorts the names (n) of tensors and returns one that occurs twice; NULL: each occurs once. */
const char *safetensors_find_repeat(const char **names, size_t n);

#endif
