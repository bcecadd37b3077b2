/* palette_line.c - command lines in the palette: their words and completion; see palette.h. */
#include "tui/overlay/palette.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "share/base/mem.h"
#include "share/base/util.h"
#include "share/help/help.h"
#include "tui/context/completion_names.h"
#include "tui/context/jobs.h"
#include "tui/term/fuzzy.h"

#define SCORE_PREFIX                                                                               \
	(1000 * FUZZY_LETTER) /* a word that begins as typed comes before one that only fits */

/* Append the word at *at to out, without quotes, and advance *at after it. */
static int read_word(const char **at, struct buf *out, struct err *e)
{
	char quote = 0;
	const char *p = *at;

	for (; *p && (quote || *p != ' '); p++) {
		if (quote ? *p == quote : *p == '\'' || *p == '"')
			quote = quote ? 0 : *p;
		else if (*p == '\\' && quote != '\'' && p[1])
			buf_add_char(out, *++p);
		else
			buf_add_char(out, *p);
	}
	*at = p;
	if (quote)
		return err_set(e, ERR_USAGE, "the quote %c is not closed", quote);
	return buf_check(out, e);
}

char **palette_words(const char *line, struct err *e)
{
	char **words = mem_alloc(PALETTE_WORDS + 1, sizeof(*words), e);
	struct buf word = { 0 };
	size_t n = 0;

	while (words && *(line += strspn(line, " "))) {
		buf_clear(&word);
		if (n == PALETTE_WORDS) {
			err_set(e, ERR_USAGE, "the line has more than %d words", PALETTE_WORDS);
			goto fail;
		}
		if (read_word(&line, &word, e) || !(words[n] = mem_strdup(buf_text(&word), e)))
			goto fail;
		n++;
	}
	buf_free(&word);
	if (words && (!n || !conf_find_program(words[0]))) {
		conf_unknown_command(n ? words[0] : "", e);
		goto fail;
	}
	return words;
fail:
	buf_free(&word);
	jobs_free_words(words);
	return NULL;
}

/* ---- completion ---- */

static int add_word_row(struct palette *p, const char *word, const char *help, const char *typed,
			int bonus, struct err *e)
{
	bool is_prefix = !strncmp(word, typed, strlen(typed));
	uint64_t marks = 0;
	int score = fuzzy_score(word, typed, &marks);
	struct palette_row *to;

	if ((*typed && !score) || strlen(word) >= PALETTE_NAME)
		return 0;
	if (mem_grow(&p->rows, &p->cap_rows, p->n_rows + 1, sizeof(*p->rows), e))
		return e->code;
	to = &p->rows[p->n_rows];
	*to = (struct palette_row){ .kind = PALETTE_WORD, .help = help };
	snprintf(to->name, sizeof(to->name), "%s", word);
	/* of a prefix its own letters are marked; without typed letters the order stays */
	to->marks = is_prefix && *typed
			    ? ((uint64_t)1 << MIN(strlen(typed), (size_t)FUZZY_BYTES - 1)) - 1
			    : marks;
	to->score = bonus + (*typed ? score + SCORE_PREFIX * is_prefix : -(int)p->n_rows);
	p->n_rows++;
	return 0;
}

static int add_named_rows(struct palette *p, const struct app_context *w, const char *kind,
			  const char *typed, struct err *e)
{
	struct workspace_names l;
	struct err ignored;
	int rc = 0;

	if (completion_names_list(&l, w->workspace, kind, &ignored))
		return 0; /* a folder that cannot be read has no names to offer */
	for (size_t i = 0; i < l.n && !rc; i++) {
		/* the chosen run and corpus come first */
		bool is_chosen = !strcmp(kind, "runs") ? w->run && !strcmp(w->run, l.items[i])
						       : !strcmp(w->corpus, l.items[i]);

		rc = add_word_row(p, l.items[i], "", typed, is_chosen ? 2 * SCORE_PREFIX : 0, e);
	}
	workspace_names_free(&l);
	return rc;
}

static int compare_words(const void *left, const void *right)
{
	const struct palette_row *a = left, *b = right;

	return a->score != b->score ? (a->score > b->score ? -1 : 1) : strcmp(a->name, b->name);
}

/* Add rows for the typed word; asked is the word that conf_complete_word() is asked about. */
static int add_candidate_rows(struct palette *p, const struct app_context *w, char **words,
			      size_t n, const char *typed, const char *asked, bool *is_value,
			      struct err *e)
{
	struct conf_candidates c = { 0 };
	int rc = conf_complete_word((const char *const *)words, n, asked, &c, e);

	*is_value = c.is_value;
	for (size_t i = 0; i < c.n && !rc; i++)
		rc = add_word_row(p, c.items[i].word, c.items[i].help, typed, 0, e);
	if (!rc && c.names)
		rc = add_named_rows(p, w, c.names, typed, e);
	conf_candidates_free(&c);
	return rc;
}

/* A tab may have the name of the command: "hosts met" may mean its action hosts-metric. */
static int add_action_rows(struct palette *p, const char *typed, struct err *e)
{
	for (size_t i = 0; *typed && i < p->n_items; i++) {
		struct palette_row *to, *item = &p->items[i];
		uint64_t marks = 0;
		int score = fuzzy_score(item->name, typed, &marks);

		if (item->kind != PALETTE_ACTION || !score ||
		    strcmp(action_infos[item->action].group, p->command.name))
			continue;
		if (mem_grow(&p->rows, &p->cap_rows, p->n_rows + 1, sizeof(*p->rows), e))
			return e->code;
		to = &p->rows[p->n_rows++];
		*to = *item;
		to->marks = marks;
		to->score = score - SCORE_PREFIX;
	}
	return 0;
}

int palette_add_words(struct palette *p, const struct app_context *w, struct err *e)
{
	const char *line = edit_text(&p->line), *typed = line + p->word_at;
	char *before = mem_strdup(line, e), *words[PALETTE_WORDS] = { 0 }, *rest, *word;
	bool is_value = false;
	size_t n = 0;
	int rc;

	if (!before)
		return e->code;
	before[p->word_at] = 0;
	for (word = strtok_r(before, " ", &rest); word && n < PALETTE_WORDS;
	     word = strtok_r(NULL, " ", &rest))
		words[n++] = word;
	rc = add_candidate_rows(p, w, words, n, typed, typed, &is_value, e);
	/* where no argument is expected, show the options */
	if (!rc && !p->n_rows && !*typed && !is_value)
		rc = add_candidate_rows(p, w, words, n, typed, "-", &is_value, e);
	if (!rc)
		rc = add_action_rows(p, typed, e);
	qsort(p->rows, p->n_rows, sizeof(*p->rows), compare_words);
	free(before);
	return rc;
}

int palette_complete(struct palette *p, const struct palette_row *row, struct err *e)
{
	struct buf line = { 0 };
	int rc;

	assert(row->kind == PALETTE_WORD || row->kind == PALETTE_COMMAND ||
	       row->kind == PALETTE_LINE);
	if (row->kind == PALETTE_WORD)
		buf_add(&line, edit_text(&p->line), p->word_at);
	buf_printf(&line, "%s ", row->name);
	rc = buf_check(&line, e);
	if (!rc)
		rc = edit_set(&p->line, buf_text(&line), e);
	buf_free(&line);
	return rc;
}
