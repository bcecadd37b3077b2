/* pair_texts.c - the words of a few training pairs of a prepared corpus; see pair_texts.h. */
#include "data/inspect/pair_texts.h"

#include <stdlib.h>
#include <string.h>

#include "data/prep/column_pair.h"
#include "share/base/file.h"
#include "share/base/mem.h"
#include "share/base/util.h"

struct wanted_text {
	struct pair_place place;
	struct buf sides[2];
	bool is_read;
};

struct pair_texts {
	char *folder;			 /* owned */
	struct word_table_reader *table; /* owned; NULL: all words are loaded */
	struct intern words;
	struct wanted_text wanted[PAIR_TEXTS_MAX]; /* sorted by place */
	size_t n, at;
	struct column_pair sides; /* of the text of wanted[at], or closed */
	uint32_t text;
	int64_t line; /* of the open text, read last */
};

struct pair_texts *pair_texts_open(const char *folder, struct err *e)
{
	char *path = file_path(e, "%s/work/words", folder);
	struct pair_texts *t = path ? mem_alloc(1, sizeof(*t), e) : NULL;
	int rc = t ? 0 : e->code;

	if (t && file_size(path) > PAIR_WORDS_LIMIT)
		rc = err_set(e, ERR_DATA, "%s: too large to show texts (%lld bytes, at most %lld)",
			     path, (long long)file_size(path), (long long)PAIR_WORDS_LIMIT);
	if (!rc && (!(t->folder = mem_strdup(folder, e)) || !(t->table = word_table_open(path, e))))
		rc = e->code;
	free(path);
	if (!rc)
		return t;
	pair_texts_free(t);
	return NULL;
}

void pair_texts_free(struct pair_texts *t)
{
	if (!t)
		return;
	column_pair_close(&t->sides);
	word_table_close(t->table);
	intern_free(&t->words);
	for (size_t i = 0; i < PAIR_TEXTS_MAX; i++)
		for (int side = 0; side < 2; side++)
			buf_free(&t->wanted[i].sides[side]);
	free(t->folder);
	free(t);
}

static int compare_places(const struct pair_place *a, const struct pair_place *b)
{
	if (a->text != b->text)
		return a->text < b->text ? -1 : 1;
	return (a->line > b->line) - (a->line < b->line);
}

static int compare_wanted_texts(const void *a, const void *b)
{
	return compare_places(&((const struct wanted_text *)a)->place,
			      &((const struct wanted_text *)b)->place);
}

int pair_texts_want(struct pair_texts *t, const struct pair_place *places, size_t n, struct err *e)
{
	if (n > PAIR_TEXTS_MAX)
		return err_set(e, ERR_INTERNAL, "%zu texts wanted, at most %d", n, PAIR_TEXTS_MAX);
	column_pair_close(&t->sides);
	for (size_t i = 0; i < n; i++) {
		t->wanted[i].place = places[i];
		t->wanted[i].is_read = false;
		buf_clear(&t->wanted[i].sides[0]);
		buf_clear(&t->wanted[i].sides[1]);
	}
	qsort(t->wanted, n, sizeof(t->wanted[0]), compare_wanted_texts);
	t->n = n;
	t->at = 0;
	return 0;
}

static int pair_texts_open_text(struct pair_texts *t, struct err *e)
{
	char *work = file_path(e, "%s/work", t->folder);
	int rc;

	t->text = t->wanted[t->at].place.text;
	t->line = 0;
	rc = work ? column_pair_open(&t->sides, work, t->text, t->words.n, e) : e->code;
	free(work);
	return rc;
}

static int pair_texts_keep(struct pair_texts *t, const struct token_column_line lines[2],
			   struct err *e)
{
	struct wanted_text *w = &t->wanted[t->at];

	for (int i = 0; i < 2; i++) {
		size_t n;

		for (uint32_t k = 0; k < lines[i].n && w->sides[i].len <= DROP_LEDGER_TEXT_BYTES;
		     k++) {
			const char *word = intern_text(&t->words, lines[i].words[k], &n);

			if (k)
				buf_add_char(&w->sides[i], ' ');
			buf_add(&w->sides[i], word, n);
		}
		if (buf_check(&w->sides[i], e))
			return e->code;
	}
	w->is_read = true;
	t->at++;
	return 0;
}

/* The next pair of the open text. A wanted line beyond its end is skipped. */
static int pair_texts_next(struct pair_texts *t, struct err *e)
{
	struct token_column_line lines[2];
	int got = column_pair_next(&t->sides, lines, e);

	if (got < 0)
		return e->code;
	t->line++;
	if (!got) {
		while (t->at < t->n && t->wanted[t->at].place.text == t->text)
			t->at++;
		return 0;
	}
	while (t->at < t->n && t->wanted[t->at].place.text == t->text &&
	       t->wanted[t->at].place.line <= t->line)
		if (t->wanted[t->at].place.line < t->line)
			t->at++;
		else if (pair_texts_keep(t, lines, e))
			return e->code;
	return 0;
}

int pair_texts_read(struct pair_texts *t, int64_t n, struct err *e)
{
	if (t->table) {
		int got = word_table_read(t->table, &t->words, (uint64_t)MAX(n, 1), e);

		if (got)
			return got;
		word_table_close(t->table);
		t->table = NULL;
		return t->n > 0;
	}
	for (; n > 0 && t->at < t->n; n--) {
		if (t->sides.sides[0] && t->text != t->wanted[t->at].place.text)
			column_pair_close(&t->sides);
		if ((!t->sides.sides[0] && pair_texts_open_text(t, e)) || pair_texts_next(t, e))
			return e->code;
	}
	return t->at < t->n;
}

const char *pair_texts_get(const struct pair_texts *t, struct pair_place place, int side)
{
	for (size_t i = 0; i < t->n; i++)
		if (t->wanted[i].is_read && !compare_places(&t->wanted[i].place, &place))
			return buf_text(&t->wanted[i].sides[side]);
	return NULL;
}
