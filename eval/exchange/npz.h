/*
 * npz.h - what is in a file of NumPy's (.npz): a ZIP archive of arrays.
 *
 * Only arrays that are stored as they are can be read; Marian writes no others. Nothing of the
 * file is trusted: places and lengths are compared with the bytes that are there.
 */
#ifndef WERKBANK_EVAL_EXCHANGE_NPZ_H
#define WERKBANK_EVAL_EXCHANGE_NPZ_H

#include <stdbool.h>
#include <stddef.h>

#include "share/base/buf.h"
#include "share/base/err.h"
#include "share/base/file.h"

struct npz_member {
	const char *name; /* (n_name) not terminated, borrowed from the bytes */
	size_t n_name;
	const unsigned char *data; /* (n) of the .npy file; NULL: compressed */
	size_t n;
};

struct npz {
	struct npz_member *all; /* owned */
	size_t n, cap;
};

/* The list of a ZIP archive in memory, which must outlive it; npz_close() in any case. ERR_DATA. */
int npz_open(struct npz *z, const unsigned char *bytes, size_t n, struct err *e);
void npz_close(struct npz *z);

/* NULL: none of that name; ".npy" behind it does not count. */
const struct npz_member *npz_find(const struct npz *z, const char *name);

/* The bytes behind the header of a .npy file, and how many; NULL: it is none. */
const unsigned char *npz_array(const struct npz_member *m, size_t *n);

/*
 * Why an archive cannot be imported, a sentence: weights of Marian, with all that is otherwise than
 * in Werkbank's Transformer; a pickle of PyTorch; something else. Always ERR_DATA.
 */
int npz_explain(const char *path, const unsigned char *bytes, size_t n, struct err *e);

#endif
