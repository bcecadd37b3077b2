/*
 * import_reader.h - reads the tensors of another program's file as floats.
 *
 * Formats: safetensors (F32, F64, F16, BF16), files of torch.save(), and model.bin of CTranslate2 (ct2.h: float,
 * float16, bfloat16, and int8 or int16 with NAME_scale, where weight = integer / scale with one scale per
 * row or one for all), Marian's .npz. is_used marks the tensors that were read, so that the rest
 * can be checked.
 *
 * Files are not trusted: a tensor is listed only if its type, shape and length agree with the bytes
 * of the file.
 */
#ifndef WERKBANK_EVAL_WEIGHTS_IMPORT_READER_H
#define WERKBANK_EVAL_WEIGHTS_IMPORT_READER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "eval/weights/pickle.h"
#include "eval/weights/yaml_subset.h"
#include "eval/weights/zip.h"
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
	IMPORT_OTHER /* a type that no weights have */
};

struct import_tensor {
	const char *name; /* borrowed from the file */
	enum import_type type;
	int32_t n_dims;		   /* 0: one number */
	int64_t rows, cols;	   /* cols: the last dimension; rows: product of the others */
	const unsigned char *data; /* (rows, cols) borrowed, little-endian, any alignment */
	bool is_used;
	/*
	 * Columns of a head whose rotary positions turn neighbours, elements 2i and 2i + 1: import_read_floats() reads its
	 * rows (of a vector: its elements) in Werkbank's order, which turns i and i + columns / 2. 0: the order of the file.
	 */
	int32_t paired_columns;
};

struct import_reader {
	const char *path;	   /* borrowed: for messages */
	struct import_tensor *all; /* owned */
	size_t n, cap;
	struct map map;	    /* of all but safetensors */
	struct map *shards; /* (n_shards) owned: data files of a bundle */
	size_t n_shards;
	struct safetensors *file; /* owned; NULL: another format */
	struct zip zip;		  /* of torch.save() and .npz */
	struct pickle pickle;	  /* of torch.save() */
	struct buf names;	  /* of .npz and bundles; new names of old tensors */
};

/* Call import_reader_close() after a failure too. ERR_DATA: a damaged file or another format. */
int import_open_safetensors(struct import_reader *f, const char *path, struct err *e);
int import_open_ct2(struct import_reader *f, const char *path, struct err *e);
/*
 * torch.save(): a ZIP archive, or several pickles in a row before PyTorch 1.6. Lists the tensors of a dictionary, or
 * of its member "model", "state_dict" or "model_state_dict", and those of its member "generator" as "generator.NAME";
 * f->pickle.root keeps the rest. Tensors whose elements do not lie in order are ERR_DATA.
 */
int import_open_torch(struct import_reader *f, const char *path, struct err *e);
/* The same without its tensors. */
int import_open_pickle(struct import_reader *f, const char *path, struct err *e);
/* The options of the model in Marian's .npz. */
#define NPZ_CONFIG_MEMBER "special:model.yml.npy"
/* Marian's .npz: *config gets the options of the model; yaml_close() in any case. */
int import_open_npz(struct import_reader *f, const char *path, struct yaml *config, struct err *e);
/*
 * A checkpoint of TensorFlow's Saver; path: X.index, beside its data files. Checksums are checked. Tensors of types that
 * no weights have are not listed.
 */
int import_open_bundle(struct import_reader *f, const char *path, struct err *e);
void import_reader_close(struct import_reader *f);

/* Does a file begin like model.bin, or like safetensors? */
bool import_is_ct2(const unsigned char *bytes, size_t n);
bool import_is_safetensors(const unsigned char *bytes, size_t n);
/* Does the file end like the index of a bundle? */
bool import_is_bundle(const unsigned char *bytes, size_t n);
bool import_is_torch(const unsigned char *bytes, size_t n);

/* NULL: the file has no such tensor. */
struct import_tensor *import_find_tensor(const struct import_reader *f, const char *name);

/* Bytes of one element; 0 for IMPORT_OTHER. */
size_t import_type_bytes(enum import_type type);

/*
 * Reads n elements of row r, from element number first on. ERR_DATA: integers without a scale, or a
 * value that is not finite.
 */
int import_read_floats(const struct import_reader *f, const struct import_tensor *t, int64_t r,
		       int64_t first, int64_t n, float *out, struct err *e);

/* The number in a tensor without dimensions; NAN for other tensors. */
double import_tensor_number(const struct import_tensor *t);

#endif
