/* data_panes.c - head, stages and statistics of the data view; see data_panes.h. */
#include "tui/views/data_panes.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "share/base/number_format.h"
#include "share/base/util.h"
#include "tui/run/run_look.h"
#include "tui/term/draw.h"

#define BAR	    24
#define NARROW_BAR  10
#define STAGE_SHIFT 8 /* columns between what a stage does and its numbers */

size_t data_rows(const struct corpus_details *b, const struct data_view_state *s)
{
	switch (s->front) {
	case DATA_DROPPED:
		return b->ledger ? drop_rows_n(b->ledger) : 0;
	case DATA_RULES:
		return data_has_limits(s) ? PAIR_N_LIMITS : 0;
	case DATA_REPEATS:
		return s->n_repeat_rows;
	case DATA_VOCABULARY:
		return !b->vocab	       ? 0
		       : *s->piece_filter.text ? s->n_pieces
					       : (size_t)vocab_real_size(b->vocab);
	case DATA_SPLIT:
		return s->trace.n;
	default:
		return 0;
	}
}

void data_draw_head(struct grid *g, struct rect r, const struct corpus_details *b)
{
	const struct indexed_corpus *c = &b->corpus;
	const struct run_look look = corpus_state_look(c->state);
	int col = r.col + 2, right = r.col + r.cols - 1;
	char text[3 * NUMBER_TEXT_BYTES + 80];

	if (r.rows < 1)
		return;
	col += draw_text(g, r.row, col, right - col, STYLE_TITLE, *b->name ? b->name : "no corpus");
	if (!*b->name)
		return;
	grid_put(g, r.row, col + 1, look.style, look.sign);
	col += 3;
	col += draw_text(g, r.row, col, right - col, look.style, corpus_state_name(c->state)) + 3;
	if (c->train < 0)
		return;
	snprintf(text, sizeof(text), "%s to %s   %s of %s pairs   vocabulary %s", c->source,
		 c->target, COUNT_TEXT(c->train), COUNT_TEXT(c->read), COUNT_TEXT(c->vocabulary));
	draw_text(g, r.row, col, right - col, STYLE_NORMAL, text);
}

/* ---- stages ---- */

/* "12.3 of 45.6 MB  3.4 MB/s  0:12 left" */
static void amount_text(char *out, size_t size, int64_t done, int64_t total, double rate,
			double left, const char *unit)
{
	bool bytes = !strcmp(unit, "bytes");
	const char *of = total > 0 ? " of " : "";

	snprintf(out, size, "%s%s%s%s%s  %s%s/s  %s left",
		 bytes ? BYTES_TEXT((double)done) : COUNT_TEXT(done), of,
		 total <= 0 ? ""
		 : bytes    ? BYTES_TEXT((double)total)
			    : COUNT_TEXT(total),
		 bytes ? "" : " ", bytes ? "" : unit, bytes ? BYTES_TEXT(rate) : VALUE_TEXT(rate),
		 "", DURATION_TEXT(left));
}

/* Columns of a line of the stages, by its width. */
struct stage_columns {
	int bar, bar_width, text;
};

static struct stage_columns stage_columns(int cols)
{
	if (cols >= 110)
		return (struct stage_columns){ 34, BAR, 36 + BAR };
	return (struct stage_columns){ 13, NARROW_BAR, 15 + NARROW_BAR };
}

static void draw_archive(const struct list_row *row, const struct prep_progress *p, size_t i)
{
	const typeof(p->archives[i]) *a = &p->archives[i];
	double share = a->total > 0 ? (double)a->done / (double)a->total : NAN;
	double left = a->total > 0 && a->rate > 0 ? (double)(a->total - a->done) / a->rate : NAN;
	struct stage_columns at =
		row->cols >= 110 ? stage_columns(row->cols)
				 : (struct stage_columns){ 19, NARROW_BAR - 2, 19 + NARROW_BAR };
	char text[200];

	row_text(row, 2, at.bar - 3, STYLE_NORMAL, a->name);
	if (row->cols > at.text)
		draw_bar(row->g, row->row, row->col + at.bar, at.bar_width, share);
	amount_text(text, sizeof(text), a->done, a->total, a->rate, left, "bytes");
	row_text(row, at.text, 0, STYLE_DIM, *a->words ? a->words : text);
}

/* Returns how many columns further left the text begins than that of other stages, so that numbers stay below each other. */
static int done_text(char *out, size_t size, const struct data_stage *s)
{
	double rate = s->seconds > 0 && s->in >= 0 ? (double)s->in / s->seconds : NAN;
	char pairs[2 * NUMBER_TEXT_BYTES + 4];
	int width;

	if (s->is_reused) {
		snprintf(out, size, "reused from an earlier preparation, %s s",
			 FIXED_TEXT(s->seconds, 1));
		return 0;
	}
	width = snprintf(pairs, sizeof(pairs), "%s%s%s", s->in == s->out ? "" : COUNT_TEXT(s->out),
			 s->in == s->out ? "" : " of ", COUNT_TEXT(s->in));
	snprintf(out, size, "%10s pairs %6s s %6s/s %8s", pairs, FIXED_TEXT(s->seconds, 1),
		 VALUE_TEXT(rate), BYTES_TEXT(s->bytes >= 0 ? (double)s->bytes : NAN));
	return MAX(width - 10, 0);
}

static void draw_stage(const struct list_row *row, const struct corpus_details *b,
		       const struct data_stage *s)
{
	static const struct {
		uint32_t sign;
		enum style style;
	} looks[] = { [STAGE_WAITING] = { 0x00B7, STYLE_DIM },
		      [STAGE_RUNNING] = { 0x25CF, STYLE_FIRST },
		      [STAGE_DONE] = { 0x2713, STYLE_GOOD },
		      [STAGE_ENDED] = { 0x2717, STYLE_BAD } };
	const struct prep_progress *p = &b->corpus.progress;
	struct stage_columns at = stage_columns(row->cols);
	char text[240] = "";
	int shift = 0;

	row_sign(row, 2, looks[s->state].style, looks[s->state].sign);
	row_text(row, 4, 7, looks[s->state].style, s->name);
	if (s->state != STAGE_RUNNING || at.bar > 30)
		row_text(row, 11, 22, STYLE_DIM, s->does);
	if (s->state == STAGE_RUNNING) {
		if (row->cols > at.text)
			draw_bar(row->g, row->row, row->col + at.bar, at.bar_width,
				 prep_progress_share(p));
		amount_text(text, sizeof(text), p->done, p->total, p->rate, prep_progress_left(p),
			    p->unit);
		row_text(row, at.text, 0, STYLE_BRIGHT, text);
		return;
	}
	if (s->state == STAGE_DONE && isfinite(s->seconds))
		shift = MIN(done_text(text, sizeof(text), s), STAGE_SHIFT);
	else if (s->state == STAGE_ENDED)
		snprintf(text, sizeof(text), "stopped here; prep again resumes with this stage");
	row_text(row, 34 - shift, 0, s->state == STAGE_ENDED ? STYLE_WARN : STYLE_NORMAL, text);
}

/* ---- statistics ---- */

/* The number of rules that dropped pairs. */
static int rules_that_dropped(const struct corpus_details *b)
{
	const struct json *dropped = json_get(b->stats, "dropped"), *n;
	int rules = 0;

	for (size_t i = 0; json_member(dropped, i, &n); i++)
		rules += json_integer(n, 0) > 0;
	return rules;
}

static void draw_rules(struct grid *g, struct rect box, const struct corpus_details *b)
{
	const struct json *dropped = json_get(b->stats, "dropped"), *n;
	struct rect in = layout_inside(box);
	struct list_row row = list_row_at(g, in, in.row);
	const char *name;
	int cut = 0;
	double most = 1;

	draw_box(g, box, "dropped pairs by rule", false);
	for (size_t i = 0; json_member(dropped, i, &n); i++)
		most = MAX(most, json_number(n, 0));
	for (size_t i = 0; (name = json_member(dropped, i, &n)); i++) {
		if (!json_integer(n, 0))
			continue;
		if (row.row >= in.row + in.rows) {
			cut++;
			continue;
		}
		row_text(&row, 1, 11, STYLE_BRIGHT, name);
		row_text_right(&row, 22, 10, STYLE_NORMAL, COUNT_TEXT(json_integer(n, 0)));
		if (in.cols > 40)
			draw_bar(g, row.row, in.col + 24, 12, json_number(n, 0) / most);
		row_text(&row, 38, 0, STYLE_DIM, clean_rule_meaning(clean_rule_find(name)));
		row.row++;
	}
	if (row.row == in.row && in.rows > 0)
		row_text(&row, 1, 0, STYLE_DIM, "no pair was dropped");
	draw_hidden_rows(g, box, 0, cut);
}

/* Histogram of words per line: a bar per range of lengths. */
static void draw_lengths(struct grid *g, struct rect box, const struct corpus_details *b,
			 const char *side)
{
	const struct json *s = json_get(b->stats, side);
	const struct json *lines = json_get(json_get(s, "words_a_line"), "lines");
	int64_t step = json_integer(json_get(json_get(s, "words_a_line"), "step"), 1);
	struct rect in = layout_inside(box);
	char title[80], text[120];
	double most = 1;

	snprintf(title, sizeof(title), "%s, %s: words per line", side,
		 json_text(json_get(s, "language"), "?"));
	draw_box(g, box, title, false);
	for (size_t i = 0; i < json_len(lines); i++)
		most = MAX(most, json_number(json_at(lines, i), 0));
	snprintf(text, sizeof(text), "%s pieces per word, %s %% of words whole",
		 FIXED_TEXT(json_number(json_get(s, "tokens_per_word"), NAN), 2),
		 FIXED_TEXT(100 * json_number(json_get(s, "whole_words"), NAN), 0));
	if (in.rows > 0 && s)
		draw_text(g, in.row, in.col + 1, in.cols - 1, STYLE_DIM, text);
	for (int i = 0; i < in.rows - 1 && (size_t)i < json_len(lines); i++) {
		double n = json_number(json_at(lines, (size_t)i), 0);

		snprintf(text, sizeof(text), "%lld-%lld", (long long)(i * step + 1),
			 (long long)((i + 1) * step));
		draw_text_right(g, in.row + 1 + i, in.col + 9, 9, STYLE_DIM, text);
		draw_bar(g, in.row + 1 + i, in.col + 11, MAX(in.cols - 24, 0), n / most);
		draw_text_right(g, in.row + 1 + i, in.col + in.cols - 2, 11, STYLE_NORMAL,
				COUNT_TEXT((int64_t)n));
	}
	draw_hidden_rows(g, box, 0, (int)MIN(json_len(lines), (size_t)1000) - (in.rows - 1));
}

/* Draw verdict i in a span, at most `rows` lines; 0: only count. Returns its lines. */
static int draw_verdict(struct grid *g, struct span at, int rows, const struct corpus_details *b,
			int i)
{
	struct buf text = { 0 };
	int lines;

	at.style = corpus_details_describe_verdict(b, i, &text) ? STYLE_BAD : STYLE_WARN;
	lines = draw_text_wrapped(g, at, rows, 0, buf_text(&text));
	buf_free(&text);
	return lines;
}

/* Cut a box with the verdicts against the corpus off the top of r, at most half of r; without verdicts, none. */
static void draw_verdicts(struct grid *g, struct rect *r, const struct corpus_details *b)
{
	const int n = corpus_details_n_verdicts(b);
	struct rect box = *r, in;
	int row, lines = 0, shown = 0;

	if (!n || r->rows < 12)
		return;
	for (int i = 0; i < n; i++)
		lines += draw_verdict(g, (struct span){ 0, 0, MAX(r->cols - 4, 1), STYLE_BAD }, 0,
				      b, i);
	box.rows = MIN(2 + lines, r->rows / 2);
	r->row += box.rows;
	r->rows -= box.rows;
	draw_box(g, box, "problems of this corpus", false);
	in = layout_inside(box);
	for (row = in.row; shown < n && row < in.row + in.rows; shown++)
		row += draw_verdict(g, (struct span){ row, in.col + 1, in.cols - 2, STYLE_BAD },
				    in.row + in.rows - row, b, shown);
	draw_hidden_rows(g, box, 0, n - shown);
}

void data_draw_stages(struct grid *g, struct rect r, const struct corpus_details *b, double now)
{
	const struct prep_progress *p = &b->corpus.progress;
	int archives = (int)(p->alive ? p->n_archives : 0);
	const struct layout_part parts[] = {
		{ .min = DATA_N_STAGES + 2, .max = DATA_N_STAGES + archives + 2, .weight = 3 },
		{ .min = 4, .max = MAX(rules_that_dropped(b) + 2, 4), .weight = 1, .rank = 1 },
		{ .min = 6, .max = 0, .weight = 2, .rank = 2 }
	};
	const struct layout_part halves[] = { { .min = 40, .weight = 1 },
					      { .min = 40, .weight = 1, .rank = 1 } };
	struct rect rows[3], cols[2], in;
	struct list_row row;
	char title[60] = "stages";

	draw_verdicts(g, &r, b);
	layout_rows(r, parts, ARRAY_LEN(parts), rows);
	/* statistics exist after the last stage */
	if (!rows[0].rows || !b->stats)
		rows[0] = r;
	if (!b->stats)
		rows[0].rows = MIN(r.rows, parts[0].max);
	if (p->alive && now >= p->began) {
		snprintf(title, sizeof(title), "stages, %s for %s", p->stage,
			 DURATION_TEXT(now - p->began));
	}
	draw_box(g, rows[0], title, true);
	in = layout_inside(rows[0]);
	row = list_row_at(g, in, in.row);
	for (int i = 0; i < archives + DATA_N_STAGES && i < in.rows; i++, row.row++)
		if (i < archives)
			draw_archive(&row, p, (size_t)i);
		else
			draw_stage(&row, b, &b->stages[i - archives]);
	draw_hidden_rows(g, rows[0], 0, archives + DATA_N_STAGES - in.rows);
	if (!b->stats)
		return;
	if (rows[1].rows > 2)
		draw_rules(g, rows[1], b);
	if (rows[2].rows < 3)
		return;
	layout_cols(rows[2], halves, 2, cols);
	if (cols[0].cols)
		draw_lengths(g, cols[0], b, "source");
	if (cols[1].cols)
		draw_lengths(g, cols[1], b, "target");
}
