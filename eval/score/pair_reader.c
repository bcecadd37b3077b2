/* pair_reader.c - see pair_reader.h */
#include "eval/score/pair_reader.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "share/base/mem.h"
#include "share/base/util.h"

#define MOSES_MARK " ||| "
#define MOST_LINES (1LL << 60)

static int check_score_arguments(const struct conf *c, struct err *e)
{
	const int most = c->n_best_list ? 1 : 2;

	if (c->n_arguments > most)
		return err_set(e, ERR_USAGE,
			       c->n_best_list ? "score --n-best-list reads one file of source lines"
					      : "score reads SOURCE and TARGET, or one file with a "
						"tab between both sides");
	if (c->rerank && !c->n_best_list)
		return err_set(e, ERR_USAGE, "--rerank needs --n-best-list FILE");
	if (c->rerank && (c->json || c->summary || c->word_scores))
		return err_set(e, ERR_USAGE,
			       "--rerank prints translations: it excludes --json, --summary and "
			       "--word-scores");
	if (c->n_best_list && !strcmp(c->n_best_list, "-") &&
	    (!c->n_arguments || !strcmp(c->arguments[0], "-")))
		return err_set(e, ERR_USAGE, "score cannot read 2 texts from standard input");
	return 0;
}

/* Read all source lines, which a list refers to by their numbers. */
static int read_list_sources(struct pair_reader *r, struct err *e)
{
	int got;

	while ((got = lines_next(&r->files.files[0], e)) > 0) {
		const struct lines *in = &r->files.files[0];

		if (mem_grow(&r->ends, &r->cap_ends, r->n_sources + 1, sizeof(*r->ends), e))
			return e->code;
		buf_add(&r->text, in->text, in->len);
		r->ends[r->n_sources++] = r->text.len;
	}
	return got ? got : buf_check(&r->text, e);
}

int pair_reader_open(struct pair_reader *r, const struct conf *c, struct err *e)
{
	const char *paths[2] = { c->n_arguments > 0 ? c->arguments[0] : "-",
				 c->n_arguments > 1 ? c->arguments[1] : NULL };

	memset(r, 0, sizeof(*r));
	if (check_score_arguments(c, e) ||
	    segment_reader_open_paths(&r->files, paths, 1, paths[1] ? 2 : 1, c, e))
		return e->code;
	for (size_t i = 0; i < r->files.n; i++)
		r->files.files[i].drops_mark = true;
	if (!c->n_best_list)
		return 0;
	r->list_name = c->n_best_list;
	if (read_list_sources(r, e) || lines_open(&r->list, r->list_name, e))
		return e->code;
	r->has_list = true;
	r->list.repair = c->repair;
	r->list.drops_mark = true;
	return 0;
}

void pair_reader_close(struct pair_reader *r)
{
	segment_reader_close(&r->files);
	if (r->has_list)
		lines_close(&r->list);
	buf_free(&r->text);
	free(r->ends);
	memset(r, 0, sizeof(*r));
}

/* The text of a candidate after its number; false: the line has another form. */
static bool find_candidate_text(const char *at, struct score_text *text, bool *counts_from_one)
{
	const char *end;

	*counts_from_one = *at == '\t';
	if (*counts_from_one) {
		char *after;

		at++;
		end = at + strcspn(at, "\t");
		/* with --scores a log-probability comes first */
		if (*end && end > at && strtod(at, &after) <= 0 && after == end)
			at = end + 1;
		end = at + strcspn(at, "\t");
	} else {
		at += strspn(at, " ");
		if (strncmp(at, "|||", 3) != 0)
			return false;
		at += 3;
		at += *at == ' ';
		end = strstr(at, MOSES_MARK);
		if (!end) /* without features, or with an empty text */
			end = strncmp(at, "|||", 3) || (at[3] && at[3] != ' ') ? at + strlen(at)
									       : at;
	}
	*text = (struct score_text){ at, (size_t)(end - at) };
	return true;
}

static int next_list_candidate(struct pair_reader *r, struct read_pair *p, struct err *e)
{
	const int got = lines_next(&r->list, e);
	char *after;
	long long number;
	bool from_one;
	size_t start;

	if (got <= 0)
		return got;
	number = MIN(strtoll(r->list.text, &after, 10), MOST_LINES);
	if (!isdigit((unsigned char)r->list.text[0]) ||
	    !find_candidate_text(after, &p->target, &from_one))
		return err_set(
			e, ERR_DATA,
			"%s, line %lld: expected \"NUMBER ||| TEXT ||| ...\", or a number, a "
			"tab and a text as translate --n-best prints them",
			r->list_name, (long long)r->list.number);
	if (r->list.number > 1 && from_one != r->counts_from_one)
		return err_set(e, ERR_DATA,
			       "%s, line %lld has another form than the lines before it",
			       r->list_name, (long long)r->list.number);
	r->counts_from_one = from_one;
	number += !from_one;
	if (number < 1 || number > (long long)r->n_sources)
		return err_set(
			e, ERR_DATA,
			"%s, line %lld: its number is that of a source line which is not there: "
			"there are %zu",
			r->list_name, (long long)r->list.number, r->n_sources);
	if (number < r->line)
		return err_set(
			e, ERR_DATA,
			"%s, line %lld: the number is below that of the line before it: sort "
			"the list by numbers",
			r->list_name, (long long)r->list.number);
	p->line = r->line = number;
	start = number > 1 ? r->ends[number - 2] : 0;
	p->source = (struct score_text){ buf_text(&r->text) + start, r->ends[number - 1] - start };
	return 1;
}

int pair_reader_next(struct pair_reader *r, struct read_pair *p, struct err *e)
{
	const char *tab;
	int got;

	if (r->list_name)
		return next_list_candidate(r, p, e);
	got = segment_reader_next(&r->files, e);
	if (got != 1)
		return got;
	p->line = r->files.files[0].number;
	p->source = r->files.texts[0];
	if (r->files.n == 2) {
		p->target = r->files.texts[1];
		return 1;
	}
	tab = memchr(p->source.text, '\t', p->source.n);
	if (!tab)
		return err_set(
			e, ERR_DATA,
			"%s, line %lld has no tab between source and target: give two files, "
			"or one with tabs",
			r->files.names[0], (long long)p->line);
	p->target.text = tab + 1;
	p->target.n = p->source.n - (size_t)(tab + 1 - p->source.text);
	p->source.n = (size_t)(tab - p->source.text);
	return 1;
}
