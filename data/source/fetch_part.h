/*
 * fetch_part.h - a file that grows while it is fetched: PART, and PART.json that says what it is of.
 *
 *	fetch_part_open(&p, path, md5, e);
 *	if (fetch_part_may_resume(&p, &address, &if_range)) while (!fetch_part_hash(&p, &more, e) && more) …
 *	else p.use = 0 …
 *	fetch_part_begin(&p, &origin, e)	the file starts again
 *	fetch_part_append(&p, bytes, n, e) …
 *	fetch_part_finish(&p, &sums, e);	all of it is on the disk
 *	fetch_part_close(&p);
 *
 * The hashes run over the bytes as they are written; what a former run has left is read once.
 */
#ifndef WERKBANK_DATA_SOURCE_FETCH_PART_H
#define WERKBANK_DATA_SOURCE_FETCH_PART_H

#include "data/source/fetch.h"

/* What the bytes in the file are of. */
struct fetch_part_origin {
	char *url, *etag, *last_modified; /* owned; NULL: unknown */
	char content[HASH_SHA256_HEX];	  /* "": unknown */
	int64_t total;			  /* bytes of all; -1: unknown */
};

struct fetch_part {
	const char *path; /* borrowed */
	char *note;	  /* owned: path.json */
	int fd;		  /* -1: not open */
	int64_t bytes;	  /* in the file */
	int64_t hashed;	  /* of them */
	bool md5;
	struct hash *sha256_sum, *md5_sum; /* owned */
	struct fetch_part_origin origin;
};

/* A zeroed part but fd is closed by fetch_part_close() at any time. */
int fetch_part_open(struct fetch_part *p, const char *path, bool md5, struct err *e);
void fetch_part_close(struct fetch_part *p);
/* Close, and remove both files. */
void fetch_part_remove(struct fetch_part *p);

/*
 * Can what is there be continued from this address? *if_range: what the server must still have for
 * that; NULL: nothing known, the bytes are verified at the end. Borrowed of p.
 */
bool fetch_part_may_resume(const struct fetch_part *p, const struct fetch_address *a,
			   const char **if_range);

/* Hash some more of what was there: *more says whether there is still something. */
int fetch_part_hash(struct fetch_part *p, bool *more, struct err *e);

/* Empty the file and note what will be in it. origin is copied. */
int fetch_part_begin(struct fetch_part *p, const struct fetch_part_origin *origin, struct err *e);

int fetch_part_append(struct fetch_part *p, const void *bytes, size_t n, struct err *e);

/* To the disk; everything must have been hashed. */
int fetch_part_finish(struct fetch_part *p, struct fetch_sums *s, struct err *e);

#endif
