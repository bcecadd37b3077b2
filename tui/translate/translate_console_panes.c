/*
 * translate_console_panes.c - panes of the console; translate_console_layout.c places them, translate_console_words.c
 * draws tokens and text. See translate_console_panes.h.
 */
#include "tui/translate/translate_console_panes.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "share/base/number_format.h"
#include "share/base/text.h"
#include "share/base/util.h"
#include "tui/term/draw.h"
#include "tui/translate/attention_map.h"
#include "tui/translate/translate_console_lists.h"
#include "tui/translate/translate_console_words.h"
#include "tui/translate/translate_desk.h"

#define SLOW_S 5 /* seconds of waiting before the screen says so */

/* ---- rows without a box ---- */

static const char *describe_service_state(const struct console_side *s, enum style *style)
{
	*style = STYLE_DIM;
	if (!s->service)
		return "no checkpoint";
	switch (service_state(s->service)) {
	case SERVICE_STARTING:
		return "loading";
	case SERVICE_WORKING:
		return "translating";
	case SERVICE_DOWN:
		*style = STYLE_BAD;
		return "down";
	default:
		*style = STYLE_GOOD;
		return "ready";
	}
}

static void describe_checkpoint(const struct console_side *s, char *out, size_t size)
{
	char step[NUMBER_TEXT_BYTES], search[64];

	console_describe_search(s, search, sizeof(search));
	if (s->run && s->step >= 0)
		snprintf(out, size, "%s step %s%s%s", s->run, format_count(step, s->step),
			 *search ? ", " : "", search);
	else
		snprintf(out, size, "%s", s->run ? s->run : "");
}

static void draw_console_head(const struct console *c, struct grid *g, struct rect r)
{
	const struct console_side *s = &c->sides[0];
	const struct service_answer *a = console_answer(c, 0);
	int at = r.col + 1, right = r.col + r.cols - 2;
	char text[160];
	enum style style;
	const char *state = describe_service_state(s, &style);
	char slow[80];

	if (r.rows < 1)
		return;
	describe_checkpoint(s, text, sizeof(text));
	at += draw_text(g, r.row, at, right - at + 1, STYLE_TITLE, text) + 3;
	if (c->slow_seconds >= SLOW_S) {
		snprintf(slow, sizeof(slow), "no answer for %d s: Ctrl-R restarts the translator",
			 c->slow_seconds);
		state = slow;
		style = STYLE_WARN;
	}
	at += draw_text(g, r.row, at, right - at + 1, style, state) + 3;
	if (s->next) {
		char step[NUMBER_TEXT_BYTES];

		snprintf(text, sizeof(text), "loading step %s", format_count(step, s->next_step));
		draw_fact(g, r.row, &at, right, "", text);
	} else {
		draw_fact(g, r.row, &at, right, c->follow ? "follows" : "",
			  c->follow    ? "the newest checkpoint"
			  : s->is_best ? "the best checkpoint"
				       : "a fixed checkpoint");
	}
	if (c->trouble[0])
		draw_text(g, r.row, at, right - at + 1, STYLE_BAD, c->trouble);
	else if (a && a->seconds >= 2) {
		snprintf(text, sizeof(text), "%.1f s", a->seconds);
		draw_fact(g, r.row, &at, right, "took", text);
	}
}

static void add_terms(char *out, size_t size, const struct console_terms *t)
{
	size_t n = 0;

	*out = 0;
	for (size_t i = 0; i < t->n && n + 1 < size; i++)
		n += (size_t)snprintf(out + n, size - n, "%s%s", i ? ", " : "", t->terms[i]);
}

static void draw_constraints(const struct console *c, struct grid *g, struct rect r)
{
	const struct {
		const char *label;
		const struct console_terms *terms;
	} both[] = { { "must contain", &c->force }, { "must not contain", &c->forbid } };
	int at = r.col + 1, right = r.col + r.cols - 2;
	char text[400];

	if (r.rows < 1)
		return;
	for (size_t i = 0; i < ARRAY_LEN(both); i++) {
		if (!both[i].terms->n)
			continue;
		add_terms(text, sizeof(text), both[i].terms);
		at += draw_text(g, r.row, at, right - at + 1, STYLE_DIM, both[i].label) + 1;
		at += draw_text(g, r.row, at, right - at + 1, STYLE_WARN, text) + 3;
	}
	if (c->prefix) {
		at += draw_text(g, r.row, at, right - at + 1, STYLE_DIM, "starts with") + 1;
		at += draw_text(g, r.row, at, right - at + 1, STYLE_WARN, c->prefix) + 3;
	}
	if (!c->has_extra[EXTRA_TERMS])
		console_draw_terms_row(c, g, r.row, at, right);
}

static void draw_file(const struct console *c, struct grid *g, struct rect r)
{
	static const char *const tasks[] = {
		[CONSOLE_TRANSLATES_FILE] = "translating the document",
		[CONSOLE_LISTS_SENTENCES] = "listing the sentences of the document",
		[CONSOLE_WRITES_DOCUMENT] = "writing the document",
	};
	const struct translate_file_state *f;
	char text[200], done[NUMBER_TEXT_BYTES], all[NUMBER_TEXT_BYTES], left[NUMBER_TEXT_BYTES];
	int at = r.col + 1, right = r.col + r.cols - 2;
	double rate;

	if (r.rows < 1)
		return;
	f = translate_file_state(c->file);
	at += draw_text(g, r.row, at, MIN(right - at + 1, r.cols / 3), STYLE_BRIGHT, f->out) + 2;
	if (f->failed) {
		draw_text(g, r.row, at, right - at + 1, STYLE_BAD, f->trouble);
		return;
	}
	if (!f->running) {
		if (f->is_document && !f->done)
			snprintf(text, sizeof(text), "done");
		else
			snprintf(text, sizeof(text), "done: %s %s%s", format_count(done, f->done),
				 f->is_document ? "segment" : "line", text_plural(f->done));
		draw_text(g, r.row, at, right - at + 1, STYLE_GOOD, text);
		return;
	}
	if (right - at > 60) {
		draw_bar(g, r.row, at, 20, f->lines > 0 ? (double)f->done / (double)f->lines : 0);
		at += 22;
	}
	if (f->is_document && !f->lines) {
		draw_text(g, r.row, at, right - at + 1, STYLE_NORMAL, tasks[c->file_task]);
		return;
	}
	rate = f->seconds > 0 ? (double)f->done / f->seconds : 0;
	snprintf(text, sizeof(text), "%s of %s %s%s%s", format_count(done, f->done),
		 format_count(all, f->lines), f->is_document ? "segments" : "lines",
		 rate > 0 && f->lines > 0 ? ", left " : "",
		 rate > 0 && f->lines > 0
			 ? format_duration(left, (double)(f->lines - f->done) / rate)
			 : "");
	draw_text(g, r.row, at, right - at + 1, STYLE_NORMAL, text);
}

/* ---- boxes ---- */

/* Which sentence of the document is shown; "": there is none. */
static void describe_place(const struct document *d, char *place, size_t size)
{
	char at[NUMBER_TEXT_BYTES], all[NUMBER_TEXT_BYTES], chosen[NUMBER_TEXT_BYTES];

	*place = 0;
	if (d)
		snprintf(place, size, "sentence %s of %s, %s done",
			 format_count(at, (int64_t)d->at + 1), format_count(all, (int64_t)d->n),
			 format_count(chosen, (int64_t)d->n_chosen));
}

/* A path without its folders. */
static const char *file_name_of(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? slash + 1 : path;
}

static void draw_input(struct console *c, struct grid *g, struct rect r)
{
	const struct service *s = c->sides[0].service;
	const char *language = s ? service_model(s)->source_language : "";
	bool focused = c->focus == CONSOLE_INPUT;
	char title[200];

	if (r.rows < 3)
		return;
	snprintf(title, sizeof(title), "source%s%s%s%.150s", *language ? ", " : "", language,
		 c->document ? ", " : "", c->document ? file_name_of(c->document->in) : "");
	draw_box(g, r, title, focused);
	r = layout_inside(r);
	if (!focused && !*edit_text(&c->input))
		draw_text(g, r.row, r.col, r.cols, STYLE_DIM, "nothing yet");
	edit_draw(&c->input, g, r, STYLE_NORMAL, focused);
	if (r.rows > 1)
		draw_hidden_rows(g, layout_around(r), c->input.top,
				 edit_rows(&c->input, g, r.cols) - r.rows - c->input.top);
	if (focused && !*edit_text(&c->input))
		draw_text(g, r.row, r.col + 2, r.cols - 2, STYLE_DIM, "type a sentence");
}

static void draw_service_error(const struct console_side *s, struct grid *g, struct rect r)
{
	char text[700];

	snprintf(text, sizeof(text), "%s. The translator restarts soon.",
		 service_trouble(s->service));
	draw_note(g, r, STYLE_BAD, text);
}

/*
 * Remarks about the translation, at the right of the border: whether it is of the text above, and how
 * it differs from that of the other side.
 */
static void draw_remark(const struct console *c, struct grid *g, struct rect r, int side,
			const char *title)
{
	const struct service_answer *a = console_answer(c, side);
	const struct service_translation *t = console_shown_translation(c, side),
					 *other = console_shown_translation(c, !side);
	struct legend l[4] = { 0 };
	char differ[40], place[80];
	int n = 0;

	describe_place(c->document, place, sizeof(place));
	if (*place && side == 0)
		l[n++] = (struct legend){ 0, STYLE_BRIGHT, "", place };
	if (side == c->side && c->revision.is_edited)
		l[n++] = (struct legend){ 0, STYLE_WARN, "", "edited" };
	if (console_is_outdated(c, side)) {
		l[n++] = t ? (struct legend){ 0x2026, STYLE_WARN, "of the text before,",
					      "translating" }
			   : (struct legend){ 0x2026, STYLE_WARN, "", "translating" };
	} else if (a && !a->error && a->truncated) {
		l[n++] =
			(struct legend){ 0, STYLE_WARN, "", "too long: the end is not translated" };
	} else if (a && !a->error && a->is_long) {
		l[n++] = (struct legend){ 0, STYLE_WARN, "",
					  "longer than the training text: words may be missing" };
	} else if (t) {
		if (other && console_sides(c) == 2) {
			int words = console_other_words(t, other);

			snprintf(differ, sizeof(differ),
				 words == 1 ? "%d word differs" : "%d words differ", words);
			l[n++] = (struct legend){ 0, words ? STYLE_ADDED : STYLE_DIM, "", differ };
		}
		l[n++] = (struct legend){ 0x2713, STYLE_GOOD, "", "of this text" };
	}
	if (n)
		draw_legend(g, r, title, l, n);
}

static void draw_revision(struct console *c, struct grid *g, struct rect box)
{
	struct edit *d = &c->revision.edit;
	struct rect in = layout_inside(box);

	edit_draw(d, g, in, STYLE_BRIGHT, c->focus == CONSOLE_PANE_TEXT);
	if (in.rows > 1)
		draw_hidden_rows(g, box, d->top, edit_rows(d, g, in.cols) - in.rows - d->top);
}

static void draw_text_box(struct console *c, struct grid *g, struct rect r, int side)
{
	const struct console_side *s = &c->sides[side];
	const struct service_answer *a = console_answer(c, side);
	const struct service_translation *t = console_shown_translation(c, side),
					 *other = console_sides(c) == 2
							  ? console_shown_translation(c, !side)
							  : NULL;
	const struct service_model *m = s->service ? service_model(s->service) : NULL;
	const char *language = m ? m->target_language : "";
	const bool has_desk = desk_is_shown(c);
	char title[200], name[140] = "";
	struct rect in = layout_inside(r);

	if (r.rows < 3)
		return;
	if (console_sides(c) == 2)
		describe_checkpoint(s, name, sizeof(name));
	else if (c->document)
		snprintf(name, sizeof(name), "%.130s", file_name_of(c->document->in));
	snprintf(title, sizeof(title), "%s%s%s%s%s%s%s", has_desk ? "sentences" : "translation",
		 *language ? ", " : "", has_desk && *language ? m->source_language : "",
		 has_desk && *language ? " to " : "", language, *name ? ", " : "", name);
	draw_box(g, r, title, side == c->side && c->focus == CONSOLE_PANE_TEXT);
	if (s->service && service_state(s->service) == SERVICE_DOWN && *service_trouble(s->service))
		draw_service_error(s, g, in);
	else if (a && a->error)
		draw_note(g, in, STYLE_BAD, a->error);
	else if (has_desk)
		desk_draw(c, g, r);
	else if (side == c->side && c->revision.is_edited)
		draw_revision(c, g, r);
	else if (t)
		console_draw_text(g, in, t, other);
	draw_remark(c, g, r, side, title);
}

static void draw_words_box(const struct console *c, struct grid *g, struct rect r, int side,
			   struct console_screen *s)
{
	static const struct legend signs[] = {
		{ '~', STYLE_SURE_3, "below 80 %", "" },
		{ '?', STYLE_SURE_1, "50 %", "" },
		{ '!', STYLE_SURE_0, "20 %", "" },
	};
	bool looked_at = side == c->side, focused = looked_at && c->focus == CONSOLE_WORDS;

	if (r.rows < 3)
		return;
	draw_box(g, r, c->shows_pieces ? "pieces" : "words", focused);
	draw_legend(g, r, c->shows_pieces ? "pieces" : "words", signs, ARRAY_LEN(signs));
	if (console_shown_translation(c, side))
		console_draw_words(g, layout_inside(r), console_answer(c, side),
				   console_shown_translation(c, side),
				   &(struct console_words){ .part = console_shown_part(c, side),
							    .token = looked_at ? c->token : -1,
							    .focused = focused,
							    .screen = looked_at ? s : NULL });
}

/* The first visible row so that row at of n is visible. */
static int top_for(int at, int n, int rows)
{
	return MAX(MIN(at - rows / 2, n - rows), 0);
}

static void draw_n_best(const struct console *c, struct grid *g, struct rect r,
			struct console_screen *s)
{
	const struct service_answer *a = console_answer(c, c->side);
	bool focused = c->focus == CONSOLE_N_BESTS;
	struct rect in = layout_inside(r);
	size_t part;

	if (r.rows < 3)
		return;
	draw_box(g, r, "best translations", focused);
	if (!a || a->error || !console_shown_translation(c, c->side))
		return;
	part = (size_t)(console_shown_part(c, c->side) -
			console_shown_translation(c, c->side)->parts);
	part = MIN(part, a->translations[0].n_parts - 1);
	s->n_best_top = top_for(c->choice, (int)a->n, in.rows);
	draw_hidden_rows(g, r, s->n_best_top, (int)a->n - in.rows - s->n_best_top);
	for (int i = s->n_best_top; i < (int)a->n && i - s->n_best_top < in.rows; i++) {
		const struct service_translation *t = &a->translations[i];
		/* of several sentences, the one at the cursor */
		const struct service_part *p = &t->parts[MIN(part, t->n_parts - 1)];
		int row = in.row + i - s->n_best_top;
		char score[NUMBER_TEXT_BYTES];

		if (i == c->choice)
			grid_put(g, row, in.col, focused ? STYLE_FOCUS : STYLE_DIM, 0x25B8);
		draw_text_right(
			g, row, in.col + 7, 6, STYLE_DIM,
			format_fixed(score, t->n_parts > 1 ? log(p->quality) : t->score, 2));
		console_draw_line(
			g,
			(struct span){ row, in.col + 10, in.cols - 10,
				       i == c->choice && focused ? STYLE_SELECTED : STYLE_NORMAL },
			p->text, i ? a->translations[0].parts[part].text : NULL);
	}
}

/* Why no alternatives are listed; NULL: they are. */
static const char *no_alternatives_text(const struct console *c)
{
	const struct service_answer *o = console_alternatives(c);

	if (!console_shown_translation(c, c->side) || c->focus == CONSOLE_PANE_TEXT)
		return "";
	if (c->focus == CONSOLE_INPUT && !c->wants_alternatives)
		return "press Esc and move to a word to see its alternatives";
	if (!o)
		return "waiting for the translator";
	if (o->error)
		return o->error;
	if (!o->has_alternatives)
		return "this translator lists no alternatives";
	return o->n_alternatives ? NULL : "no alternatives here";
}

static void draw_alternatives(const struct console *c, struct grid *g, struct rect r,
			      struct console_screen *s)
{
	const struct service_translation *t = console_shown_translation(c, c->side);
	const struct service_answer *o = console_alternatives(c);
	bool focused = c->focus == CONSOLE_PANE_ALTERNATIVES;
	struct rect in = layout_inside(r);
	char title[120] = "alternatives";
	const char *why = no_alternatives_text(c);

	if (r.rows < 3)
		return;
	if (t && c->wants_alternatives && c->token < (int)t->n)
		snprintf(title, sizeof(title), "instead of %.90s", t->tokens[c->token]);
	else if (t && c->wants_alternatives)
		snprintf(title, sizeof(title), "instead of the end");
	draw_box(g, r, title, focused);
	if (why) {
		draw_note(g, in, STYLE_DIM, why);
		return;
	}
	s->others_top = top_for(c->other, (int)o->n_alternatives, in.rows);
	draw_hidden_rows(g, r, s->others_top, (int)o->n_alternatives - in.rows - s->others_top);
	for (int i = s->others_top; i < (int)o->n_alternatives && i - s->others_top < in.rows;
	     i++) {
		const struct service_alternative *x = &o->alternatives[i];
		int row = in.row + i - s->others_top, bar = MIN(in.cols / 4, 12);
		char percent[NUMBER_TEXT_BYTES];
		double p = exp(x->log_prob);

		if (i == c->other)
			grid_put(g, row, in.col, focused ? STYLE_FOCUS : STYLE_DIM, 0x25B8);
		if (p < 0.0005)
			snprintf(percent, sizeof(percent), "<0.1%%");
		else
			snprintf(percent, sizeof(percent), p < 0.0995 ? "%.1f%%" : "%.0f%%",
				 100 * p);
		draw_text_right(g, row, in.col + 6, 5, STYLE_DIM,
				isnan(x->log_prob) ? "-" : percent);
		draw_bar(g, row, in.col + 8, bar, p);
		draw_text(g, row, in.col + 9 + bar, in.cols - 9 - bar,
			  i == c->other && focused ? STYLE_SELECTED : STYLE_NORMAL,
			  *x->word		     ? x->word
			  : strcmp(x->piece, "</s>") ? x->piece
						     : "(the end)");
	}
}

void console_draw(struct console *c, struct grid *g, struct console_screen *s, double now)
{
	(void)now;
	s->n_spots = 0;
	for (int i = 0; i < CONSOLE_EXTRAS; i++)
		c->has_extra[i] = s->extras[i].rows > 0;
	c->extra_alone = s->extra_alone;
	/* a pane that went with the size of the screen leaves the keys */
	if (c->focus >= CONSOLE_PANE_MAP && !c->has_extra[c->focus - CONSOLE_PANE_MAP])
		c->focus = CONSOLE_WORDS;
	draw_console_head(c, g, s->head);
	draw_input(c, g, s->input);
	for (int i = 0; i < CONSOLE_SIDES; i++) {
		draw_text_box(c, g, s->text[i], i);
		draw_words_box(c, g, s->words[i], i, s);
	}
	draw_n_best(c, g, s->n_best, s);
	draw_alternatives(c, g, s->others, s);
	attention_map_draw(c, g, s->extras[EXTRA_MAP]);
	console_draw_earlier(c, g, s->extras[EXTRA_EARLIER]);
	console_draw_terms(c, g, s->extras[EXTRA_TERMS]);
	draw_constraints(c, g, s->constraints);
	draw_file(c, g, s->file);
}
