/*
 * zip.h - the members of a ZIP archive in memory, which NumPy and PyTorch store without compression.
 *
 * Source: PKWARE's APPNOTE 6.3. Only the central directory at the end counts; the local header of each member must
 * agree with it. Archives over several disks, encrypted members and names that occur twice are refused. Sums are not
 * checked: PyTorch can write archives without them.
 */
#ifndef WERKBANK_EVAL_WEIGHTS_ZIP_H
#define WERKBANK_EVAL_WEIGHTS_ZIP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "share/base/err.h"

struct zip_member {
	const char *name; /* (n_name) borrowed, without NUL */
	size_t n_name;
	const unsigned char *data; /* (n) borrowed, as stored */
	size_t n, full;		   /* full: bytes without compression */
	uint32_t sum;		   /* CRC-32 of these bytes, as the directory says */
	bool is_deflated;
};

struct zip {
	struct zip_member *all; /* owned */
	size_t n;
};

bool zip_recognise(const unsigned char *bytes, size_t n);
/* Borrows the bytes. path: for messages. ERR_DATA: damaged. zip_close() in any case. */
int zip_open(struct zip *z, const char *path, const unsigned char *bytes, size_t n, struct err *e);
/* The member whose name, or what follows its first '/', is this name. NULL: none. */
const struct zip_member *zip_find(const struct zip *z, const char *name, bool is_below);
void zip_close(struct zip *z);

#endif
