/*
 * decoder_link.h - the pipes to the decoder of a model, and its change for another one without a lost request
 *
 * A decoder is a process "werkbank-eval translate --serve" that the supervisor (server_supervisor.h) started. Its first
 * line says what it is; then each text gets one line (serve_stream.h). A new decoder of the model waits in `next` until it
 * has said so and the texts of the old one have ended, DECODER_DRAIN_S at most; then it takes its place. An answer is not trusted: it comes from a process that reads
 * a model, which may be a stranger's.
 */
#ifndef WERKBANK_EVAL_SERVER_DECODER_LINK_H
#define WERKBANK_EVAL_SERVER_DECODER_LINK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "eval/server/translation_queue.h"
#include "share/base/buf.h"
#include "share/base/err.h"

#define DECODER_ANSWER_S 600.0 /* a text that takes longer: the decoder hangs */
#define DECODER_DRAIN_S                                                                            \
	5.0 /* for texts of a decoder that is replaced; then the new one begins with them */
#define DECODER_LANGUAGE 16 /* bytes of a code, with the NUL */

#define LINK_MAX_GLOSSARIES 64

/* One process. */
struct decoder_pipes {
	int in, out; /* owned; -1: none */
	int generation;
	struct json *ready; /* owned: its first line; NULL: none yet */
	bool is_ready;
	struct buf received;
	size_t searched; /* bytes of `received` without a line end */
};

/* Terms that requests choose by name. */
struct link_glossary {
	char name[QUEUE_GLOSSARY_NAME];
	int64_t n_terms;
};

struct decoder_link {
	char source[DECODER_LANGUAGE],
		target[DECODER_LANGUAGE]; /* "": until the decoder has said them */
	char model_source[DECODER_LANGUAGE],
		model_target[DECODER_LANGUAGE]; /* of the model's recipe; "": as above */
	struct decoder_pipes now, next;
	struct link_glossary glossaries[LINK_MAX_GLOSSARIES]; /* (n_glossaries) of `now` */
	size_t n_glossaries;
	int64_t loaded;		    /* Unix time since which `now` has its model */
	struct queue_flight flight; /* texts that `now` works on */
	struct buf to_send;
	size_t sent;
	double next_since; /* since when `next` is ready */
	double busy_since; /* while it has texts */
	double busy_s;	   /* time with texts before, all in all */
	int n_deaths;
};

/* What an update has found. */
struct decoder_news {
	bool has_ready; /* a decoder said that it is ready: … */
	int ready_generation;
	bool has_moved; /* texts wait for the decoder of a second model */
	bool has_hung;	/* the decoder must be ended: … */
	int hung_generation;
};

void decoder_link_begin(struct decoder_link *d, int model);
void decoder_link_close(struct decoder_link *d);
/* Takes the pipes of a new process, which are closed with the link. */
void decoder_link_add(struct decoder_link *d, int in, int out, int generation);
/* Reads answers, sends texts. Faults of the decoder go to e and are no failure. */
struct decoder_news decoder_link_update(struct decoder_link *d, struct translation_queue *q,
					double now, struct err *e);
/* Seconds that the decoder had texts. */
double decoder_link_busy_s(const struct decoder_link *d, double now);
bool decoder_link_is_ready(const struct decoder_link *d);
/* The glossary of this name; NULL: there is none. */
const struct link_glossary *decoder_link_glossary(const struct decoder_link *d, const char *name);
/* Descriptors to wait for: at most 2 to read from; *write: one to write to, or -1. Returns the number. */
size_t decoder_link_fds(const struct decoder_link *d, int read_fds[2], int *write_fd);

#endif
