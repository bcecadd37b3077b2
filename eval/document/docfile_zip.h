/* docfile_zip.h - the members of a document that is a ZIP archive: read, replaced, all others copied as they are stored */
#ifndef WERKBANK_EVAL_DOCUMENT_DOCFILE_ZIP_H
#define WERKBANK_EVAL_DOCUMENT_DOCFILE_ZIP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "eval/document/docfile.h"

struct docfile_member {
	char *name;		   /* owned */
	const unsigned char *data; /* (n) borrowed: as stored */
	size_t n, full;		   /* full: unpacked bytes */
	uint32_t sum;		   /* CRC-32 of the unpacked bytes */
	bool is_deflated;
};

/* The members in the order of the file. docfile_zip_free() after success. */
int docfile_zip_list(const char *path, const struct buf *file, struct docfile_member **members,
		     size_t *n, struct err *e);
void docfile_zip_free(struct docfile_member *members, size_t n);
/* *bytes: (*n) owned by the caller. ERR_DATA: damaged, or more than DOCFILE_MAX_PART bytes. */
int docfile_zip_unpack(const char *path, const struct docfile_member *m, char **bytes, size_t *n,
		       struct err *e);
/* Writes the archive with these contents of its parts. */
int docfile_zip_write(const struct docfile *d, const struct buf *parts, FILE *out, struct err *e);

#endif
