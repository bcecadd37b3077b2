/*
 * translate_console_words.c - draws translations as text and as tokens; see
 * translate_console_words.h.
 *
 * Text and tokens differ: tokens are subword pieces with join marks (@@, U+2581), text is
 * detokenised. struct shader walks through both at once, so that each word of the text gets
 * the shade of its least certain piece.
 *
 * Alignment: source and target tokens are laid out as two wrapped blocks (struct token_flow).
 * Below each target token stand its probability and the number of the source token with the
 * largest attention. For the token at the cursor, the source token is highlighted. A line
 * joins both if the source token is in the last row of its block and the target token in the
 * first row of its block, so that the line crosses no other token.
 */
#include "tui/translate/translate_console_words.h"

#include <assert.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "share/base/text.h"
#include "share/base/util.h"
#include "tui/run/word_diff.h"
#include "tui/term/draw.h"

#define MAX_TOKENS CONSOLE_SPOTS

enum style token_shade(double log_prob, char *sign)
{
	double p = exp(log_prob);

	*sign = isnan(p) || p >= 0.8 ? 0 : p >= 0.5 ? '~' : p >= 0.2 ? '?' : '!';
	switch (*sign) {
	case '~':
		return STYLE_SURE_3;
	case '?':
		return STYLE_SURE_1;
	case '!':
		return STYLE_SURE_0;
	default:
		return STYLE_SURE_4;
	}
}

/* ---- running text ---- */

struct word {
	const char *start;
	size_t n;
};

/* The next word of text from *at; false at the end. */
static bool next_text_word(const char **at, struct word *w)
{
	*at += strspn(*at, " ");
	w->start = *at;
	w->n = strcspn(*at, " ");
	*at += w->n;
	return w->n > 0;
}

/* Which words of a text another text lacks. */
struct text_changes {
	struct word_part parts[WORD_DIFF_MAX];
	size_t n;
};

/* other NULL: no word is marked. */
static void find_text_changes(struct text_changes *c, const char *text, const char *other)
{
	c->n = other ? word_diff(text, other, c->parts) : 0;
}

/* Whether word number i (from 0) is marked; the last part stands for all further words. */
static bool is_changed_word(const struct text_changes *c, size_t i)
{
	return c->n && c->parts[MIN(i, c->n - 1)].differs;
}

/* The part of a token that appears in the text: without join marks. */
static struct word strip_join_marks(const char *token)
{
	struct word w = { token, strlen(token) };

	if (text_starts_with(token, "\xE2\x96\x81"))
		w = (struct word){ token + 3, w.n - 3 };
	else if (w.n > 2 && text_ends_with(token, "@@"))
		w.n -= 2;
	return w;
}

/* Position in the tokens of a translation while the words of its text are drawn. */
struct shader {
	const struct service_translation *t;
	size_t token;
};

/* The style of a word: the shade of its least certain token. */
static enum style shade_word(struct shader *s, struct word w)
{
	double least = NAN;
	char sign;

	while (w.n && s->token < s->t->n) {
		struct word piece = strip_join_marks(s->t->tokens[s->token]);
		/* A token that is escaped or joined differently in the text ends with the word. */
		size_t n = MIN(piece.n, w.n);

		least = isnan(least) ? s->t->log_probs[s->token]
				     : MIN(least, s->t->log_probs[s->token]);
		w.start += n;
		w.n -= n;
		s->token++;
	}
	return token_shade(least, &sign);
}

/* A drawing position that moves through the rows of a rectangle. */
struct pen {
	struct grid *to; /* NULL: only count rows */
	struct rect r;
	int row, col;
};

static void put_part(const struct pen *p, enum style style, const char *text, size_t n)
{
	if (p->to && p->row < p->r.rows)
		grid_text_part(p->to,
			       (struct span){ p->r.row + p->row, p->r.col + p->col,
					      p->r.cols - p->col, style },
			       text, n, 0);
}

static void put_word(const struct grid *g, struct pen *p, struct word w, enum style style)
{
	int columns = grid_part_width(g, w.start, w.n), blank = p->col > 0;

	if (p->col + blank + columns > p->r.cols && p->col > 0) {
		p->row++;
		p->col = blank = 0;
	}
	p->col += blank;
	/* A word wider than the row continues in the next rows. */
	while (columns > p->r.cols && p->r.cols > 0) {
		size_t fit = grid_part_fit(g, w.start, w.n, p->r.cols, NULL);

		if (!fit || fit >= w.n)
			break;
		put_part(p, style, w.start, fit);
		w.start += fit;
		w.n -= fit;
		columns = grid_part_width(g, w.start, w.n);
		p->row++;
	}
	put_part(p, style, w.start, w.n);
	p->col += columns;
}

int console_text_rows(const struct grid *g, int cols, const char *text)
{
	struct pen pen = { .r = { .cols = cols } };
	struct word w;

	while (cols > 0 && next_text_word(&text, &w))
		put_word(g, &pen, w, STYLE_NORMAL);
	return pen.row + 1;
}

/* The words that changes marks are marked; shader NULL: the others have the style. Returns the rows. */
static int draw_word_rows(struct grid *g, struct rect r, const char *text, struct shader *shader,
			  enum style style, const struct text_changes *changes)
{
	struct pen pen = { .to = g, .r = r };
	struct word w;

	for (size_t i = 0; r.cols > 0 && next_text_word(&text, &w); i++) {
		if (shader)
			style = shade_word(shader, w);
		put_word(g, &pen, w, is_changed_word(changes, i) ? STYLE_ADDED : style);
	}
	return pen.row + 1;
}

int console_draw_shaded(struct grid *g, struct rect r, const char *text,
			const struct service_translation *t, size_t first, enum style style)
{
	struct shader shader = { .t = t, .token = first };

	return draw_word_rows(g, r, text, t ? &shader : NULL, style,
			      &(struct text_changes){ .n = 0 });
}

void console_draw_text(struct grid *g, struct rect r, const struct service_translation *t,
		       const struct service_translation *other)
{
	struct shader shader = { .t = t };
	struct text_changes changes;
	int rows;

	find_text_changes(&changes, t->text, other ? other->text : NULL);
	rows = draw_word_rows(g, r, t->text, &shader, STYLE_NORMAL, &changes);
	draw_hidden_rows(g, layout_around(r), 0, rows - r.rows);
}

int console_other_words(const struct service_translation *t,
			const struct service_translation *other)
{
	struct text_changes changes;
	int n = 0;

	find_text_changes(&changes, t->text, other->text);
	for (size_t i = 0; i < changes.n; i++)
		n += changes.parts[i].differs;
	return n;
}

/* Columns of the words before the first change, with a blank after them; 0: nothing changed. */
static int columns_before_change(const struct grid *g, const char *text,
				 const struct text_changes *changes)
{
	size_t i = 0;

	while (i < changes->n && !changes->parts[i].differs)
		i++;
	return i < changes->n ? grid_part_width(g, text, changes->parts[i].at) : 0;
}

/*
 * The number of words that are scrolled out so that the first change begins in the left third of a
 * line that is too narrow for the text.
 */
static size_t words_scrolled_out(const struct grid *g, int width, const char *text,
				 const struct text_changes *changes)
{
	int before = columns_before_change(g, text, changes), gone = 0;
	const char *at = text;
	struct word w;
	size_t n = 0;

	if (grid_text_width(g, text) <= width)
		return 0;
	while (before - gone > width / 3 && next_text_word(&at, &w)) {
		gone = grid_part_width(g, text, (size_t)(at - text));
		n++;
	}
	return n;
}

void console_draw_line(struct grid *g, struct span at, const char *text, const char *other)
{
	struct text_changes changes;
	struct word w;
	size_t skip;
	int col = 0;

	find_text_changes(&changes, text, other);
	skip = words_scrolled_out(g, at.width, text, &changes);
	if (skip && at.width > 0) {
		grid_put(g, at.row, at.col, STYLE_DIM, 0x2026);
		col = 1;
	}
	for (size_t i = 0; next_text_word(&text, &w); i++) {
		int columns = grid_part_width(g, w.start, w.n), blank = col > 0;
		struct span here = at;

		if (i < skip)
			continue;
		if (col + blank + columns > at.width - (*text != 0)) {
			grid_put(g, at.row, at.col + MIN(col + blank, at.width - 1), STYLE_DIM,
				 0x2026);
			return;
		}
		if (blank)
			grid_put(g, at.row, at.col + col, at.style, ' ');
		here.col += col + blank;
		here.width = columns;
		if (at.style == STYLE_NORMAL && is_changed_word(&changes, i))
			here.style = STYLE_ADDED;
		grid_text_part(g, here, w.start, w.n, 0);
		col += blank + columns;
	}
}

/* ---- tokens ---- */

/* Positions of tokens, wrapped into rows of a given width. */
struct token_flow {
	int line[MAX_TOKENS], col[MAX_TOKENS], width[MAX_TOKENS], n, lines;
};

static void token_flow(struct token_flow *f, const struct grid *g, const char *const *tokens,
		       size_t n, int least, int cols)
{
	int line = 0, col = 0;

	assert(least > 0);
	f->n = (int)MIN(n, (size_t)MAX_TOKENS);
	for (int i = 0; i < f->n; i++) {
		int shown = MIN(grid_text_width(g, tokens[i]), MAX(cols, 1)),
		    width = MAX(shown, least);

		if (col > 0 && col + width > cols) {
			line++;
			col = 0;
		}
		f->line[i] = line;
		f->col[i] = col;
		f->width[i] = shown;
		col += width + 1;
	}
	f->lines = f->n ? line + 1 : 0;
}

#define SOURCE_ROWS	2 /* rows per line of source tokens: token, number */
#define TARGET_ROWS	3 /* rows per line of target tokens: token, probability, number */
#define MIN_SOURCE_COLS 2
#define MIN_TARGET_COLS 4

int console_words_rows(const struct grid *g, const struct service_answer *a,
		       const struct service_translation *t, const struct service_part *part,
		       int cols)
{
	struct token_flow f;
	int rows = 1;

	token_flow(&f, g, a->source + part->first_source, part->n_source, MIN_SOURCE_COLS, cols);
	rows += SOURCE_ROWS * f.lines;
	token_flow(&f, g, t->tokens + part->first, part->n, MIN_TARGET_COLS, cols);
	return rows + TARGET_ROWS * f.lines;
}

/* The screen row of a row of the content, scrolled by top; -1: not visible. */
static int visible_row(struct rect r, int top, int row)
{
	return row >= top && row - top < r.rows ? r.row + row - top : -1;
}

static void draw_sources(struct grid *g, struct rect r, int top, const char *const *sources,
			 const struct token_flow *f, int aligned_source)
{
	for (int i = 0; i < f->n; i++) {
		int row = visible_row(r, top, SOURCE_ROWS * f->line[i]),
		    below = visible_row(r, top, SOURCE_ROWS * f->line[i] + 1);
		char number[16];

		if (row >= 0)
			grid_text(g, row, r.col + f->col[i], f->width[i],
				  i == aligned_source ? STYLE_CURSOR : STYLE_NORMAL, sources[i]);
		snprintf(number, sizeof(number), "%d", i + 1);
		if (below >= 0)
			grid_text(g, below, r.col + f->col[i], r.cols - f->col[i],
				  i == aligned_source ? STYLE_BRIGHT : STYLE_DIM, number);
	}
}

static void draw_probability(struct grid *g, int row, int col, double log_prob)
{
	char sign, text[16];
	enum style style = token_shade(log_prob, &sign);

	if (isnan(log_prob))
		snprintf(text, sizeof(text), "-");
	else
		snprintf(text, sizeof(text), "%.0f%c", 100 * exp(log_prob), sign);
	grid_text(g, row, col, MIN_TARGET_COLS, style == STYLE_SURE_4 ? STYLE_DIM : style, text);
}

/* The source token of a token of the part, in the part; -1: none. */
static int aligned_in_part(const struct service_translation *t, const struct service_part *part,
			   int token)
{
	const int aligned = t->aligned[part->first + (size_t)token] - (int)part->first_source;

	return aligned >= 0 && aligned < (int)part->n_source ? aligned : -1;
}

/* token: the cursor, in the part. */
static void draw_targets(struct grid *g, struct rect r, int top, int first,
			 const struct service_translation *t, const struct token_flow *f,
			 const struct console_words *how, int token)
{
	const char *const *tokens = t->tokens + how->part->first;
	const double *log_probs = t->log_probs + how->part->first;
	/* a number that is cut would be a wrong one */
	const bool has_numbers = r.cols >= MIN_TARGET_COLS;

	for (int i = 0; i < f->n; i++) {
		int base = first + TARGET_ROWS * f->line[i], col = r.col + f->col[i],
		    row = visible_row(r, top, base), below = visible_row(r, top, base + 1),
		    under = visible_row(r, top, base + 2);
		enum style style;
		char number[16], sign;

		style = token_shade(log_probs[i], &sign);
		if (i == token && how->focused)
			style = STYLE_CURSOR;
		else if (i == token)
			style = STYLE_FOCUS;
		if (row >= 0)
			grid_text(g, row, col, f->width[i], style, tokens[i]);
		if (has_numbers && below >= 0)
			draw_probability(g, below, col, log_probs[i]);
		if (aligned_in_part(t, how->part, i) >= 0)
			snprintf(number, sizeof(number), "%d",
				 aligned_in_part(t, how->part, i) + 1);
		else
			snprintf(number, sizeof(number), "-");
		if (has_numbers && under >= 0)
			grid_text(g, under, col, MIN_TARGET_COLS,
				  i == token ? STYLE_BRIGHT : STYLE_DIM, number);
		if (how->screen && i < CONSOLE_SPOTS)
			how->screen->spots[i] =
				row < 0 ? (struct rect){ 0 }
					: (struct rect){ row, col, TARGET_ROWS, f->width[i] };
	}
	if (how->screen) {
		how->screen->n_spots = f->n;
		how->screen->first_spot = (int)how->part->first;
	}
}

/* Draw the cursor after the last token if it is there. */
static void draw_end(struct grid *g, struct rect r, int top, int first, const struct token_flow *f,
		     const struct console_words *how, int token)
{
	int last = f->n - 1, row, col;

	if (token != f->n || last < 0)
		return;
	row = visible_row(r, top, first + TARGET_ROWS * f->line[last]);
	col = MIN(f->col[last] + MAX(f->width[last], MIN_TARGET_COLS) + 1, r.cols - 1);
	if (row >= 0)
		grid_put(g, row, r.col + col, how->focused ? STYLE_CURSOR : STYLE_FOCUS, 0x25A0);
}

/* Draw a line from the source token above to the target token below. */
static void draw_link(struct grid *g, int row, int from, int to)
{
	if (from == to) {
		grid_put(g, row, from, STYLE_FOCUS, 0x2502);
		return;
	}
	for (int col = MIN(from, to) + 1; col < MAX(from, to); col++)
		grid_put(g, row, col, STYLE_FOCUS, 0x2500);
	grid_put(g, row, from, STYLE_FOCUS, from < to ? 0x2570 : 0x256F);
	grid_put(g, row, to, STYLE_FOCUS, from < to ? 0x256E : 0x256D);
}

void console_draw_words(struct grid *g, struct rect r, const struct service_answer *a,
			const struct service_translation *t, const struct console_words *how)
{
	const struct service_part *part = how->part;
	const char *const *sources = a->source + part->first_source;
	const int token = how->token < 0 ? -1 : how->token - (int)part->first;
	struct token_flow source, target;
	int aligned_source = -1, first, all, top = 0, at;

	if (r.rows < 1 || r.cols < 1)
		return;
	token_flow(&source, g, sources, part->n_source, MIN_SOURCE_COLS, r.cols);
	token_flow(&target, g, t->tokens + part->first, part->n, MIN_TARGET_COLS, r.cols);
	assert(token <= (int)part->n); /* the cursor is on a token or after the last */
	first = SOURCE_ROWS * source.lines + 1;
	all = first + TARGET_ROWS * target.lines;
	if (token >= 0 && token < target.n)
		aligned_source = aligned_in_part(t, part, token);
	/* Scroll so that the row of the cursor is visible. */
	if (all > r.rows && target.n) {
		at = first + TARGET_ROWS * target.line[MAX(MIN(token, target.n - 1), 0)];
		top = MAX(MIN(at + TARGET_ROWS, all) - r.rows, 0);
		top = MIN(top, at); /* of a token, its text matters most */
	}
	draw_hidden_rows(g, layout_around(r), top, all - r.rows - top);
	draw_sources(g, r, top, sources, &source, aligned_source);
	draw_targets(g, r, top, first, t, &target, how, token);
	draw_end(g, r, top, first, &target, how, token);
	if (aligned_source >= 0 && aligned_source < source.n &&
	    visible_row(r, top, first - 1) >= 0 &&
	    source.line[aligned_source] == source.lines - 1 && target.line[token] == 0)
		draw_link(g, visible_row(r, top, first - 1), r.col + source.col[aligned_source],
			  r.col + target.col[token]);
}
