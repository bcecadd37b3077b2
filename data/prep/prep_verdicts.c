/* prep_verdicts.c - see prep_verdicts.h */
#include "data/prep/prep_verdicts.h"

#include <stdlib.h>
#include <string.h>

#include "data/judge/corpus_judge.h"
#include "data/pipeline/line_tags.h"
#include "data/prep/pair_rules.h"
#include "data/prep/parallel.h"
#include "share/base/mem.h"
#include "share/base/number_format.h"
#include "share/base/text.h"

#define STATS_LIMIT   (64u << 20) /* bytes of stats.json */
#define OVERLAP_SHARE 0.01	  /* of the pairs of a held-out set */

struct prep_judge {
	struct prep *p;			  /* borrowed */
	struct pair_languages *languages; /* owned: (n) of each judge */
	struct corpus_judge **judges;	  /* owned: (n) */
	size_t n;
	size_t *of_text; /* owned: (texts of train) the judge of each */
};

/* The judge of these languages; n: there is none. */
static size_t find_judge(const struct prep_judge *j, const struct pair_languages *l)
{
	size_t i = 0;

	while (i < j->n && (strcmp(j->languages[i].source, l->source) != 0 ||
			    strcmp(j->languages[i].target, l->target) != 0))
		i++;
	return i;
}

static int add_judge(struct prep_judge *j, const struct pair_languages *l, struct err *e)
{
	const struct prep *p = j->p;
	struct pair_languages *languages = &j->languages[j->n];
	struct judge_options o = { .words = &p->words,
				   .n_pairs = p->numbers.read,
				   .is_escaped = p->c->escape && (text_is_tokenized(p->c, 0) ||
								  text_is_tokenized(p->c, 1)) };

	*languages = *l;
	o.source_language = languages->source;
	o.target_language = languages->target;
	j->judges[j->n] = corpus_judge_new(&o, e);
	if (!j->judges[j->n])
		return e->code;
	j->n++;
	return 0;
}

struct prep_judge *prep_judge_open(struct prep *p, struct err *e)
{
	struct prep_judge *j = mem_alloc(1, sizeof(*j), e);
	const size_t n = p->texts.n_train;
	int rc;

	if (!j)
		return NULL;
	j->p = p;
	j->languages = mem_alloc(n, sizeof(*j->languages), e);
	j->judges = j->languages ? mem_alloc(n, sizeof(struct corpus_judge *), e) : NULL;
	j->of_text = j->judges ? mem_alloc(n, sizeof(*j->of_text), e) : NULL;
	rc = j->of_text ? 0 : e->code;
	for (size_t i = 0; !rc && i < n; i++) {
		const struct pair_languages l =
			line_tag_languages(p->c, p->texts.pairs[i].source.tag);

		j->of_text[i] = find_judge(j, &l);
		if (j->of_text[i] == j->n)
			rc = add_judge(j, &l, e);
	}
	if (!rc)
		return j;
	prep_judge_free(j);
	return NULL;
}

void prep_judge_free(struct prep_judge *j)
{
	if (!j)
		return;
	for (size_t i = 0; i < j->n; i++)
		corpus_judge_free(j->judges[i]);
	free(j->languages);
	free(j->judges);
	free(j->of_text);
	free(j);
}

int prep_judge_pair(struct prep_judge *j, int64_t number, size_t text, int64_t line,
		    const struct token_column_line sides[2], struct err *e)
{
	struct judge_pair pair = { .text = (int32_t)text, .line = line };

	for (int i = 0; i < 2; i++)
		pair.sides[i] = (struct judge_side){ .hash = sides[i].hash,
						     .characters = sides[i].characters,
						     .letters = sides[i].letters,
						     .foreign = sides[i].foreign,
						     .words = sides[i].words,
						     .n = sides[i].n };
	return corpus_judge_add(j->judges[j->of_text[text]], number, &pair, e);
}

static int judge_held_out_pair(void *context, const struct parallel_reader *in, struct err *e)
{
	const struct prep_judge *j = context;
	size_t tag, i;
	const struct pair_languages l = line_tag_languages(
		j->p->c, line_tag_find(j->p->c, in->source.text, in->source.len, &tag));

	i = find_judge(j, &l);
	if (i < j->n &&
	    corpus_judge_add_set(j->judges[i], in->source.text + tag, in->source.len - tag,
				 in->target.text, in->target.len, e))
		return e->code;
	return j->n == 1 && in->number == JUDGE_SET_LINES;
}

int prep_judge_finish(struct prep_judge *j, struct err *e)
{
	struct prep *p = j->p;
	int rc = 0;

	for (int set = 1; !rc && set < p->texts.n_sets; set++) {
		if (!p->numbers.pairs[set])
			continue; /* a set that was left out has no files */
		for (size_t i = 0; i < j->n; i++)
			corpus_judge_begin_set(j->judges[i], p->texts.sets[set]);
		rc = parallel_each_pair(p->folder, p->texts.sets[set], p->c->source_language,
					p->c->target_language, judge_held_out_pair, j, e);
	}
	for (size_t i = 0; !rc && i < j->n; i++)
		rc = corpus_judge_run(j->judges[i], e);
	return rc;
}

int prep_judge_put_json(const struct prep_judge *j, struct json_writer *w, struct err *e)
{
	const struct prep *p = j->p;
	const char **names = mem_alloc(p->texts.n_train, sizeof(*names), e);

	if (!names)
		return e->code;
	for (size_t i = 0; i < p->texts.n_train; i++)
		names[i] = p->texts.pairs[i].name;
	corpus_judges_put_json(j->judges, j->n, w, names);
	free(names);
	return 0;
}

/*
 * A warning for each held-out set with many training pairs, with overlap = warn; with --strict the
 * first one is ERR_DATA.
 */
static int report_large_overlap(struct prep *p, const struct json *stats, struct err *e)
{
	const struct json *sets = json_get(stats, "held_out");

	for (size_t i = 0; p->c->overlap == OVERLAP_WARN && i < json_len(sets); i++) {
		const struct json *s = json_at(sets, i);
		const char *set = json_text(json_get(s, "set"), "");
		const int64_t found = json_integer(json_get(s, "in_train"), 0),
			      pairs = json_integer(json_get(s, "pairs"), 0);

		if ((double)found <= OVERLAP_SHARE * (double)pairs)
			continue;
		if (p->c->strict)
			return err_set(
				e, ERR_DATA,
				"%s: %s training pair%s equal%s one of the %s pairs of the %s set: "
				"give --overlap drop, or prepare without --strict",
				p->c->corpus, COUNT_TEXT(found), text_plural((double)found),
				found == 1 ? "s" : "", COUNT_TEXT(pairs), set);
		progress_print_line(
			&p->progress,
			"warning: %s training pair%s equal%s one of the %s pairs of the %s set: "
			"its score will be too high; --overlap drop removes them",
			COUNT_TEXT(found), text_plural((double)found), found == 1 ? "s" : "",
			COUNT_TEXT(pairs), set);
	}
	return 0;
}

int prep_report_verdicts(struct prep *p, struct json **stats, struct err *e)
{
	const char *path = prep_path(p, e, "stats.json");
	const struct json *verdicts;
	struct buf line = { 0 };

	if (!path || json_read_optional(stats, path, STATS_LIMIT, e))
		return e->code;
	verdicts = json_get(*stats, "verdicts");
	for (size_t i = 0; i < json_len(verdicts); i++) {
		buf_clear(&line);
		corpus_verdict_describe(json_at(verdicts, i), &line);
		progress_print_line(&p->progress, "warning: %s", buf_text(&line));
	}
	buf_free(&line);
	if (report_large_overlap(p, *stats, e))
		return e->code;
	if (p->c->strict && json_len(verdicts))
		return err_set(e, ERR_DATA,
			       "%s: %zu verdict%s against the corpus; the command data stats shows "
			       "%s with examples: cure what is wrong, or prepare without --strict",
			       p->c->corpus, json_len(verdicts),
			       text_plural((int64_t)json_len(verdicts)),
			       json_len(verdicts) == 1 ? "it" : "them");
	return 0;
}

void prep_put_manifest_verdicts(struct json_writer *w, const struct json *stats)
{
	static const char *const members[] = { "rule", "confidence", "set", "what", "cure" };
	const struct json *verdicts = json_get(stats, "verdicts");

	json_put_open(w, "verdicts", '[');
	for (size_t i = 0; i < json_len(verdicts); i++) {
		json_open(w, '{');
		for (size_t k = 0; k < ARRAY_LEN(members); k++)
			json_put_str(w, members[k],
				     json_text(json_get(json_at(verdicts, i), members[k]), ""));
		json_close(w, '}');
	}
	json_close(w, ']');
}
