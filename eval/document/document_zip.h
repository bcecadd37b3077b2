/* document_zip.h - the members of a document that is a ZIP archive: read, replaced, all others copied as they are stored */
#ifndef WERKBANK_EVAL_DOCUMENT_DOCUMENT_ZIP_H
#define WERKBANK_EVAL_DOCUMENT_DOCUMENT_ZIP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "eval/document/document.h"

struct document_member {
	char *name;		   /* owned */
	const unsigned char *data; /* (n) borrowed: as stored */
	size_t n, full;		   /* full: unpacked bytes */
	uint32_t sum;		   /* CRC-32 of the unpacked bytes */
	bool is_deflated;
};

/* The members in the order of the file. document_zip_free() after success. */
int document_zip_list(const char *path, const struct buf *file, struct document_member **members,
		      size_t *n, struct err *e);
void document_zip_free(struct document_member *members, size_t n);
/* *bytes: (*n) owned by the caller. ERR_DATA: damaged, or more than DOCUMENT_MAX_PART bytes. */
int document_zip_unpack(const char *path, const struct document_member *m, char **bytes, size_t *n,
			struct err *e);
/* Writes the archive with these contents of its parts. */
int document_zip_write(const struct document *d, const struct buf *parts, FILE *out, struct err *e);

#endif
