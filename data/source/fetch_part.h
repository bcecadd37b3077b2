/*
 * fetch_part.h - a file that grows while it is fetched: PART, and PART.json that says what it is of.
 *
 *	part_open(&p, path, md5, e);
 *	if (part_may_continue(&p, &address, &if_range)) while (!part_hash(&p, &more, e) && more) …
 *	else p.use = 0 …
 *	part_begin(&p, &origin, e)	the file starts again
 *	part_add(&p, bytes, n, e) …
 *	part_finish(&p, &sums, e);	all of it is on the disk
 *	part_close(&p);
 *
 * The hashes run over the bytes as they are written; what a former run has left is read once.
 */
#ifndef WERKBANK_DATA_SOURCE_FETCH_PART_H
#define WERKBANK_DATA_SOURCE_FETCH_PART_H

#include "data/source/fetch.h"

/* What the bytes in the file are of. */
struct part_origin {
	char *url, *etag, *last_modified;	/* owned; NULL: unknown */
	char  content[HASH_SHA256_HEX];		/* "": unknown */
	int64_t total;				/* bytes of all; -1: unknown */
};

struct part {
	const char *path;	/* borrowed */
	char  *note;		/* owned: path.json */
	int    fd;		/* -1: not open */
	int64_t bytes;		/* in the file */
	int64_t hashed;		/* of them */
	bool   md5;
	struct hash *sha256_sum, *md5_sum;	/* owned */
	struct part_origin origin;
};

/* A zeroed part but fd is closed by part_close() at any time. */
int  part_open(struct part *p, const char *path, bool md5, struct err *e);
void part_close(struct part *p);
/* Close, and remove both files. */
void part_remove(struct part *p);

/*
 * Can what is there be continued from this address? *if_range: what the server must still have for
 * that; NULL: nothing known, the bytes are verified at the end. Borrowed of p.
 */
bool part_may_continue(const struct part *p, const struct fetch_address *a, const char **if_range);

/* Hash some more of what was there: *more says whether there is still something. */
int  part_hash(struct part *p, bool *more, struct err *e);

/* Empty the file and note what will be in it. origin is copied. */
int  part_begin(struct part *p, const struct part_origin *origin, struct err *e);

int  part_add(struct part *p, const void *bytes, size_t n, struct err *e);

/* To the disk; everything must have been hashed. */
int  part_finish(struct part *p, struct fetch_sums *s, struct err *e);

#endif
