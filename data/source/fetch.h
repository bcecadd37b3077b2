/*
 * fetch.h - files from the network, several at a time, that survive being interrupted.
 *
 * Each file has addresses, asked one after the other. It is PART while it grows; PART.json says
 * what the bytes are of (url, ETag or Last-Modified, total), so that the next try, of this or of
 * a later run, asks for the rest only (Range with If-Range). A server that sends the whole file
 * again, or another one, is believed and the part begins again. Nothing else is kept in memory: a
 * program killed at any moment leaves a part that can be continued.
 *
 *	no connection, cut short, stalled, 408 429 5xx	again, after 1 2 4 … 60 s (a little more or
 *					less) or what Retry-After says, a bounded number of times
 *					without progress; then the next address
 *	416				complete when the part has the total, else from the start
 *	another status, too many redirects, a web page, a wrong size	the next address
 *	no space, cannot be written	the end
 *
 * Redirects are followed, proxies are those of the environment (http_proxy, HTTPS_PROXY,
 * ALL_PROXY, NO_PROXY). At most two transfers use one host. A file:// address is copied.
 */
#ifndef WERKBANK_DATA_SOURCE_FETCH_H
#define WERKBANK_DATA_SOURCE_FETCH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "data/source/progress.h"
#include "share/base/buf.h"
#include "share/base/err.h"
#include "share/base/hash.h"

struct fetch_address {
	const char *url;     /* borrowed */
	const char *content; /* a published hash of its bytes, "": none. Borrowed. A part may
				   be continued from another address with the same */
	int64_t bytes;	     /* -1: unknown */
};

struct fetch_sums {
	int64_t bytes;
	char sha256[HASH_SHA256_HEX];
	char md5[HASH_SHA256_HEX]; /* "" unless asked for */
};

struct fetch_job {
	const char *name; /* borrowed: in what is said */
	const char *part; /* borrowed: the file to write, in an existing folder */
	const struct fetch_address *addresses; /* borrowed */
	size_t n_addresses;
	bool md5; /* take the MD5 too */
	/*
	 * All bytes are in PART and on the disk: look at them and put them in place (rename). ERR_DATA:
	 * they are refused, PART is removed and the next address asked; any other failure ends it.
	 * What is put into remark is said when they are taken.
	 */
	int (*arrived)(void *closure, size_t address, const struct fetch_sums *s,
		       struct buf *remark, struct err *e);
	void *closure;
	struct err result; /* set here: code 0, or why it could not be had */
};

struct fetch_limits {
	int transfers; /* at the same time */
	int tries;     /* of one address without progress */
	double wait_s; /* before the second of them */
	long stall_s;  /* less than 1 KB/s for so long is a stall */
};

/*
 * Fetch all. One that cannot be had does not stop the others; the first of them is
 * the failure that is returned: ERR_UNAVAILABLE (the server says no, or is busy), ERR_NOHOST,
 * ERR_TEMPFAIL (stalled), ERR_PROTOCOL (cut short, redirected in circles), ERR_DATA (refused),
 * ERR_NOINPUT (no such file), ERR_IO, ERR_USAGE (an address that is none). Texts name the address.
 */
int fetch_all(struct fetch_job *jobs, size_t n, const struct fetch_limits *l, struct progress *p,
	      struct err *e);

#endif
