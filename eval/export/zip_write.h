/*
 * zip_write.h - writes a ZIP archive whose members are stored without compression, as NumPy, PyTorch and Argos read it.
 *
 * Source: PKWARE's APPNOTE 6.3, without the extensions for archives above 4 GiB. All members have the date 1980-01-01,
 * so that equal contents give equal archives.
 */
#ifndef WERKBANK_EVAL_EXPORT_ZIP_WRITE_H
#define WERKBANK_EVAL_EXPORT_ZIP_WRITE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "share/base/buf.h"
#include "share/base/err.h"

struct zip_writer {
	FILE *out;	      /* borrowed */
	struct buf directory; /* owned */
	uint64_t at;	      /* bytes written */
	uint32_t n;	      /* members */
	uint64_t n_member;    /* private: bytes of the member so far */
	uint32_t crc;
	bool is_measured; /* private: only the checksum is computed */
};

/* Calls zip_put() for all bytes of a member. It is called twice: the checksum stands before the bytes. */
typedef int zip_content(void *arg, struct zip_writer *z, struct err *e);
void zip_put(struct zip_writer *z, const void *bytes, size_t n);

/* ERR_DATA: the archive would be larger than 4 GiB. */
int zip_add_member(struct zip_writer *z, const char *name, zip_content *content, void *arg,
		   struct err *e);
int zip_add_bytes(struct zip_writer *z, const char *name, const void *bytes, size_t n,
		  struct err *e);
int zip_add_file(struct zip_writer *z, const char *name, const char *path, struct err *e);
/* Writes the directory. zip_writer_close() in any case. */
int zip_finish(struct zip_writer *z, struct err *e);
void zip_writer_close(struct zip_writer *z);

#endif
