/* sample_history.c - follows samples.jsonl; see sample_history.h. */
#include "tui/run/sample_history.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "eval/metrics/chrf.h"
#include "share/base/clock.h"
#include "share/base/file.h"
#include "share/base/mem.h"
#include "share/base/text.h"
#include "share/format/json.h"
#include "share/workspace/journal.h"

struct sample_history *sample_history_open(const char *run_folder, struct err *e)
{
	struct sample_history *b = mem_alloc(1, sizeof(*b), e);

	if (b && (b->path = file_path(e, "%s/samples.jsonl", run_folder)) &&
	    (b->sentences = mem_alloc(SAMPLE_SENTENCES, sizeof(*b->sentences), e)) &&
	    (b->reader = journal_reader_open(b->path, e)))
		return b;
	sample_history_free(b);
	return NULL;
}

void sample_history_free(struct sample_history *b)
{
	if (!b)
		return;
	for (size_t i = 0; i < b->n; i++) {
		struct sample_sentence *s = &b->sentences[i];

		for (size_t v = 0; v < s->n; v++)
			free(s->versions[v].hypothesis);
		free(s->source);
		free(s->reference);
	}
	free(b->sentences);
	journal_reader_free(b->reader);
	free(b->path);
	free(b);
}

/*
 * Copy a text of the record, owned by the caller; an ellipsis replaces what is after SAMPLE_TEXT
 * bytes.
 */
static char *copy_record_text(const struct json *record, const char *key, struct err *e)
{
	static const char ellipsis[] = "\xE2\x80\xA6";
	char *text = mem_strdup(json_text(json_get(record, key), ""), e);

	if (text && strlen(text) > SAMPLE_TEXT)
		memcpy(text + utf8_valid_prefix(text, SAMPLE_TEXT - strlen(ellipsis)), ellipsis,
		       sizeof(ellipsis));
	return text;
}

static struct sample_sentence *find_sentence(struct sample_history *b, int64_t id)
{
	for (size_t i = 0; i < b->n; i++)
		if (b->sentences[i].id == id)
			return &b->sentences[i];
	return NULL;
}

static struct sample_sentence *add_sentence(struct sample_history *b, int64_t id,
					    const struct json *record, struct err *e)
{
	struct sample_sentence *s = &b->sentences[b->n];

	assert(b->n < SAMPLE_SENTENCES);
	*s = (struct sample_sentence){ .id = id };
	if (!(s->source = copy_record_text(record, "source", e)) ||
	    !(s->reference = copy_record_text(record, "reference", e))) {
		free(s->source);
		return NULL;
	}
	b->n++;
	return s;
}

static void drop_versions_from(struct sample_sentence *s, int64_t step)
{
	while (s->n && s->versions[s->n - 1].step >= step)
		free(s->versions[--s->n].hypothesis);
}

/* Drop every second version between the first and the last. */
static void drop_every_second_version(struct sample_sentence *s)
{
	size_t kept = 0;

	for (size_t v = 0; v < s->n; v++)
		if (v % 2 && v + 1 < s->n)
			free(s->versions[v].hypothesis);
		else
			s->versions[kept++] = s->versions[v];
	s->n = kept;
}

/* chrF of one sentence, as "werkbank chrf" gives it; NaN: no reference, or no memory. */
static double sentence_chrf(const char *hypothesis, const char *reference)
{
	struct score_text hyp = { hypothesis, strlen(hypothesis) };
	struct score_text ref = { reference, strlen(reference) };
	struct chrf_score score = { .score = NAN };
	struct err ignored;
	struct chrf *c;

	if (!ref.n || !utf8_valid(hyp.text, hyp.n) || !utf8_valid(ref.text, ref.n) ||
	    !(c = chrf_new(&chrf_defaults, &ignored)))
		return NAN;
	if (!chrf_add(c, &hyp, &ref, 1, &ignored))
		chrf_score(c, &score);
	chrf_free(c);
	return score.score;
}

static int add_sample_record(struct sample_history *b, const struct json *record, struct err *e)
{
	int64_t id = json_integer(json_get(record, "id"), -1),
		step = json_integer(json_get(record, "step"), -1);
	struct sample_sentence *s = find_sentence(b, id);
	char *text;

	if (strcmp(json_text(json_get(record, "kind"), ""), "sample") || step < 0)
		return 0;
	if (!s && b->n == SAMPLE_SENTENCES)
		return 0;
	if (!s && !(s = add_sentence(b, id, record, e)))
		return e->code;
	drop_versions_from(s, step);
	if (s->n == SAMPLE_VERSIONS)
		drop_every_second_version(s);
	if (!(text = copy_record_text(record, "hypothesis", e)))
		return e->code;
	assert(s->n < SAMPLE_VERSIONS && (!s->n || s->versions[s->n - 1].step < step));
	s->versions[s->n++] =
		(struct sample_version){ step, text, sentence_chrf(text, s->reference) };
	return 0;
}

int sample_history_update(struct sample_history *b, double budget_s, struct err *e)
{
	double until = clock_mono_s() + budget_s;
	const struct json *record;
	int got, changed = 0;

	for (int n = 0; (got = journal_next(b->reader, &record, e)) > 0; n++) {
		if (add_sample_record(b, record, e))
			return e->code;
		changed = 1;
		if (n % 64 == 63 && clock_mono_s() > until)
			return 2;
	}
	return got < 0 ? got : changed;
}

double sample_score_at(const struct sample_sentence *s, int64_t step)
{
	int at = sample_version_at(s, step);

	return at >= 0 && s->versions[at].step == step ? s->versions[at].chrf : NAN;
}

int sample_version_at(const struct sample_sentence *s, int64_t step)
{
	int at = -1;

	for (size_t v = 0; v < s->n && s->versions[v].step <= step; v++)
		at = (int)v;
	return at;
}
