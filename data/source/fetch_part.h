/*
 * fetch_part.h - a partly downloaded file PART, and PART.json that records its origin
 *
 *	fetch_part_open(&p, path, md5, e);
 *	if (fetch_part_may_resume(&p, &address, &if_range))
 *		do fetch_part_hash(&p, &more, e); while (more);	hash the bytes of a former run
 *	else
 *		fetch_part_begin(&p, &origin, e);		empty the file
 *	fetch_part_append(&p, bytes, n, e) ...
 *	fetch_part_finish(&p, &sums, e);			fsync, give the hashes
 *	fetch_part_close(&p);
 *
 * Invariant: hashed <= bytes <= origin.total (where known). Bytes are hashed as they are written;
 * the bytes of a former run are read once, before the download resumes.
 */
#ifndef WERKBANK_DATA_SOURCE_FETCH_PART_H
#define WERKBANK_DATA_SOURCE_FETCH_PART_H

#include "data/source/fetch.h"

/* The version of the remote file that the bytes of the part belong to. */
struct fetch_part_origin {
	char *url, *etag, *last_modified; /* owned; NULL: unknown */
	char content[HASH_SHA256_HEX];	  /* published hash of the whole file; "": unknown */
	int64_t total;			  /* bytes of the whole file; -1: unknown */
};

struct fetch_part {
	const char *path; /* borrowed */
	char *note_path;  /* owned: path.json */
	int fd;		  /* -1: not open */
	int64_t bytes;	  /* size of the file */
	int64_t hashed;	  /* how many of these bytes the sums cover */
	bool md5;
	struct hash *sha256_sum, *md5_sum; /* owned */
	struct fetch_part_origin origin;
};

/*
 * Open or create the part and read PART.json; an unreadable PART.json leaves the origin unknown.
 * After a failure the part is closed.
 */
int fetch_part_open(struct fetch_part *p, const char *path, bool md5, struct err *e);
void fetch_part_close(struct fetch_part *p);
/* Close the part and remove both files. */
void fetch_part_remove(struct fetch_part *p);

/*
 * Can address a supply the rest of the part? *if_range: the validator (ETag or date) for the
 * If-Range header, borrowed from p; NULL: no validator, the published hash is checked at the end.
 */
bool fetch_part_may_resume(const struct fetch_part *p, const struct fetch_address *a,
			   const char **if_range);

/* Hash the next few MB of a former run. *more: bytes are left to hash. */
int fetch_part_hash(struct fetch_part *p, bool *more, struct err *e);

/* Empty the file and record the origin of the bytes to come in PART.json. origin is copied. */
int fetch_part_begin(struct fetch_part *p, const struct fetch_part_origin *origin, struct err *e);

int fetch_part_append(struct fetch_part *p, const void *bytes, size_t n, struct err *e);

/* fsync the file and give the sums. All bytes must have been hashed. */
int fetch_part_finish(struct fetch_part *p, struct fetch_sums *s, struct err *e);

#endif
