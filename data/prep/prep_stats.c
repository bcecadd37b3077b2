/* prep_stats.c - statistics of all training pairs (see prep_stats.h) */
#include "data/prep/prep_stats.h"

#include <assert.h>

#include "data/prep/prep_verdicts.h"
#include "share/base/file.h"
#include "share/base/util.h"
#include "share/format/json.h"

static void count_length(int64_t bins[STATS_N_BINS], int64_t length)
{
	bins[MIN(MAX(length - 1, 0) / STATS_BIN_WIDTH, STATS_N_BINS - 1)]++;
}

static void stats_count_line(struct side_stats *s, const struct word_ids *ids,
			     const struct token_column_line *line)
{
	int64_t tokens = 0, whole = 0;
	uint32_t i;

	for (i = 0; i < line->n; i++) {
		const uint32_t *start = &ids->start[line->words[i]];
		uint32_t pieces = start[1] - start[0];

		assert(start[0] <= start[1]);
		tokens += pieces;
		whole += pieces == 1;
	}
	s->words += line->n;
	s->tokens += tokens;
	s->one_piece += whole;
	count_length(s->by_words, line->n);
	count_length(s->by_tokens, tokens);
}

void prep_stats_add(struct prep_stats *s, struct text_stats *t, enum clean_rule rule,
		    const struct token_column_line *source, const struct token_column_line *target)
{
	assert(rule >= CLEAN_KEEP && rule < CLEAN_N_RULES);
	t->pairs++;
	t->bytes[0] += source->bytes;
	t->bytes[1] += target->bytes;
	t->words[0] += source->n;
	t->words[1] += target->n;
	if (rule != CLEAN_KEEP) {
		t->dropped[rule]++;
		return;
	}
	t->kept++;
	stats_count_line(&s->sides[0], s->ids[0], source);
	stats_count_line(&s->sides[1], s->ids[1], target);
}

/* ---- JSON ---- */

static void stats_add_share(struct json_writer *w, const char *key, int64_t part, int64_t of)
{
	json_put_real(w, key, of ? (double)part / (double)of : 0);
}

static void stats_add_dropped(struct json_writer *w, const int64_t *dropped, bool also_none)
{
	int rule;

	json_put_open(w, "dropped", '{');
	for (rule = CLEAN_KEEP + 1; rule < CLEAN_N_RULES; rule++)
		if (dropped[rule] || also_none)
			json_put_int(w, clean_rule_name((enum clean_rule)rule), dropped[rule]);
	json_close(w, '}');
}

static void stats_add_bins(struct json_writer *w, const char *key, const int64_t bins[STATS_N_BINS])
{
	int i, n = STATS_N_BINS;

	while (n > 0 && !bins[n - 1])
		n--;
	json_put_open(w, key, '{');
	json_put_int(w, "step", STATS_BIN_WIDTH);
	json_put_open(w, "lines", '[');
	for (i = 0; i < n; i++)
		json_int(w, bins[i]);
	json_close(w, ']');
	json_close(w, '}');
}

static void stats_add_column(struct json_writer *w, const char *key, const char *language,
			     const struct side_stats *s)
{
	json_put_open(w, key, '{');
	json_put_str(w, "language", language);
	json_put_int(w, "words", s->words);
	json_put_int(w, "tokens", s->tokens);
	json_put_int(w, "one_piece", s->one_piece);
	stats_add_share(w, "tokens_per_word", s->tokens, s->words);
	stats_add_share(w, "whole_words", s->one_piece, s->words);
	stats_add_bins(w, "words_a_line", s->by_words);
	stats_add_bins(w, "tokens_a_line", s->by_tokens);
	json_close(w, '}');
}

static void stats_add_texts(struct json_writer *w, const struct prep *p, const struct prep_stats *s)
{
	size_t i;

	json_put_open(w, "texts", '[');
	for (i = 0; i < p->texts.n_train; i++) {
		const struct text_stats *t = &s->texts[i];

		json_open(w, '{');
		json_put_str(w, "name", p->texts.pairs[i].name);
		json_put_int(w, "pairs", t->pairs);
		json_put_int(w, "kept", t->kept);
		json_put_int(w, "source_bytes", t->bytes[0]);
		json_put_int(w, "target_bytes", t->bytes[1]);
		json_put_int(w, "source_words", t->words[0]);
		json_put_int(w, "target_words", t->words[1]);
		stats_add_dropped(w, t->dropped, false);
		json_close(w, '}');
	}
	json_close(w, ']');
}

static void stats_add_held_out(struct json_writer *w, const struct prep *p)
{
	const struct prep_numbers *n = &p->numbers;
	int set;

	json_put_open(w, "held_out", '[');
	for (set = 1; set < p->texts.n_sets; set++) {
		if (!n->pairs[set])
			continue; /* left out: a member is missing in its archive */
		json_open(w, '{');
		json_put_str(w, "set", p->texts.sets[set]);
		json_put_int(w, "pairs", n->pairs[set]);
		json_put_int(w, "source_tokens", n->source_tokens[set]);
		json_put_int(w, "target_tokens", n->target_tokens[set]);
		json_put_int(w, "unknown_tokens", n->unknown_tokens[set]);
		json_put_int(w, "in_train", n->in_train[set]);
		json_close(w, '}');
	}
	json_close(w, ']');
}

static void stats_add_pairs(struct json_writer *w, const struct prep *p)
{
	int set;

	json_put_open(w, "pairs", '{');
	json_put_int(w, "read", p->numbers.read);
	for (set = 0; set < p->texts.n_sets; set++)
		if (p->numbers.pairs[set])
			json_put_int(w, p->texts.sets[set], p->numbers.pairs[set]);
	json_close(w, '}');
}

static int stats_write_json(struct json_writer *w, const struct prep *p, const struct prep_stats *s,
			    const struct prep_judge *judge, struct err *e)
{
	struct buf value = { 0 };
	int rc;

	json_open(w, '{');
	json_put_int(w, "v", 1);
	json_put_str(w, "name", p->c->corpus);
	json_put_str(w, "source_language", p->c->source_language);
	json_put_str(w, "target_language", p->c->target_language);
	conf_value(p->c, "segmentation", &value);
	json_put_str(w, "segmentation", buf_text(&value));
	stats_add_pairs(w, p);
	stats_add_dropped(w, p->numbers.dropped, true);
	stats_add_texts(w, p, s);
	json_put_int(w, "distinct_words", p->numbers.distinct_words);
	json_put_int(w, "merges", p->numbers.merges);
	json_put_int(w, "vocabulary", p->numbers.vocabulary);
	prep_put_source_counts(w, p);
	stats_add_column(w, "source", p->c->source_language, &s->sides[0]);
	stats_add_column(w, "target", p->c->target_language, &s->sides[1]);
	stats_add_held_out(w, p);
	rc = prep_judge_put_json(judge, w, e);
	json_close(w, '}');
	buf_add_char(w->out, '\n');
	buf_free_part(&value, w->out);
	return rc;
}

int prep_stats_write(struct prep *p, const struct prep_stats *s, const struct prep_judge *judge,
		     struct err *e)
{
	struct buf b = { 0 };
	struct json_writer w = { .out = &b };
	int rc = stats_write_json(&w, p, s, judge, e);

	if (!rc)
		rc = prep_write_buf(p, "stats.json", &b, e);
	buf_free(&b);
	return rc;
}
