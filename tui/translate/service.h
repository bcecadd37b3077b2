/*
 * service.h - the translator of the console: a child (see eval/translate/serve.h) that is never waited for.
 *
 *	struct service *s = service_new(argv, e);
 *	service_ask(s, &request, now + 0.12);		not before then: typing goes on
 *	service_update(s, now)				each turn: true when something is new
 *	… service_state(s), service_answer(s, SLOT_TEXT) …
 *	service_free(s);
 *
 * argv speaks JSON lines on its standard streams ("werkbank-eval translate
 * --serve …"). One request is with the child at a time; of those that wait,
 * a newer one takes the place of the older one in the same slot. When the child
 * dies it is started again, after 0.2 s, then 1, 5 and 30 s, and what it was asked is asked once
 * more; a request that killed it twice is answered with an error. So is one that it
 * does not answer in time: the child is ended and started again. Nothing
 * here waits: pipes do not block, so a child that hangs costs its answers, not
 * the screen. What it says is not trusted: lines have a longest length, and
 * arrays that do not fit each other are cut.
 *
 * now is any clock in seconds that never jumps back (clock_mono_s()).
 */
#ifndef WERKBANK_TUI_TRANSLATE_SERVICE_H
#define WERKBANK_TUI_TRANSLATE_SERVICE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "share/base/err.h"
#include "share/base/json.h"

/* What can be asked side by side, the first of them first. */
enum service_slot { SLOT_TEXT, SLOT_ALTERNATIVES, SLOT_COUNT };

enum service_state {
	SERVICE_STARTING, /* loading its model */
	SERVICE_READY,	  /* nothing to do */
	SERVICE_WORKING,  /* a request is with it, or waits for its time */
	SERVICE_DOWN,	  /* it died, and is started again soon */
};

struct service_request {
	enum service_slot slot;
	const char *text;
	const char *prefix;			  /* NULL or "": none */
	const char *const *force, *const *forbid; /* terms */
	size_t n_force, n_forbid;
	int n_best;	      /* from 1; 0: as many as its beam is wide */
	int alternatives, at; /* how many of them (0: none), at which token */
};

struct service_translation {
	const char *text;
	double score, log_prob; /* NaN: not said */
	size_t n;		/* tokens */
	const char **tokens;
	double *log_probs; /* (n) NaN: not said */
	int *aligned;	   /* (n) number of a source token; -1: not said */
};

struct service_alternative {
	const char *piece, *word;
	double log_prob;    /* NaN: not said */
	const char *prefix; /* what to ask with to get it; NULL: not said */
};

/* An answer; all it points to is its own. */
struct service_answer {
	int64_t id;				  /* what service_ask() gave */
	const char *error;			  /* NULL: there is none */
	struct service_translation *translations; /* the best first */
	size_t n;				  /* at least 1 without an error */
	const char **source;			  /* tokens */
	size_t n_source;
	struct service_alternative *alternatives;
	size_t n_alternatives;
	bool has_alternatives; /* the service knows of them */
	bool truncated;	       /* the end of the text was not translated */
	double seconds;	       /* from being sent to the answer */
	/* private */
	struct json *tree;
	void *memory;
};

/* What the child said when it was ready; "" and -1: nothing. */
struct service_model {
	char source_language[16], target_language[16];
	int64_t step;
	int beam; /* at least 1 */
};

struct service;

/* argv is copied. The child starts with the first update. NULL: ERR_NOMEM. */
struct service *service_new(const char *const *argv, struct err *e);
/*
 * How long to wait for an answer (60 s and 10 ms for each byte of the request, unless this says
 * otherwise), and for a child to load its model (600 s).
 */
void service_set_patience(struct service *s, double answer_s, double load_s);
/* Ends the child, without waiting for it to agree. */
void service_free(struct service *s);

/*
 * Ask, not before the given time. The request is copied. Returns its id (> 0), or < 0: ERR_NOMEM.
 */
int64_t service_ask(struct service *s, const struct service_request *r, double when, struct err *e);

/* Forget what waits in a slot, and its answer (also one that is still to come). */
void service_forget(struct service *s, enum service_slot slot);

/* Send, receive, start again. true: state or an answer is another one. */
bool service_update(struct service *s, double now);

/* Start it again at once. */
void service_restart(struct service *s);

enum service_state service_state(const struct service *s);
const struct service_model *service_model(const struct service *s);
/* The latest answer in a slot, NULL before the first. Borrowed until the next update or forget. */
const struct service_answer *service_answer(const struct service *s, enum service_slot slot);
/* Whether a slot's newest request has no answer yet; since when it is with the child (NaN: not). */
bool service_waits(const struct service *s, enum service_slot slot, double *since);
/* Since when a request, the newest or an older one, is with the child; NaN: none is. */
double service_busy_since(const struct service *s);
/* The last line it wrote to standard error, or how it ended; "" when there is nothing to say. */
const char *service_trouble(const struct service *s);
/* How often it died. */
int service_deaths(const struct service *s);
/* The child's process id, -1: none. */
long service_pid(const struct service *s);
/* Seconds until it wants an update without anything to read; NaN: none. */
double service_due(const struct service *s, double now);
/* Descriptors to wait for reading: at most n into fds, how many. */
size_t service_fds(const struct service *s, int *fds, size_t n);

/* ---- service_answer.c ---- */

/* Read an answer line; ERR_PROTOCOL when it is no answer. On success a belongs to the caller. */
int service_answer_read(struct service_answer *a, const char *line, size_t n, struct err *e);
void service_answer_free(struct service_answer *a);

/* The request as a line for the child, without n_best, which is said when it is sent. */
int service_request_write(const struct service_request *r, int64_t id, struct buf *out,
			  struct err *e);

#endif
