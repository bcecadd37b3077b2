/* prep_ledger.c - stage "ledger": dropped pairs (ledger.tsv), statistics (stats.json) */
#include <assert.h>
#include <stdio.h>
#include <stdlib.h>

#include "data/prep/column_pair.h"
#include "data/prep/prep_stages.h"
#include "data/prep/prep_stats.h"
#include "data/prep/prep_verdicts.h"
#include "data/prep/word_ids.h"
#include "share/base/buf.h"
#include "share/base/file.h"
#include "share/base/mem.h"
#include "share/base/number_format.h"
#include "share/base/text.h"

struct ledger_stage {
	struct prep *p;
	struct drop_ledger *ledger; /* owned; NULL: finished */
	FILE *verdicts;		    /* owned: work/verdicts.final */
	struct word_ids ids[2];	    /* of each subword model */
	struct prep_stats stats;
	struct prep_judge *judge; /* owned */
	struct buf text[2];	  /* source and target of a dropped pair */
	int64_t n_pairs;	  /* pairs counted so far */
};

/* Join the words of a line by blanks, as many as the ledger shows. */
static void join_words(const struct intern *words, const struct token_column_line *line,
		       struct buf *out)
{
	const char *text;
	uint32_t i;
	size_t n;

	buf_clear(out);
	for (i = 0; i < line->n && out->len <= DROP_LEDGER_TEXT_BYTES; i++) {
		text = intern_text(words, line->words[i], &n);
		if (i)
			buf_add_char(out, ' ');
		buf_add(out, text, n);
	}
}

static int ledger_stage_drop(struct ledger_stage *s, size_t number, int64_t line,
			     enum clean_rule rule, const struct token_column_line sides[2],
			     struct err *e)
{
	struct dropped_pair l = { .file = s->p->texts.pairs[number].name,
				  .line = line,
				  .rule = rule };

	assert(rule != CLEAN_KEEP && number < s->p->texts.n_train);
	join_words(&s->p->words, &sides[0], &s->text[0]);
	join_words(&s->p->words, &sides[1], &s->text[1]);
	if (buf_check(&s->text[0], e) || buf_check(&s->text[1], e))
		return e->code;
	l.source = buf_text(&s->text[0]);
	l.n_source = s->text[0].len;
	l.target = buf_text(&s->text[1]);
	l.n_target = s->text[1].len;
	return drop_ledger_add(s->ledger, &l, e);
}

static int ledger_stage_pair(struct ledger_stage *s, size_t number, int64_t line,
			     const struct token_column_line sides[2], struct err *e)
{
	int rule = getc(s->verdicts);

	if (rule == EOF && ferror(s->verdicts))
		return err_set_errno(e, ERR_IO, "%s/verdicts.final: cannot be read", s->p->work);
	if (rule == EOF || rule >= CLEAN_N_RULES)
		return err_set(e, ERR_DATA,
			       "%s/verdicts.final: damaged: remove it and prepare the corpus again",
			       s->p->work);
	progress_at(&s->p->progress, ++s->n_pairs);
	prep_stats_add(&s->stats, &s->stats.texts[number], (enum clean_rule)rule, &sides[0],
		       &sides[1]);
	return rule ? ledger_stage_drop(s, number, line, (enum clean_rule)rule, sides, e)
		    : prep_judge_pair(s->judge, s->n_pairs - 1, number, line, sides, e);
}

static int ledger_stage_text(struct ledger_stage *s, size_t number, struct err *e)
{
	struct column_pair c = { 0 };
	struct token_column_line sides[2];
	int64_t line = 0;
	int rc = column_pair_open(&c, s->p->work, number, s->p->words.n, e);

	while (!rc && (rc = column_pair_next(&c, sides, e)) > 0)
		rc = ledger_stage_pair(s, number, ++line, sides, e);
	column_pair_close(&c);
	return rc;
}

static int ledger_stage_load_ids(struct ledger_stage *s, int side, struct err *e)
{
	struct prep *p = s->p;
	const struct prep_numbers *n = &p->numbers;
	const int64_t entries =
		side == 0 && n->source_vocabulary ? n->source_vocabulary : n->vocabulary;
	const char *path = prep_path(p, e, "work/%s", prep_ids_name(p, side));
	int rc = path ? word_ids_load(&s->ids[side], path, (int32_t)entries, e) : e->code;

	s->stats.ids[side] = s->stats.ids[1] = &s->ids[side];
	if (!rc && s->ids[side].n_words != p->words.n)
		rc = err_set(e, ERR_DATA,
			     "%s: has %d words, but the word table has %d: remove it and prepare "
			     "the corpus again",
			     path, (int)s->ids[side].n_words, (int)p->words.n);
	return rc;
}

static int ledger_stage_begin(struct ledger_stage *s, struct err *e)
{
	struct prep *p = s->p;
	const char *path;

	s->stats.texts = mem_alloc(p->texts.n_train, sizeof(*s->stats.texts), e);
	if (!s->stats.texts || !prep_words(p, e))
		return e->code;
	for (int side = 0; side < text_subword_models(p->c); side++)
		if (ledger_stage_load_ids(s, side, e))
			return e->code;
	s->judge = prep_judge_open(p, e);
	if (!s->judge)
		return e->code;
	path = prep_path(p, e, "work/verdicts.final");
	if (!path)
		return e->code;
	s->verdicts = file_open_stream(path, e);
	if (!s->verdicts)
		return e->code;
	path = prep_path(p, e, "ledger.tsv");
	s->ledger = path ? drop_ledger_create(path, e) : NULL;
	return s->ledger ? 0 : e->code;
}

static int ledger_stage_finish(struct ledger_stage *s, struct err *e)
{
	struct drop_ledger *l = s->ledger;
	int64_t dropped = s->p->numbers.read - s->p->numbers.pairs[0];

	s->ledger = NULL;
	if (drop_ledger_finish(l, e) || prep_judge_finish(s->judge, e) ||
	    prep_stats_write(s->p, &s->stats, s->judge, e))
		return e->code;
	progress_end(&s->p->progress, "%s pair%s dropped of %s", COUNT_TEXT(dropped),
		     text_plural(dropped), COUNT_TEXT(s->p->numbers.read));
	return 0;
}

int prep_write_ledger(struct prep *p, struct err *e)
{
	struct ledger_stage s = { .p = p };
	size_t i;
	int rc;

	progress_begin(&p->progress, "ledger", p->numbers.read, "pairs");
	rc = ledger_stage_begin(&s, e);
	for (i = 0; !rc && i < p->texts.n_train; i++)
		rc = ledger_stage_text(&s, i, e);
	if (!rc)
		rc = ledger_stage_finish(&s, e);
	drop_ledger_cancel(s.ledger);
	if (s.verdicts)
		fclose(s.verdicts);
	word_ids_free(&s.ids[0]);
	word_ids_free(&s.ids[1]);
	prep_judge_free(s.judge);
	buf_free(&s.text[0]);
	buf_free(&s.text[1]);
	free(s.stats.texts);
	return rc;
}
