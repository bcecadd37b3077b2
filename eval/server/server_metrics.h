/* server_metrics.h - what a server counts, in Prometheus' text format */
#ifndef WERKBANK_EVAL_SERVER_SERVER_METRICS_H
#define WERKBANK_EVAL_SERVER_SERVER_METRICS_H

#include <stddef.h>
#include <stdint.h>

#include "eval/server/decoder_link.h"
#include "eval/server/translation_queue.h"
#include "share/base/buf.h"

#define METRICS_MAX_ROUTES 24
#define METRICS_BUCKETS	   10

/* Why a request was refused before it was translated. */
#define METRICS_REFUSALS(X)                                                                        \
	X(connections) /* too many connections */                                                  \
	X(form)	       /* it is no HTTP request, or not one that is accepted */                    \
	X(slow)	       /* it did not come in time */                                               \
	X(size)	       /* a part is too long */                                                    \
	X(host)	       /* it is for a server of another name */                                    \
	X(key)	       /* a key is missing or unknown */                                           \
	X(queue)       /* too many texts wait */
enum metrics_refusal {
#define X(name) REFUSED_##name,
	METRICS_REFUSALS(X)
#undef X
		METRICS_N_REFUSALS
};

/* Requests of one path with one status. */
struct metrics_answers {
	const char *path; /* borrowed: of the table of routes */
	int status;
	int64_t n;
};

struct server_metrics {
	struct metrics_answers answers[METRICS_MAX_ROUTES * 8];
	size_t n_answers;
	int64_t seconds[METRICS_BUCKETS +
			1]; /* translations by time, not summed up; the last: longer */
	double seconds_sum;
	int64_t refused[METRICS_N_REFUSALS];
	int64_t left; /* clients that left before their answer */
	double started;
};

void metrics_count_answer(struct server_metrics *m, const char *path, int status);
/* Counts a translation request and the seconds from its arrival to its answer. */
void metrics_count_seconds(struct server_metrics *m, double seconds);

/* What stands in other modules at the time of the question. */
struct metrics_state {
	const struct translation_queue *queue;
	const struct decoder_link *decoders; /* (n_decoders) */
	size_t n_decoders;
	size_t n_connections;
	double now;
	const int64_t *key_chars; /* (n_keys) */
	size_t n_keys;
};
void metrics_write(const struct server_metrics *m, const struct metrics_state *s, struct buf *out);

#endif
