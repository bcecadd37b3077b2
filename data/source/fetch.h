/*
 * fetch.h - resumable downloads of several files at a time
 *
 * Each file has addresses (mirrors), which are tried one after the other. The file is called PART
 * while it grows. PART.json records which version of the file the bytes belong to (url, ETag or
 * Last-Modified, total), so the next attempt, even in a later run, requests only the rest (Range
 * with If-Range). If the server answers with the whole file, the part starts again from byte 0.
 * All state is on the disk: a program killed at any time leaves a part that can be resumed.
 *
 *	event						reaction
 *	no connection, cut short, stalled, 408 429 5xx	retry after 1 2 4 ... 60 s (+-25 %) or after
 *							Retry-After; after `tries` attempts without
 *							progress: the next address
 *	416						complete if the part has the total size,
 *							else start again
 *	other status, too many redirects, a web page,	the next address
 *	a wrong size, a device or pipe as file://,
 *	more than most_bytes of an unknown size
 *	disk full, cannot write				stop all downloads
 *
 * Redirects are followed, but never from https:// to http://. After an https:// address, an http:// one
 * is tried only if a hash of the file is published. Proxies come from the environment (http_proxy, HTTPS_PROXY, ALL_PROXY,
 * NO_PROXY). At most two transfers use one host. A file:// address is copied.
 */
#ifndef WERKBANK_DATA_SOURCE_FETCH_H
#define WERKBANK_DATA_SOURCE_FETCH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/stat.h>

#include "data/source/progress.h"
#include "share/base/buf.h"
#include "share/base/err.h"
#include "share/base/hash.h"

struct fetch_address {
	const char *url;     /* borrowed; fetch_public_url(): for messages, notes and receipts */
	const char *request; /* borrowed; what is asked for, perhaps with secrets */
	/*
	 * Published hash of the file, "": none. Borrowed. A part may be resumed from another
	 * address with the same hash.
	 */
	const char *content;
	int64_t bytes; /* published size; -1: unknown */
};

struct fetch_sums {
	int64_t bytes;
	char sha256[HASH_SHA256_HEX];
	char md5[HASH_SHA256_HEX]; /* "" unless fetch_job.md5 */
	struct stat file;	   /* of the bytes: another file may be at PART by now */
};

struct fetch_job {
	const char *name; /* borrowed: for messages */
	const char *part; /* borrowed: path of the file to write, in an existing folder */
	const struct fetch_address *addresses; /* borrowed */
	size_t n_addresses;
	bool md5; /* compute the MD5 as well */
	/*
	 * Called when PART is complete and synced: verify it and rename it into place. Returns
	 * ERR_DATA to reject it (PART is removed, the next address is tried); any other failure
	 * stops all downloads. The text in remark is printed after success. `address`: index of
	 * the source.
	 */
	int (*on_complete)(void *closure, size_t address, const struct fetch_sums *s,
			   struct buf *remark, struct err *e);
	void *closure;
	struct err result; /* out: code 0, or the reason of the failure */
};

/*
 * The URL for messages and receipts, owned by the caller: without user:password@ and without the
 * values of its query, "?token=***#1a2b3c4d". URLs that differ only in such values differ in the
 * digits. NULL: ERR_NOMEM.
 */
char *fetch_public_url(const char *url, struct err *e);

struct fetch_limits {
	int transfers;	    /* concurrent transfers, at least 1 */
	int tries;	    /* attempts per address without progress, at least 1 */
	double wait_s;	    /* wait before the second attempt; doubles from there */
	long stall_s;	    /* a transfer below 1 KB/s for this long has stalled */
	int64_t most_bytes; /* of a file whose size nobody tells; 0: no limit */
};

/*
 * Download all jobs. A failed job does not stop the others. Returns the error of the first failed
 * job: ERR_UNAVAILABLE (the server refuses or is busy), ERR_NOHOST, ERR_TEMPFAIL (stalled),
 * ERR_PROTOCOL (cut short, redirect loop), ERR_DATA (rejected), ERR_NOINPUT (no such file), ERR_IO,
 * ERR_USAGE (malformed address). Error texts name the address.
 */
int fetch_all(struct fetch_job *jobs, size_t n, const struct fetch_limits *l, struct progress *p,
	      struct err *e);

#endif
