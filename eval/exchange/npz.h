/*
 * npz.h - why an archive with weights cannot be imported.
 *
 * Marian writes NumPy's .npz, a ZIP archive of arrays without compression. One array is the YAML text of the
 * model's options. So its names and options can be found in the bytes without a reader of ZIP.
 */
#ifndef WERKBANK_EVAL_EXCHANGE_NPZ_H
#define WERKBANK_EVAL_EXCHANGE_NPZ_H

#include <stddef.h>

#include "share/base/err.h"

/*
 * Explains in e why an archive cannot be imported: weights of Marian (with all differences from
 * Werkbank's Transformer), a pickle of PyTorch, or unknown arrays. Always returns ERR_DATA.
 */
int npz_explain(const char *path, const unsigned char *bytes, size_t n, struct err *e);

#endif
