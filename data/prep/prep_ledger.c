/* prep_ledger.c - stage "ledger": dropped pairs (ledger.tsv), statistics (stats.json) */
#include <assert.h>
#include <stdio.h>
#include <stdlib.h>

#include "data/prep/prep_stages.h"
#include "data/prep/prep_stats.h"
#include "data/prep/token_column.h"
#include "data/prep/word_ids.h"
#include "share/base/buf.h"
#include "share/base/file.h"
#include "share/base/mem.h"

struct ledger_stage {
	struct prep *p;
	struct drop_ledger *ledger; /* owned; NULL: finished */
	FILE *verdicts;		    /* owned: work/verdicts.final */
	struct word_ids ids;
	struct prep_stats stats;
	struct buf text[2]; /* source and target of a dropped pair */
	int64_t n_pairs;    /* pairs counted so far */
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

static int ledger_stage_drop(struct ledger_stage *a, size_t number, int64_t line,
			     enum clean_rule rule, const struct token_column_line sides[2],
			     struct err *e)
{
	struct dropped_pair l = { .file = a->p->texts.pairs[number].name,
				  .line = line,
				  .rule = rule };

	assert(rule != CLEAN_KEEP && number < a->p->texts.n_train);
	join_words(&a->p->words, &sides[0], &a->text[0]);
	join_words(&a->p->words, &sides[1], &a->text[1]);
	if (buf_check(&a->text[0], e) || buf_check(&a->text[1], e))
		return e->code;
	l.source = buf_text(&a->text[0]);
	l.n_source = a->text[0].len;
	l.target = buf_text(&a->text[1]);
	l.n_target = a->text[1].len;
	return drop_ledger_add(a->ledger, &l, e);
}

static int ledger_stage_pair(struct ledger_stage *a, size_t number, int64_t line,
			     const struct token_column_line sides[2], struct err *e)
{
	int rule = getc(a->verdicts);

	if (rule == EOF || rule >= CLEAN_N_RULES)
		return err_set(e, ERR_DATA,
			       "%s/verdicts.final: damaged: remove it and prepare the corpus again",
			       a->p->work);
	progress_at(&a->p->progress, ++a->n_pairs);
	prep_stats_add(&a->stats, &a->stats.texts[number], &a->ids, (enum clean_rule)rule,
		       &sides[0], &sides[1]);
	return rule ? ledger_stage_drop(a, number, line, (enum clean_rule)rule, sides, e) : 0;
}

static int ledger_stage_readers(struct ledger_stage *a, size_t number,
				struct token_column_reader *source,
				struct token_column_reader *target, struct err *e)
{
	struct token_column_line sides[2];
	int64_t line = 0;
	int got;

	while ((got = token_column_next(source, &sides[0], e)) > 0) {
		got = token_column_next(target, &sides[1], e);
		if (got == 1)
			got = ledger_stage_pair(a, number, ++line, sides, e);
		if (got < 0)
			break;
	}
	return got;
}

static int ledger_stage_text(struct ledger_stage *a, size_t number, struct err *e)
{
	struct prep *p = a->p;
	const char *path = prep_path(p, e, "work/side-%zu.source", number);
	struct token_column_reader *source = path ? token_column_open(path, p->words.n, e) : NULL,
				   *target = NULL;
	int rc;

	path = source ? prep_path(p, e, "work/side-%zu.target", number) : NULL;
	if (path)
		target = token_column_open(path, p->words.n, e);
	rc = target ? ledger_stage_readers(a, number, source, target, e) : e->code;
	token_column_close(source);
	token_column_close(target);
	return rc;
}

static int ledger_stage_load_ids(struct ledger_stage *a, struct err *e)
{
	struct prep *p = a->p;
	const char *path = prep_path(p, e, "work/ids");
	int rc = path ? word_ids_load(&a->ids, path, (int32_t)p->numbers.vocabulary, e) : e->code;

	if (!rc && a->ids.n_words != p->words.n)
		rc = err_set(e, ERR_DATA,
			     "%s: has %d words, but the word table has %d: remove it and prepare "
			     "the corpus again",
			     path, (int)a->ids.n_words, (int)p->words.n);
	return rc;
}

static int ledger_stage_begin(struct ledger_stage *a, struct err *e)
{
	struct prep *p = a->p;
	const char *path;

	a->stats.texts = mem_alloc(p->texts.n_train, sizeof(*a->stats.texts), e);
	if (!a->stats.texts || !prep_words(p, e) || ledger_stage_load_ids(a, e))
		return e->code;
	path = prep_path(p, e, "work/verdicts.final");
	if (!path)
		return e->code;
	a->verdicts = fopen(path, "rbe");
	if (!a->verdicts)
		return err_set_errno(e, ERR_NOINPUT, "%s: cannot be read", path);
	path = prep_path(p, e, "ledger.tsv");
	a->ledger = path ? drop_ledger_create(path, e) : NULL;
	return a->ledger ? 0 : e->code;
}

static int ledger_stage_finish(struct ledger_stage *a, struct err *e)
{
	struct drop_ledger *l = a->ledger;
	int64_t dropped = a->p->numbers.read - a->p->numbers.pairs[0];

	a->ledger = NULL;
	if (drop_ledger_finish(l, e) || prep_stats_write(a->p, &a->stats, e))
		return e->code;
	progress_end(&a->p->progress, "%lld pairs dropped of %lld", (long long)dropped,
		     (long long)a->p->numbers.read);
	return 0;
}

int prep_write_ledger(struct prep *p, struct err *e)
{
	struct ledger_stage a = { .p = p };
	size_t i;
	int rc;

	progress_begin(&p->progress, "ledger", p->numbers.read, "pairs");
	rc = ledger_stage_begin(&a, e);
	for (i = 0; !rc && i < p->texts.n_train; i++)
		rc = ledger_stage_text(&a, i, e);
	if (!rc)
		rc = ledger_stage_finish(&a, e);
	drop_ledger_cancel(a.ledger);
	if (a.verdicts)
		fclose(a.verdicts);
	word_ids_free(&a.ids);
	buf_free(&a.text[0]);
	buf_free(&a.text[1]);
	free(a.stats.texts);
	return rc;
}
