/*
 * service.h - the translator of the console: a child process that never blocks the screen.
 *
 *	struct service *s = service_new(argv, e);
 *	service_ask(s, &request, now + 0.12);	send after a delay: typing may go on
 *	service_update(s, now)			each turn: true if something changed
 *	… service_state(s), service_answer(s, SLOT_TEXT) …
 *	service_free(s);
 *
 * argv is a command that speaks JSON lines (eval/translate/serve.h) on its standard streams:
 * "werkbank-eval translate --serve …". The child has one request at a time. In each slot only
 * the newest request waits.
 *
 * Failures: when the child dies, it is restarted after 0.2 s, then 1, 5 and 30 s, and the open
 * request is sent again. A request that killed the child twice gets an error answer. A child
 * that does not answer in time is killed and restarted, and its request gets an error answer.
 * Pipes are non-blocking, so a hanging child costs its answers, not the screen. Answers are
 * not trusted: lines have a maximum length, and arrays of different lengths are cut.
 *
 * now is a monotonic clock in seconds (clock_mono_s()).
 */
#ifndef WERKBANK_TUI_TRANSLATE_SERVICE_H
#define WERKBANK_TUI_TRANSLATE_SERVICE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "share/base/err.h"
#include "share/format/json.h"
#include "tui/translate/glossary.h"

/* Kinds of requests that may wait side by side; lower slots are sent first. */
#define SERVICE_MAX_BEAM  64
#define SERVICE_MAX_ALPHA 10

enum service_slot { SLOT_TEXT, SLOT_ALTERNATIVES, SLOT_AHEAD, SLOT_COUNT };

enum service_state {
	SERVICE_STARTING, /* loading the model */
	SERVICE_READY,	  /* idle */
	SERVICE_WORKING,  /* a request is with the child, or waits for its time */
	SERVICE_DOWN,	  /* the child died and will be restarted */
};

struct service_request {
	enum service_slot slot;
	const char *text;
	const char *prefix;			  /* NULL or "": none */
	const char *const *force, *const *forbid; /* terms */
	size_t n_force, n_forbid;
	const struct glossary *glossary; /* terms of it that may apply are sent; NULL: none */
	int n_best;			 /* from 1; 0: the beam width */
	int beam;			 /* 0: that of the model */
	bool sets_alpha;
	double alpha; /* exponent of the length penalty; without sets_alpha: that of the model */
	int alternatives, at; /* number of alternatives (0: none), for the token at */
	bool attention;	      /* maps of attention, of: */
	int layer, head;      /* from 1; 0: the last layer, the mean of all heads */
};

/* A sentence of a translation. */
struct service_part {
	const char *source; /* NULL: all of the request's text */
	const char *text;
	size_t first, n;	       /* its tokens */
	size_t first_source, n_source; /* its source tokens */
	double quality; /* mean probability of its tokens (geometric); NaN: unknown */
};

struct service_translation {
	const char *text;
	double score, log_prob; /* NaN: not sent */
	size_t n;		/* tokens */
	const char **tokens;
	double *log_probs; /* (n) NaN: not sent */
	int *aligned;	   /* (n) index of a source token; -1: not sent */
	/* (n, n_source + 1) attention to each source token and to their end; NULL: not sent */
	const double *attention;
	struct service_part *parts; /* (n_parts) at least one */
	size_t n_parts;
	double quality; /* that of all tokens */
	/* (n + 1) of whole words: the first piece of each, and the number of pieces; NULL: tokens are pieces */
	const size_t *pieces;
};

struct service_alternative {
	const char *piece, *word;
	double log_prob;    /* NaN: not sent */
	const char *prefix; /* prefix that yields the alternative; NULL: not sent */
};

/* An answer; it owns everything it points to. */
struct service_answer {
	int64_t id;				  /* id from service_ask() */
	const char *error;			  /* NULL: no error */
	struct service_translation *translations; /* best first */
	size_t n;				  /* at least 1 unless error is set */
	const char **source;			  /* tokens */
	size_t n_source;
	struct service_alternative *alternatives;
	size_t n_alternatives;
	bool has_alternatives; /* the translator supports alternatives */
	bool truncated;	       /* the end of the text was not translated */
	bool is_long;	       /* a sentence is longer than all of the training text */
	double seconds;	       /* time between request and answer */
	/* The same with whole words as tokens, of joined pieces; owned. NULL: of an error. */
	struct service_answer *words;
	/* private */
	struct json *tree;
	void *memory;
};

/* Data of the child's ready message; "" and -1: not sent. */
struct service_model {
	char source_language[16], target_language[16];
	int64_t step;
	int beam;		   /* at least 1 */
	double alpha;		   /* NaN: not sent */
	int decoder_layers, heads; /* 0: the translator has no maps of attention */
	bool keeps_lines;	   /* lines of several sentences are translated whole */
	char tags[1024];	   /* that may begin a line, with blanks between them */
};

struct service;

/* argv is copied. The child starts with the first update. NULL: ERR_NOMEM. */
struct service *service_new(const char *const *argv, struct err *e);
/*
 * Timeouts for an answer (default 60 s plus 10 ms per byte of the request) and for loading the
 * model (default 600 s).
 */
void service_set_patience(struct service *s, double answer_s, double load_s);
/* Kills the child and frees s. NULL is fine. */
void service_free(struct service *s);

/*
 * Queue a request that is sent at time when or later; it is copied. Returns its id (> 0), or < 0:
 * ERR_NOMEM.
 */
int64_t service_ask(struct service *s, const struct service_request *r, double when, struct err *e);

/* Drop the waiting request and the answer of a slot, also an answer still to come. */
void service_forget(struct service *s, enum service_slot slot);

/* Send, receive, restart. true: the state or an answer changed. */
bool service_update(struct service *s, double now);

/* Restart the child at once. */
void service_restart(struct service *s);

/* State of the child; data of its ready message, borrowed. */
enum service_state service_state(const struct service *s);
const struct service_model *service_model(const struct service *s);
/* The latest answer of a slot, NULL before the first. Borrowed until the next update or forget. */
const struct service_answer *service_answer(const struct service *s, enum service_slot slot);
/* Whether the newest request of a slot is unanswered; *since: when it was sent (NaN: not sent). */
bool service_waits(const struct service *s, enum service_slot slot, double *since);
/* When the request at the child was sent; NaN: none is there. */
double service_busy_since(const struct service *s);
/* The child's last line on standard error, or how it ended; "". */
const char *service_trouble(const struct service *s);
/* Number of deaths of the child. */
int service_deaths(const struct service *s);
/* Process id of the child, -1: none. */
long service_pid(const struct service *s);
/* Seconds until the next update without input; NaN: none needed. */
double service_due(const struct service *s, double now);
/* Write at most n descriptors to wait for to fds; returns their number. */
size_t service_fds(const struct service *s, int *fds, size_t n);

/* ---- service_words.c ---- */

/*
 * Make a->words. Pieces are joined by the marks of BPE (a piece that goes on ends in @@) and SentencePiece (a word begins with
 * U+2581), not over the end of a sentence, and not where a script has no blanks. The probability of a word is the product of its
 * pieces'. Its attention is the mean of its pieces'; a source word gets the sum. ERR_NOMEM.
 */
int service_answer_add_words(struct service_answer *a, struct err *e);

/* The word that has a piece; of the end, the number of words. */
size_t service_word_of_piece(const struct service_translation *words, size_t piece);
/* The part that has a token; of the end, the last one. */
const struct service_part *service_part_at(const struct service_translation *t, size_t token);

/* ---- service_answer.c ---- */

/* Parse an answer line; on success the caller frees a. ERR_PROTOCOL: no valid answer. */
int service_answer_read(struct service_answer *a, const char *line, size_t n, struct err *e);
void service_answer_free(struct service_answer *a);

/* Write the request as a line for the child, without n_best, which is added when it is sent. */
int service_request_write(const struct service_request *r, int64_t id, struct buf *out,
			  struct err *e);

#endif
