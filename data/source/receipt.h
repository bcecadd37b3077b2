/*
 * receipt.h - NAME.json beside an archive: where it came from, what it was, and whether it was touched.
 *
 *	{"v":1,"url":…,"trust":"published","bytes":…,"sha256":…,"md5":…,"inode":…,"mtime_ns":…}
 */
#ifndef WERKBANK_DATA_SOURCE_RECEIPT_H
#define WERKBANK_DATA_SOURCE_RECEIPT_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/stat.h>

#include "share/base/err.h"
#include "share/base/hash.h"

struct file_sums {
	int64_t bytes;
	char sha256[HASH_SHA256_HEX];
	char md5[HASH_SHA256_HEX]; /* "": not taken */
};

/* Both sums of a file, in one reading. */
int file_sums(const char *path, struct file_sums *s, struct err *e);

enum receipt_trust {
	TRUST_PUBLISHED, /* it is what is published about it */
	TRUST_PINNED,	 /* nothing is published: as it was on first use */
	TRUST_OWN,	 /* the user gave its address */
};

struct receipt {
	char *url; /* owned; NULL: there is no receipt */
	enum receipt_trust trust;
	struct file_sums sums;
	int64_t inode, mtime_ns; /* of the archive when it was put in place */
};

/* A receipt that is missing or cannot be read: url is NULL, not a failure. */
int receipt_read(struct receipt *r, const char *path, struct err *e);
int receipt_write(const struct receipt *r, const char *path, struct err *e);
void receipt_free(struct receipt *r);

/* Note the file as it is now. */
void receipt_set_file(struct receipt *r, const struct stat *s);

/* Is it that file, untouched? */
bool receipt_matches_file(const struct receipt *r, const struct stat *s);

#endif
