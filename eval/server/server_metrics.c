/* server_metrics.c - see server_metrics.h */
#include "eval/server/server_metrics.h"

#include <string.h>

#include "share/base/util.h"

static const double bucket_ends[METRICS_BUCKETS] = { 0.01, 0.025, 0.05, 0.1, 0.25,
						     0.5,  1,	  2.5,	5,   10 };
static const char *const refusal_names[] = {
#define X(name) #name,
	METRICS_REFUSALS(X)
#undef X
};

void metrics_count_answer(struct server_metrics *m, const char *path, int status)
{
	size_t i = 0;

	while (i < m->n_answers &&
	       (strcmp(m->answers[i].path, path) != 0 || m->answers[i].status != status))
		i++;
	if (i == ARRAY_LEN(m->answers))
		return;
	if (i == m->n_answers)
		m->answers[m->n_answers++] = (struct metrics_answers){ path, status, 0 };
	m->answers[i].n++;
}

void metrics_count_seconds(struct server_metrics *m, double seconds)
{
	size_t i = 0;

	while (i < METRICS_BUCKETS && seconds > bucket_ends[i])
		i++;
	m->seconds[i]++;
	m->seconds_sum += seconds;
}

static void metrics_write_head(struct buf *out, const char *name, const char *type,
			       const char *help)
{
	buf_printf(out, "# HELP werkbank_%s %s\n# TYPE werkbank_%s %s\n", name, help, name, type);
}

static void write_seconds(const struct server_metrics *m, struct buf *out)
{
	int64_t n = 0;

	metrics_write_head(out, "translation_seconds", "histogram",
			   "Seconds from a translation request to its answer.");
	for (size_t i = 0; i <= METRICS_BUCKETS; i++) {
		n += m->seconds[i];
		if (i < METRICS_BUCKETS)
			buf_printf(out, "werkbank_translation_seconds_bucket{le=\"%g\"} %lld\n",
				   bucket_ends[i], (long long)n);
	}
	buf_printf(
		out,
		"werkbank_translation_seconds_bucket{le=\"+Inf\"} %lld\n"
		"werkbank_translation_seconds_sum %.9g\nwerkbank_translation_seconds_count %lld\n",
		(long long)n, m->seconds_sum, (long long)n);
}

static void write_decoders(const struct metrics_state *s, struct buf *out)
{
	static const struct {
		const char *name, *type, *help;
	} rows[] = {
		{ "decoder_up", "gauge", "1 if the decoder of a model is ready." },
		{ "decoder_texts", "gauge", "Texts that a decoder works on." },
		{ "decoder_busy_seconds_total", "counter", "Seconds that a decoder had texts." },
		{ "decoder_deaths_total", "counter", "Decoders that ended unasked." },
	};

	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		metrics_write_head(out, rows[i].name, rows[i].type, rows[i].help);
		for (size_t k = 0; k < s->n_decoders; k++) {
			const struct decoder_link *d = &s->decoders[k];
			const double values[] = { decoder_link_is_ready(d), (double)d->flight.n,
						  decoder_link_busy_s(d, s->now), d->n_deaths };

			buf_printf(out, "werkbank_%s{model=\"%s-%s\"} %.9g\n", rows[i].name,
				   d->source, d->target, values[i]);
		}
	}
}

/* Numbers without labels. */
static void write_numbers(const struct server_metrics *m, const struct metrics_state *s,
			  struct buf *out)
{
	const struct queue_counts *c = queue_get_counts(s->queue);
	const struct {
		const char *name, *type, *help;
		double value;
	} rows[] = {
		{ "left_total", "counter", "Clients that left before their answer.",
		  (double)m->left },
		{ "connections", "gauge", "Open connections.", (double)s->n_connections },
		{ "requests_in_flight", "gauge", "Translation requests without an answer.",
		  queue_n_jobs(s->queue) },
		{ "queue_characters", "gauge", "Characters that wait for a decoder.",
		  (double)queue_waiting_chars(s->queue) },
		{ "queue_seconds_total", "counter",
		  "Seconds that requests waited for their first text.", c->wait_s },
		{ "queued_requests_total", "counter",
		  "Requests of which a text was sent to a decoder.", (double)c->waited },
		{ "texts_total", "counter", "Texts that were translated.", (double)c->texts },
		{ "text_seconds_total", "counter", "Seconds of all texts in decoders.", c->text_s },
		{ "characters_total", "counter", "Characters that were translated.",
		  (double)c->chars },
		{ "source_tokens_total", "counter", "Tokens of the texts.",
		  (double)c->source_tokens },
		{ "target_tokens_total", "counter", "Tokens of the translations.",
		  (double)c->target_tokens },
		{ "uptime_seconds", "gauge", "Seconds since the start.", s->now - m->started },
	};

	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		metrics_write_head(out, rows[i].name, rows[i].type, rows[i].help);
		buf_printf(out, "werkbank_%s %.15g\n", rows[i].name, rows[i].value);
	}
}

void metrics_write(const struct server_metrics *m, const struct metrics_state *s, struct buf *out)
{
	metrics_write_head(out, "http_requests_total", "counter", "Answered requests.");
	for (size_t i = 0; i < m->n_answers; i++)
		buf_printf(out, "werkbank_http_requests_total{path=\"%s\",code=\"%d\"} %lld\n",
			   m->answers[i].path, m->answers[i].status, (long long)m->answers[i].n);
	write_seconds(m, out);
	metrics_write_head(out, "refused_total", "counter",
			   "Requests that were refused, by reason.");
	for (size_t i = 0; i < METRICS_N_REFUSALS; i++)
		buf_printf(out, "werkbank_refused_total{reason=\"%s\"} %lld\n", refusal_names[i],
			   (long long)m->refused[i]);
	write_numbers(m, s, out);
	if (s->n_keys)
		metrics_write_head(out, "key_characters_total", "counter",
				   "Characters translated for a key; its number in the file.");
	for (size_t i = 0; i < s->n_keys; i++)
		buf_printf(out, "werkbank_key_characters_total{key=\"%zu\"} %lld\n", i + 1,
			   (long long)s->key_chars[i]);
	write_decoders(s, out);
}
