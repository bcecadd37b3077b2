/*
 * fetch_transfer.h - one request for one part, and what its answer means. Only fetch*.c include this.
 */
#ifndef WERKBANK_DATA_SOURCE_FETCH_TRANSFER_H
#define WERKBANK_DATA_SOURCE_FETCH_TRANSFER_H

#include <curl/curl.h>

#include "data/source/fetch_part.h"

enum transfer_verdict {
	TRANSFER_COMPLETE,     /* the part has all bytes */
	TRANSFER_RETRY,	       /* it may pass: later, from where the part ends */
	TRANSFER_RESTART,      /* the part is of something else: again, from the start */
	TRANSFER_NEXT_ADDRESS, /* this address will not do */
	TRANSFER_STOP,	       /* not the address' fault: no space, no memory */
};

/* What the head of the last answer says. */
struct http_response {
	char etag[256], last_modified[64];
	bool page;			  /* Content-Type is HTML */
	int64_t range_start, range_total; /* of Content-Range; -1: not said */
};

struct transfer {
	const struct fetch_address *address; /* borrowed */
	struct fetch_part *part;	     /* borrowed */
	int64_t offset;			     /* where the answer should begin */
	int64_t total;			     /* of the whole file, once that is known; else -1 */
	/* Is there space for what the answer announces (total)? Called once, before the first byte. */
	int (*check_room)(void *closure, struct err *e);
	void *closure;
	/* private */
	CURL *easy;		    /* owned */
	struct curl_slist *headers; /* owned */
	struct http_response answer;
	bool begun;		 /* bytes are taken */
	int64_t discarded_bytes; /* bytes of an answer that is none */
	bool is_decided;	 /* verdict and err are set although the transfer has not ended */
	enum transfer_verdict verdict;
	struct err err;
	char why[CURL_ERROR_SIZE];
};

/*
 * Ask for the rest of the part from offset on, if the server still has what if_range (NULL: no
 * condition) stands for. The address, part, offset, check_room are set; the rest is zero.
 */
int transfer_start(struct transfer *t, const char *if_range, long stall_s, CURLM *multi,
		   struct err *e);

/* It ended with rc: what that means; e says why unless it arrived. *retry_after_s: 0: not said. */
enum transfer_verdict transfer_evaluate(struct transfer *t, CURLcode rc, double *retry_after_s,
					struct err *e);

/* Take it out of multi and free it; also when it runs, or was never started. */
void transfer_close(struct transfer *t, CURLM *multi);

#endif
