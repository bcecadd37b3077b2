/*
 * receipt.h - NAME.json beside an archive: its origin, its sums, and the file they belong to
 *
 *	{"v":1,"url":...,"trust":"published","bytes":...,"sha256":...,"md5":...,
 *	 "inode":...,"mtime_ns":...}
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
	char md5[HASH_SHA256_HEX]; /* "": not computed */
};

/* SHA-256 and MD5 of a file, in one pass. */
int file_sums(const char *path, struct file_sums *s, struct err *e);

enum receipt_trust {
	TRUST_PUBLISHED, /* equal to the published hash */
	TRUST_PINNED,	 /* no hash is published: equal to the first download */
	TRUST_OWN,	 /* from an address of the user (--url) */
};

struct receipt {
	char *url; /* owned; NULL: no receipt */
	enum receipt_trust trust;
	struct file_sums sums;
	int64_t inode, mtime_ns; /* of the archive when it was installed */
};

/* A missing or unreadable receipt is no failure: url is NULL. receipt_free() in any case. */
int receipt_read(struct receipt *r, const char *path, struct err *e);
int receipt_write(const struct receipt *r, const char *path, struct err *e);
void receipt_free(struct receipt *r);

/* Record inode and mtime of the archive. */
void receipt_set_file(struct receipt *r, const struct stat *s);

/* Is s the file of the receipt, unchanged (size, inode, mtime)? */
bool receipt_matches_file(const struct receipt *r, const struct stat *s);

#endif
