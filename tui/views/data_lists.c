/*
 * data_lists.c - dropped pairs, vocabulary and split sentences of the data view; see data_panes.h.
 */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "share/base/number_format.h"
#include "share/base/text.h"
#include "share/base/util.h"
#include "tui/term/draw.h"
#include "tui/views/data_panes.h"

#define FIELD 512 /* bytes shown of a field of the ledger */

static void draw_empty_pane(struct grid *g, struct rect in, const struct corpus_details *b,
			    enum data_pane pane)
{
	const char *why = b->trouble[pane];

	if (!*why)
		why = !*b->name ? "no corpus yet: the home view prepares one"
		      : b->corpus.state != CORPUS_READY ? "available when the corpus is ready"
							: "no entries";
	if (in.rows > 0)
		draw_text(g, in.row, in.col + 1, in.cols - 1,
			  *b->trouble[pane] ? STYLE_BAD : STYLE_DIM, why);
}

/* A field as a string; the grid replaces invalid UTF-8. */
static const char *field_text(char out[FIELD], struct drop_row_field f)
{
	snprintf(out, FIELD, "%.*s", (int)MIN(f.n, (size_t)FIELD - 1), f.text);
	return out;
}

/* ---- dropped ---- */

static void draw_dropped_row(const struct list_row *row, const struct drop_row *r)
{
	char line[FIELD], source[FIELD], target[FIELD];

	row_text_right(row, 10, 9, STYLE_DIM, field_text(line, r->line));
	row_text(row, 12, 10, STYLE_BRIGHT, r->rule == CLEAN_KEEP ? "?" : clean_rule_name(r->rule));
	row_pair(row, 23, STYLE_NORMAL, field_text(source, r->source),
		 field_text(target, r->target));
}

/* What the rule measured on this pair, with its limit; "": not known. */
static void dropped_reason(const struct corpus_details *b, const struct drop_row *r, char *out,
			   size_t size)
{
	char line[FIELD];
	const struct pair_fact *p;
	int64_t number;

	out[0] = 0;
	if (!b->facts || !text_to_int(field_text(line, r->line), &number))
		return;
	p = pair_facts_find(b->facts, r->file.text, r->file.n, number);
	if (p && p->rule == r->rule)
		pair_limit_reason(p, r->rule, &pair_facts_counts(b->facts)->options, out, size);
}

static void draw_dropped_whole(struct grid *g, struct rect box, const struct corpus_details *b,
			       const struct drop_row *r)
{
	struct rect in = layout_inside(box);
	char text[2 * FIELD], file[FIELD], field[FIELD];
	const char *name;
	int row = in.row, end = in.row + in.rows;

	name = strrchr(field_text(file, r->file), '/');
	snprintf(text, sizeof(text), "%.200s:%.20s", name ? name + 1 : file,
		 field_text(field, r->line));
	draw_box(g, box, text, false);
	if (row >= end)
		return;
	snprintf(text, sizeof(text), "%s: %s", clean_rule_name(r->rule),
		 clean_rule_meaning(r->rule));
	draw_text(g, row++, in.col + 1, in.cols - 1, STYLE_WARN, text);
	dropped_reason(b, r, text, sizeof(text));
	if (*text && row < end)
		draw_text(g, row++, in.col + 1, in.cols - 1, STYLE_BRIGHT, text);
	for (int side = 0; side < 2 && row < end; side++) {
		struct span at = { row, in.col + 9, in.cols - 10, STYLE_NORMAL };
		int room = side ? end - row : MAX((end - row + 1) / 2, 1);

		draw_text(g, row, in.col + 1, 7, STYLE_DIM, side ? "target" : "source");
		if (at.width > 0)
			row += MAX(MIN(draw_text_wrapped(
					       g, at, room, 0,
					       field_text(field, side ? r->target : r->source)),
				       room),
				   1);
	}
}

static void dropped_title(const struct corpus_details *b, const struct data_view_state *s,
			  char *out, size_t size)
{
	snprintf(out, size, "%s, %s%s%.120s",
		 s->rule == CLEAN_KEEP ? "all rules" : clean_rule_name(s->rule),
		 COUNT_TEXT(b->ledger ? (int64_t)drop_rows_n(b->ledger) : -1),
		 *s->dropped_filter.text ? ", with " : "", s->dropped_filter.text);
	if (b->ledger && drop_rows_scanned(b->ledger) < 1) {
		size_t len = strlen(out);

		snprintf(out + len, size - len, " (%.0f %% searched)",
			 100 * drop_rows_scanned(b->ledger));
	}
}

void data_draw_dropped(struct grid *g, struct rect r, const struct corpus_details *b,
		       struct data_view_state *s)
{
	const struct layout_part parts[] = { { .min = 3, .weight = 3 },
					     { .min = 6, .max = 12, .weight = 1, .rank = 1 } };
	struct list_widget *l = &s->lists[DATA_DROPPED];
	size_t n = data_rows(b, s);
	struct list_row row;
	struct rect rows[2];
	struct drop_row pair;
	char title[200];

	if (s->zoomed && l->at < n) {
		drop_rows_get(b->ledger, l->at, &pair);
		draw_dropped_whole(g, r, b, &pair);
		return;
	}
	layout_rows(r, parts, 2, rows);
	dropped_title(b, s, title, sizeof(title));
	row = list_box(g, rows[0], title, l, n, true);
	draw_legend(g, rows[0], title,
		    &(struct legend){ 0, STYLE_BRIGHT, "Left, Right:", "another rule" }, 1);
	while (list_row_next(&row)) {
		drop_rows_get(b->ledger, row.i, &pair);
		draw_dropped_row(&row, &pair);
	}
	if (!n)
		draw_empty_pane(g, layout_inside(rows[0]), b, DATA_DROPPED);
	else if (rows[1].rows > 2) {
		drop_rows_get(b->ledger, l->at, &pair);
		draw_dropped_whole(g, rows[1], b, &pair);
	}
}

/* ---- vocabulary ---- */

static void draw_piece(const struct list_row *row, const struct vocab *v, int32_t id)
{
	/* entries are sorted by frequency, after four special tokens */
	double most = vocab_size(v) > 4 ? (double)MAX(vocab_frequency(v, 4), 1) : 1;

	row_text_right(row, 9, 8, STYLE_DIM, COUNT_TEXT(id));
	row_text(row, 12, 28, STYLE_BRIGHT, vocab_piece(v, id));
	if (row->cols > 56)
		row_text_right(row, 54, 13, STYLE_NORMAL, COUNT_TEXT(vocab_frequency(v, id)));
	/* logarithmic: word frequencies span many powers of ten */
	if (row->cols > 76)
		draw_bar(row->g, row->row, row->col + 57, MIN(row->cols - 59, 60),
			 log1p((double)vocab_frequency(v, id)) / log1p(most));
}

void data_draw_vocabulary(struct grid *g, struct rect r, const struct corpus_details *b,
			  struct data_view_state *s)
{
	struct list_widget *l = &s->lists[DATA_VOCABULARY];
	size_t n = data_rows(b, s);
	struct list_row row;
	char title[200];

	snprintf(title, sizeof(title), "%s pieces%s%.150s", COUNT_TEXT((int64_t)n),
		 *s->piece_filter.text ? " with " : "", s->piece_filter.text);
	row = list_box(g, r, title, l, n, true);
	while (list_row_next(&row))
		draw_piece(&row, b->vocab,
			   *s->piece_filter.text ? s->pieces[row.i] : (int32_t)row.i);
	if (!n)
		draw_empty_pane(g, layout_inside(r), b, DATA_VOCABULARY);
}

/* ---- split ---- */

/* Draw the words, each above its pieces; lines break between words. */
static void draw_split_words(struct grid *g, struct rect box, const struct data_view_state *s)
{
	struct rect in = layout_inside(box);
	const struct line_pieces *p = &s->line_pieces;
	int row = in.row, col = in.col + 1, right = in.col + in.cols - 1;

	for (size_t w = 0; w < p->n_words; w++) {
		const struct line_word *word = &p->word[w];
		char token[200], pieces[600];
		size_t from = p->piece[word->first].start, used = 0;
		enum style style = w == s->word ? STYLE_SELECTED : STYLE_BRIGHT;
		int width;

		if (word->n)
			used = p->piece[word->first + word->n - 1].start +
			       p->piece[word->first + word->n - 1].len - from;
		snprintf(token, sizeof(token), "%.*s", (int)MIN(word->len, sizeof(token) - 1),
			 buf_text(&p->tokens) + word->start);
		snprintf(pieces, sizeof(pieces), "%.*s", (int)MIN(used, sizeof(pieces) - 1),
			 buf_text(&p->pieces) + from);
		width = MAX(grid_text_width(g, token), grid_text_width(g, pieces));
		if (col > in.col + 1 && col + width > right) {
			row += 3;
			col = in.col + 1;
		}
		if (row + 1 < in.row + in.rows) {
			draw_text(g, row, col, right - col, style, token);
			draw_text(g, row + 1, col, right - col, STYLE_FIRST, pieces);
		}
		col += width + 2;
	}
	if (row + 1 >= in.row + in.rows)
		draw_hidden_rows(g, box, 0, row + 2 - (in.row + in.rows));
}

static void draw_trace_step(const struct list_row *row, const struct bpe_step *step)
{
	char text[200];

	if (step->rank < 0) {
		row_text(row, 2, 30, STYLE_DIM, "characters");
	} else {
		row_text_right(row, 10, 9, STYLE_DIM, COUNT_TEXT(step->rank + 1));
		snprintf(text, sizeof(text), "%.60s + %.60s", step->left, step->right);
		row_text(row, 13, 22, STYLE_FIRST, text);
	}
	row_text(row, 37, 0, STYLE_BRIGHT, step->symbols);
}

static void pieces_title(const struct corpus_details *b, const struct data_view_state *s, char *out,
			 size_t size)
{
	const struct line_pieces *p = &s->line_pieces;
	size_t used;

	used = (size_t)snprintf(out, size, "merges of word %zu of %zu; ids", s->word + 1,
				p->n_words);
	(void)b;
	for (size_t i = p->word[s->word].first;
	     i < p->word[s->word].first + p->word[s->word].n && used < size; i++)
		used += (size_t)snprintf(out + used, size - used, " %d", (int)p->piece[i].id);
}

void data_draw_split(struct grid *g, struct rect r, const struct corpus_details *b,
		     struct data_view_state *s)
{
	const struct layout_part parts[] = { { .min = 3, .max = 3 },
					     { .min = 4, .weight = 1, .rank = 2 },
					     { .min = 4, .weight = 1, .rank = 1 } };
	struct list_widget *l = &s->lists[DATA_SPLIT];
	struct rect rows[3], in;
	struct list_row row;
	char title[200];

	layout_rows(r, parts, 3, rows);
	snprintf(title, sizeof(title), "a sentence of the %s side",
		 s->side == SIDE_SOURCE ? "source" : "target");
	draw_box(g, rows[0], title, s->typing);
	edit_draw(&s->line, g, layout_inside(rows[0]), STYLE_BRIGHT, s->typing);
	if (rows[1].rows > 2) {
		draw_box(g, rows[1], "words and their pieces", false);
		in = layout_inside(rows[1]);
		if (*s->split_trouble)
			draw_text(g, in.row, in.col + 1, in.cols - 1, STYLE_BAD, s->split_trouble);
		else if (!s->line_pieces.n_words)
			draw_empty_pane(g, in, b, DATA_SPLIT);
		else
			draw_split_words(g, rows[1], s);
	}
	if (rows[2].rows < 3 || !s->trace.n || !s->line_pieces.n_words)
		return;
	pieces_title(b, s, title, sizeof(title));
	draw_box(g, rows[2], title, !s->typing);
	if (!s->typing && s->line_pieces.n_words > 1)
		draw_legend(g, rows[2], title,
			    &(struct legend){ 0, STYLE_BRIGHT, "Left, Right:", "another word" }, 1);
	row = list_rows(g, layout_inside(rows[2]), l, s->trace.n, true);
	while (list_row_next(&row))
		draw_trace_step(&row, &s->trace.steps[row.i]);
	list_widget_draw_place(g, rows[2], l);
}
