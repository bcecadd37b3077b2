/* passages.c - see passages.h */
#include "eval/translate/passages.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "data/pipeline/line_tags.h"
#include "data/text/sentences.h"
#include "eval/translate/mbr.h"
#include "eval/translate/phrase_places.h"
#include "share/base/mem.h"
#include "share/base/util.h"

#define SEVERAL_MAX                                                                                \
	0.3 /* models whose training lines had several sentences more often keep lines whole */

/* The splitters of a pair of languages. */
struct pair_splitters {
	struct pair_languages languages;
	struct sentence_splitter *source, *target; /* owned */
};

struct passages {
	struct engine *engine;	      /* borrowed */
	struct pair_splitters *pairs; /* (n_pairs) owned, opened at their first line */
	size_t n_pairs, cap_pairs;    /* 0: lines are translated whole */
};

static bool splits_lines(const struct engine *g, const struct conf *c)
{
	if (strcmp(conf_origin(c, "one_a_line"), "default") != 0)
		return !c->one_a_line;
	return g->state.several <= SEVERAL_MAX;
}

/* The splitters for lines with this tag; NULL: failure. */
static const struct pair_splitters *find_splitters(struct passages *p, const char *tag,
						   struct err *e)
{
	const struct pair_languages l = line_tag_languages(p->engine->conf, tag);
	struct pair_splitters *s;

	for (size_t i = 0; i < p->n_pairs; i++)
		if (!strcmp(p->pairs[i].languages.source, l.source) &&
		    !strcmp(p->pairs[i].languages.target, l.target))
			return &p->pairs[i];
	if (mem_grow(&p->pairs, &p->cap_pairs, p->n_pairs + 1, sizeof(*p->pairs), e))
		return NULL;
	s = &p->pairs[p->n_pairs++];
	*s = (struct pair_splitters){ .languages = l,
				      .source = sentence_splitter_new(l.source, e) };
	s->target = s->source ? sentence_splitter_new(l.target, e) : NULL;
	return s->target ? s : NULL;
}

struct passages *passages_new(struct engine *g, const struct conf *c, struct err *e)
{
	struct passages *p = mem_alloc(1, sizeof(*p), e);

	if (!p)
		return NULL;
	p->engine = g;
	if (!splits_lines(g, c))
		return p;
	if (find_splitters(p, "", e))
		return p;
	passages_free(p);
	return NULL;
}

bool passages_keep_lines(const struct passages *p)
{
	return !p->n_pairs;
}

void passages_free(struct passages *p)
{
	if (!p)
		return;
	for (size_t i = 0; i < p->n_pairs; i++) {
		sentence_splitter_free(p->pairs[i].source);
		sentence_splitter_free(p->pairs[i].target);
	}
	free(p->pairs);
	free(p);
}

void passages_results_free(struct passage_result *results, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		engine_translations_free(&results[i].joined, 1);
		free(results[i].parts);
		results[i].parts = NULL;
	}
}

const struct passage_part *passage_part_at(const struct passage_result *r, int32_t at)
{
	int32_t i = 0;

	while (i + 1 < r->n_parts && at >= r->parts[i + 1].first_token)
		i++;
	return &r->parts[i];
}

/* ---- lines to sentences ---- */

bool passages_split(const struct passages *p, const struct passage_line *l)
{
	return p->n_pairs && !l->is_whole;
}

static int add_unit(struct passage_units *u, const struct engine_line *unit, struct err *e)
{
	if (mem_grow(&u->all, &u->cap, u->n + 1, sizeof(*u->all), e))
		return e->code;
	u->all[u->n++] = *unit;
	return 0;
}

/* Give the sentences of the prefix to the units from `first` on; the last unit gets what is left. */
static int split_prefix(struct passage_units *u, struct sentence_splitter *splitter,
			const struct engine_line *line, size_t first, struct err *e)
{
	const struct sentence_range *r;
	const size_t n_units = u->n - first;
	size_t n;

	if (sentences_find(splitter, line->prefix, line->n_prefix, &r, &n, e))
		return e->code;
	for (size_t i = 0; i < n && i < n_units; i++) {
		const bool is_rest = i + 1 == n_units || i + 1 == n;

		u->all[first + i].prefix = line->prefix + r[i].from;
		u->all[first + i].n_prefix = is_rest ? line->n_prefix - r[i].from : r[i].n;
	}
	return 0;
}

/* Add the units of a line: its sentences, or the whole line. */
static int split_passage_line(struct passages *p, const struct passage_line *l,
			      struct passage_units *u, struct err *e)
{
	const struct engine_line *line = &l->line;
	const bool is_whole = !passages_split(p, l);
	const struct sentence_range *r = NULL;
	const size_t first = u->n;
	size_t n = 0, n_tag;
	const char *tag = line_tag_find(p->engine->conf, line->text, line->n, &n_tag);
	const struct pair_splitters *splitters = NULL;

	if (!is_whole && !(splitters = find_splitters(p, tag, e)))
		return e->code;
	if (!is_whole && sentences_find(splitters->source, line->text, line->n, &r, &n, e))
		return e->code;
	if (is_whole || n <= 1) {
		struct engine_line unit = *line;

		if (!is_whole) { /* without white space around it, which may hold line ends */
			unit.text = line->text + (n ? r[0].from : 0);
			unit.n = n ? r[0].n : 0;
		}
		return add_unit(u, &unit, e);
	}
	for (size_t i = 0; i < n; i++) {
		struct engine_line unit = { .text = line->text + r[i].from, .n = r[i].n };

		unit.number = line->number + ((uint64_t)i << 40); /* draws of its own */
		if (i) { /* the first sentence has the tag in its text */
			unit.tag = tag;
			unit.n_tag = strlen(tag);
		}
		if (add_unit(u, &unit, e))
			return e->code;
	}
	return line->n_prefix ? split_prefix(u, splitters->target, line, first, e) : 0;
}

/* Find the terms of each unit and append them to its phrases. */
static int find_unit_terms(struct passage_units *units, const struct passage_line *lines, size_t n,
			   struct passage_result *results, struct err *e)
{
	bool any = false;

	for (size_t i = 0; i < n; i++)
		any |= lines[i].terms || lines[i].line.n_phrases;
	units->phrases = any ? mem_alloc(units->n, sizeof(*units->phrases), e) : NULL;
	if (any && !units->phrases)
		return e->code;
	for (size_t i = 0, u = 0; any && i < n; i++) {
		for (; u < units->ends[i]; u++) {
			struct engine_line *unit = &units->all[u];
			struct phrases *to = &units->phrases[u];
			int32_t left = 0;

			for (to->n = 0; to->n < unit->n_phrases; to->n++)
				to->all[to->n] = unit->phrases[to->n];
			if (terms_find(lines[i].terms, unit->text, unit->n, to, &left, e))
				return e->code;
			unit->phrases = to->all;
			unit->n_phrases = to->n;
			results[i].terms_left += left;
		}
	}
	return 0;
}

/* ---- sentences to lines ---- */

/* White space after unit u, up to the next unit or the end of the line. */
static void add_unit_gap(struct buf *out, const struct passage_units *units,
			 const struct engine_line *line, size_t u, bool is_last)
{
	const char *from = units->all[u].text + units->all[u].n;
	const char *end = is_last ? line->text + line->n : units->all[u + 1].text;

	buf_add(out, from, (size_t)(end - from));
}

/* The part of unit u in hypothesis h of its line. */
static const struct decode_hypothesis *unit_hypothesis(const struct engine_translation *t,
						       int32_t h)
{
	return &t->result.hypotheses[MIN(h, t->result.n - 1)];
}

/* Copy tokens, alignments and log-probabilities of unit t to the end of y. */
static void append_tokens(struct decode_hypothesis *y, const struct decode_hypothesis *part,
			  int32_t source_offset)
{
	for (int32_t i = 0; i < part->n; i++) {
		y->tokens[y->n + i] = part->tokens[i];
		if (y->aligned)
			y->aligned[y->n + i] = part->aligned[i] + source_offset;
		if (y->log_probs)
			y->log_probs[y->n + i] = part->log_probs[i];
	}
	y->score += part->score * (part->n + 1); /* the end counts as a token */
	y->log_prob += part->log_prob;
	y->finished &= part->finished;
	y->n += part->n;
}

/* Join hypothesis h of the units first .. end - 1. */
static int join_hypothesis(const struct passage_units *units,
			   const struct engine_translation *parts, size_t first, size_t end,
			   const struct engine_line *line, int32_t h, struct engine_translation *to,
			   struct err *e)
{
	struct decode_hypothesis *y = &to->result.hypotheses[h];
	const struct decode_hypothesis *like = unit_hypothesis(&parts[first], h);
	struct buf text = { 0 };
	int32_t n = 0, source_offset = 0;

	for (size_t u = first; u < end; u++)
		n += unit_hypothesis(&parts[u], h)->n;
	*y = (struct decode_hypothesis){ .finished = true };
	y->tokens = mem_alloc((size_t)n + 1, sizeof(*y->tokens), e);
	y->aligned = like->aligned ? mem_alloc((size_t)n + 1, sizeof(*y->aligned), e) : NULL;
	y->log_probs = like->log_probs ? mem_alloc((size_t)n + 1, sizeof(*y->log_probs), e) : NULL;
	to->result.n = h + 1;
	if (!y->tokens || (like->aligned && !y->aligned) || (like->log_probs && !y->log_probs))
		return e->code;
	buf_add(&text, line->text, (size_t)(units->all[first].text - line->text));
	for (size_t u = first; u < end; u++) {
		append_tokens(y, unit_hypothesis(&parts[u], h), source_offset);
		source_offset += parts[u].n_source;
		buf_add_str(&text, parts[u].texts[MIN(h, parts[u].result.n - 1)]);
		add_unit_gap(&text, units, line, u, u + 1 == end);
	}
	y->score /= n + (double)(end - first);
	if (!buf_check(&text, e))
		to->texts[h] = mem_strdup(buf_text(&text), e);
	buf_free(&text);
	return to->texts[h] ? 0 : e->code;
}

/* The n source tokens from `at` on are a tag that the line has not. */
static int mark_added_tag(struct engine_translation *to, size_t at, int32_t n, struct err *e)
{
	if (!n)
		return 0;
	if (!to->is_added_tag)
		to->is_added_tag =
			mem_alloc((size_t)to->n_source + 1, sizeof(*to->is_added_tag), e);
	if (!to->is_added_tag)
		return e->code;
	for (int32_t i = 0; i < n; i++)
		to->is_added_tag[at + (size_t)i] = true;
	return 0;
}

/* Join the units first .. end - 1 of a line into one translation. */
static int join_units(const struct passage_units *units, const struct engine_translation *parts,
		      size_t first, size_t end, const struct engine_line *line,
		      struct engine_translation *to, struct err *e)
{
	int32_t hypotheses = 0;
	int rc = 0;

	for (size_t u = first; u < end; u++) {
		hypotheses = MAX(hypotheses, parts[u].result.n);
		to->n_source += parts[u].n_source;
		to->result.truncated |= parts[u].result.truncated;
	}
	to->source = mem_alloc((size_t)to->n_source + 1, sizeof(*to->source), e);
	to->result.hypotheses = mem_alloc((size_t)hypotheses, sizeof(*to->result.hypotheses), e);
	to->texts = mem_alloc((size_t)hypotheses, sizeof(*to->texts), e);
	if (!to->source || !to->result.hypotheses || !to->texts)
		return e->code;
	for (size_t u = first, at = 0; u < end; at += (size_t)parts[u++].n_source) {
		memcpy(to->source + at, parts[u].source,
		       (size_t)parts[u].n_source * sizeof(*to->source));
		if (mark_added_tag(to, at, parts[u].n_tag, e))
			return e->code;
	}
	for (int32_t h = 0; h < hypotheses && !rc; h++)
		rc = join_hypothesis(units, parts, first, end, line, h, to, e);
	return rc;
}

/* Note where the units lie in hypothesis h of the joined translation. */
static void list_hypothesis_parts(const struct passage_units *units,
				  const struct engine_translation *parts, size_t first, size_t end,
				  const struct engine_line *line, int32_t h,
				  struct passage_part *to)
{
	struct passage_part at = { .text = end - first > 1
						   ? (size_t)(units->all[first].text - line->text)
						   : 0 };

	for (size_t u = first; u < end; u++) {
		const struct engine_line *unit = &units->all[u];
		const char *next = u + 1 < end ? unit[1].text : line->text + line->n;
		const char *text = parts[u].texts[MIN(h, parts[u].result.n - 1)];

		at.n_source = parts[u].n_source;
		at.n_tokens = unit_hypothesis(&parts[u], h)->n;
		at.source = (size_t)(unit->text - line->text);
		at.source_bytes = unit->n;
		at.text_bytes = strlen(text);
		*to++ = at;
		at.first_source += at.n_source;
		at.first_token += at.n_tokens;
		at.text += at.text_bytes + (size_t)(next - (unit->text + unit->n));
	}
}

/* The same of all hypotheses. */
static int list_parts(const struct passage_units *units, const struct engine_translation *parts,
		      size_t first, size_t end, const struct engine_line *line,
		      struct passage_result *to, struct err *e)
{
	const size_t n = end - first;
	int32_t hypotheses = 0;

	for (size_t u = first; u < end; u++) {
		hypotheses = MAX(hypotheses, parts[u].result.n);
		to->longest = MAX(to->longest, parts[u].n_source);
	}
	to->parts = mem_alloc(n * (size_t)hypotheses, sizeof(*to->parts), e);
	if (!to->parts)
		return e->code;
	for (int32_t h = 0; h < hypotheses; h++)
		list_hypothesis_parts(units, parts, first, end, line, h, to->parts + (size_t)h * n);
	to->n_parts = (int32_t)n;
	return 0;
}

static int join_line(const struct passage_units *units, struct engine_translation *parts,
		     size_t first, size_t end, const struct engine_line *line,
		     struct passage_result *to, struct err *e)
{
	if (list_parts(units, parts, first, end, line, to, e))
		return e->code;
	if (end - first > 1)
		return join_units(units, parts, first, end, line, &to->joined, e);
	to->joined = parts[first]; /* the whole line, which now owns it */
	parts[first] = (struct engine_translation){ 0 };
	return 0;
}

/* ---- all lines ---- */

void passage_units_free(struct passage_units *u)
{
	for (size_t i = 0; u->phrases && i < u->n; i++)
		phrases_free(&u->phrases[i]);
	free(u->phrases);
	free(u->ends);
	free(u->all);
	*u = (struct passage_units){ .n = 0 };
}

int passages_list_units(struct passages *p, const struct passage_line *lines, size_t n,
			struct passage_units *u, struct passage_result *results, struct err *e)
{
	memset(results, 0, n * sizeof(*results));
	u->ends = mem_alloc(n, sizeof(*u->ends), e);
	if (!u->ends)
		return e->code;
	for (size_t i = 0; i < n; i++) {
		if (split_passage_line(p, &lines[i], u, e))
			return e->code;
		u->ends[i] = u->n;
	}
	return find_unit_terms(u, lines, n, results, e);
}

int passages_join_units(const struct passage_line *lines, size_t n, const struct passage_units *u,
			struct engine_translation *parts, struct passage_result *results,
			struct err *e)
{
	for (size_t i = 0, first = 0; i < n; first = u->ends[i++])
		if (join_line(u, parts, first, u->ends[i], &lines[i].line, &results[i], e))
			return e->code;
	return 0;
}

/* For each line of several units: choose the unit that gets each forced phrase. */
static int place_phrases(struct passages *p, const struct decode_options *o,
			 const struct passage_line *lines, size_t n, struct passage_units *u,
			 struct passage_result *results, struct err *e)
{
	for (size_t i = 0, first = 0; i < n; first = u->ends[i++])
		if (lines[i].line.n_phrases && u->ends[i] - first > 1 &&
		    place_forced_phrases(p->engine, o, &lines[i].line, &u->all[first],
					 &u->phrases[first], u->ends[i] - first,
					 &results[i].terms_left, e))
			return e->code;
	return 0;
}

int passages_translate(struct passages *p, const struct decode_options *o,
		       const struct passage_line *lines, size_t n, struct passage_result *results,
		       struct err *e)
{
	struct passage_units u = { .n = 0 };
	struct engine_translation *parts = NULL;
	int rc = passages_list_units(p, lines, n, &u, results, e);

	if (!rc)
		rc = place_phrases(p, o, lines, n, &u, results, e);
	parts = rc ? NULL : mem_alloc(u.n, sizeof(*parts), e);
	if (!rc)
		rc = parts ? engine_translate(p->engine, o, u.all, u.n, parts, e) : e->code;
	if (!rc && o->mbr_keep)
		rc = mbr_choose(parts, u.n, o->mbr_keep, e);
	if (!rc)
		rc = passages_join_units(lines, n, &u, parts, results, e);
	if (parts)
		engine_translations_free(parts, u.n);
	free(parts);
	passage_units_free(&u);
	if (rc)
		passages_results_free(results, n);
	return rc;
}
