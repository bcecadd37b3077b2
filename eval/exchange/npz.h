/*
 * npz.h - reads NumPy's .npz files: ZIP archives of arrays.
 *
 * Only uncompressed members can be read; Marian writes no others. Files are not trusted: offsets
 * and lengths are checked against the size of the file.
 */
#ifndef WERKBANK_EVAL_EXCHANGE_NPZ_H
#define WERKBANK_EVAL_EXCHANGE_NPZ_H

#include <stdbool.h>
#include <stddef.h>

#include "share/base/buf.h"
#include "share/base/err.h"
#include "share/base/file.h"

struct npz_member {
	const char *name; /* (n_name) without NUL, borrowed from the bytes */
	size_t n_name;
	const unsigned char *data; /* (n) the .npy file; NULL: compressed */
	size_t n;
};

struct npz {
	struct npz_member *all; /* owned */
	size_t n, cap;
};

/*
 * Lists the members of a ZIP archive in memory. Borrows the bytes. Call npz_close() after a failure
 * too. ERR_DATA: no archive, or a damaged one.
 */
int npz_open(struct npz *z, const unsigned char *bytes, size_t n, struct err *e);
void npz_close(struct npz *z);

/* The member NAME or NAME.npy; NULL: none. */
const struct npz_member *npz_find(const struct npz *z, const char *name);

/* The data after the header of a .npy file, *n bytes. NULL: compressed, or no .npy file. */
const unsigned char *npz_array(const struct npz_member *m, size_t *n);

/*
 * Explains in e why an archive cannot be imported: weights of Marian (with all differences from
 * Werkbank's Transformer), a pickle of PyTorch, or unknown arrays. Always returns ERR_DATA.
 */
int npz_explain(const char *path, const unsigned char *bytes, size_t n, struct err *e);

#endif
