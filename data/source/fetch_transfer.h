/*
 * fetch_transfer.h - one HTTP request that appends to one part, and the verdict on its response
 *
 * Only fetch*.c include this.
 */
#ifndef WERKBANK_DATA_SOURCE_FETCH_TRANSFER_H
#define WERKBANK_DATA_SOURCE_FETCH_TRANSFER_H

#include <curl/curl.h>

#include "data/source/fetch_part.h"

enum transfer_verdict {
	TRANSFER_COMPLETE,     /* the part has all bytes */
	TRANSFER_RETRY,	       /* temporary error: resume later where the part ends */
	TRANSFER_RESTART,      /* the part belongs to another version: start at byte 0 */
	TRANSFER_NEXT_ADDRESS, /* permanent error of this address */
	TRANSFER_STOP,	       /* local error (disk full, no memory): stop all downloads */
};

/* Header fields of the last response (after redirects). */
struct http_response {
	char etag[256], last_modified[64]; /* "": absent */
	bool is_html;			   /* Content-Type is HTML */
	int64_t range_start, range_total;  /* of Content-Range; -1: absent */
};

#define TRANSFER_UNCHECKED ((int64_t)1 << 20) /* see check_room */

struct transfer {
	const struct fetch_address *address; /* borrowed */
	struct fetch_part *part;	     /* borrowed */
	int64_t offset;			     /* first byte requested */
	int64_t total;			     /* bytes of the whole file; -1: not known yet */
	int64_t most_bytes;		     /* while the size is not known; 0: no limit */
	/*
	 * Check disk space for the announced total. Called before the first body byte; without a
	 * total also after each TRANSFER_UNCHECKED bytes.
	 */
	int (*check_room)(void *closure, struct err *e);
	void *closure;
	/* private */
	CURL *easy;		    /* owned */
	struct curl_slist *headers; /* owned */
	struct http_response response;
	bool is_body_begun;	 /* transfer_begin_body() accepted the response */
	int64_t discarded_bytes; /* body bytes of an error response */
	int64_t unchecked_bytes; /* received since check_room() */
	bool is_decided;	 /* a callback set verdict and err before the transfer ended */
	enum transfer_verdict verdict;
	struct err err;
	char curl_error[CURL_ERROR_SIZE];
};

/*
 * Start the request for the rest of the part from t->offset on. if_range: value of the If-Range
 * header; NULL: none. The caller has set address, part, offset, most_bytes, check_room and closure; all other
 * fields are zero.
 */
int transfer_start(struct transfer *t, const char *if_range, long stall_s, CURLM *multi,
		   struct err *e);

/*
 * Verdict on a transfer that ended with `result`. e holds the reason unless TRANSFER_COMPLETE.
 * *retry_after_s: from the Retry-After header, 0: absent.
 */
enum transfer_verdict transfer_evaluate(struct transfer *t, CURLcode result, double *retry_after_s,
					struct err *e);

/* Whether redirects may lead to http://: never from https://, which promises an encrypted line. */
bool transfer_may_redirect_to_http(const char *request);

/* Remove the transfer from multi and free it, in any state: running, ended, never started. */
void transfer_close(struct transfer *t, CURLM *multi);

#endif
