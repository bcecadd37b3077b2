/* view_data.c - the tab "data": stages, dropped pairs, vocabulary and splits of a corpus. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "share/base/mem.h"
#include "share/base/text.h"
#include "share/base/util.h"
#include "tui/term/draw.h"
#include "tui/views/data_panes.h"
#include "tui/views/views.h"

#define BUDGET_S     0.02
#define FACTS_S	     0.015
#define LEDGER_BYTES ((size_t)4 << 20) /* bytes of the ledger searched per turn */

enum data_question { ASK_CORPUS, ASK_LIMIT };

struct data_view {
	struct workspace_index ws_index;
	struct corpus_details details;
	struct data_view_state view_state;
	bool stale; /* the line changed since it was split */
	int bar_row,
		bar_ends[DATA_PANES]; /* of the names of panes at the last draw, for the mouse */
};

static int data_open(void *state, struct app_context *w, struct err *e)
{
	struct data_view *d = state;

	(void)w;
	(void)e;
	d->ws_index.no_runs = true;
	d->details.seen = NAN;
	return 0;
}

static void data_close(void *state)
{
	struct data_view *d = state;

	workspace_index_free(&d->ws_index);
	corpus_details_close(&d->details);
	free(d->view_state.pieces);
	free(d->view_state.repeat_rows);
	edit_close(&d->view_state.line);
	line_pieces_free(&d->view_state.line_pieces);
	bpe_trace_free(&d->view_state.trace);
}

/* ---- the corpus ---- */

/* The chosen corpus, else the one being prepared, else the newest. */
static const struct indexed_corpus *wanted_corpus(const struct data_view *d,
						  const struct app_context *w)
{
	const struct indexed_corpus *best = workspace_index_corpus(&d->ws_index, w->corpus);

	for (size_t i = 0; !*w->corpus && i < d->ws_index.n_corpora; i++) {
		const struct indexed_corpus *c = &d->ws_index.corpora[i];

		if (!best || (c->state == CORPUS_WORKING && best->state != CORPUS_WORKING) ||
		    ((c->state == CORPUS_WORKING) == (best->state == CORPUS_WORKING) &&
		     c->changed > best->changed))
			best = c;
	}
	return best;
}

/* What was computed from facts that are not in memory any more. */
static void forget_facts(struct data_view_state *s)
{
	s->has_repeat_rows = s->zoomed = false;
	s->tried = (struct clean_options){ 0 };
	s->n_repeat_rows = 0;
}

static void forget_positions(struct data_view *d)
{
	struct data_view_state *s = &d->view_state;

	memset(s->lists, 0, sizeof(s->lists));
	s->rule = CLEAN_KEEP;
	forget_facts(s);
	text_filter_clear(&s->dropped_filter);
	text_filter_clear(&s->piece_filter);
	s->split_trouble[0] = 0;
	s->n_pieces = s->word = 0;
	s->line_pieces.n_words = 0;
	bpe_trace_clear(&s->trace);
	d->stale = true;
}

/* ---- contents of the panes ---- */

static void trace_word(struct data_view *d)
{
	struct data_view_state *s = &d->view_state;
	struct err e = { 0 };

	bpe_trace_clear(&s->trace);
	s->lists[DATA_SPLIT] = (struct list_widget){ 0 };
	if (s->word >= s->line_pieces.n_words)
		s->word = s->line_pieces.n_words ? s->line_pieces.n_words - 1 : 0;
	if (s->line_pieces.n_words &&
	    piece_tracer_trace_word(d->details.tracer, &s->line_pieces, s->word, &s->trace, &e))
		snprintf(s->split_trouble, sizeof(s->split_trouble), "%.190s", e.text);
	/* choose the last merge */
	s->lists[DATA_SPLIT].at = s->trace.n ? s->trace.n - 1 : 0;
}

static void split_line(struct data_view *d)
{
	struct data_view_state *s = &d->view_state;
	const char *text = edit_text(&s->line);
	struct err e = { 0 };

	d->stale = false;
	s->split_trouble[0] = 0;
	if (piece_tracer_encode_line(d->details.tracer, s->side, text, strlen(text),
				     &s->line_pieces, &e)) {
		s->line_pieces.n_words = 0;
		snprintf(s->split_trouble, sizeof(s->split_trouble), "%.190s", e.text);
	}
	if (s->typing)
		s->word = s->line_pieces.n_words; /* the word being typed */
	trace_word(d);
}

static void find_vocab_pieces(struct data_view *d)
{
	struct data_view_state *s = &d->view_state;
	struct err ignored;

	s->n_pieces = 0;
	for (int32_t id = 0; d->details.vocab && id < vocab_real_size(d->details.vocab); id++)
		if (text_filter_matches(&s->piece_filter, vocab_piece(d->details.vocab, id)) &&
		    !mem_grow(&s->pieces, &s->cap_pieces, s->n_pieces + 1, sizeof(*s->pieces),
			      &ignored))
			s->pieces[s->n_pieces++] = id;
}

static void filter_ledger(struct data_view *d)
{
	if (d->details.ledger)
		drop_rows_filter(d->details.ledger, d->view_state.rule,
				 &d->view_state.dropped_filter);
	d->view_state.lists[DATA_DROPPED] = (struct list_widget){ 0 };
}

/* Read facts of pairs and texts of examples, and what the pane in front makes of them. */
static unsigned update_facts(struct data_view *d)
{
	struct corpus_details *b = &d->details;
	bool got = corpus_details_read_facts(b, FACTS_S);

	if (d->view_state.front == DATA_RULES)
		data_update_trial(b, &d->view_state);
	else if (d->view_state.front == DATA_REPEATS)
		data_update_repeats(b, &d->view_state);
	return (got ? REACT_REDRAW : REACT_NOTHING) |
	       (corpus_details_is_reading(b) ? REACT_AGAIN : REACT_NOTHING);
}

static unsigned update_front_pane(struct data_view *d)
{
	struct corpus_details *b = &d->details;
	struct err e = { 0 };
	bool had = b->ledger || b->vocab || b->tracer || b->facts;
	unsigned reaction = REACT_NOTHING;

	corpus_details_open(b, d->view_state.front);
	if (!had && (b->ledger || b->vocab || b->tracer || b->facts))
		reaction = REACT_REDRAW;
	reaction |= update_facts(d);
	if (d->view_state.front == DATA_DROPPED && b->ledger && drop_rows_scanned(b->ledger) < 1) {
		int got = drop_rows_scan(b->ledger, LEDGER_BYTES, &e);

		return reaction | REACT_REDRAW | (got > 0 ? REACT_AGAIN : 0);
	}
	if (d->view_state.front == DATA_SPLIT && b->tracer && d->stale) {
		split_line(d);
		return reaction | REACT_REDRAW;
	}
	return reaction;
}

static unsigned data_update(void *state, struct app_context *w)
{
	struct data_view *d = state;
	const struct indexed_corpus *c;
	struct err e = { 0 };
	unsigned reaction = REACT_NOTHING;

	if (!w->front)
		return REACT_NOTHING;
	if (w->news & NEWS_JOBS)
		d->ws_index.listed_at = 0;
	if (workspace_index_update(&d->ws_index, w->workspace, w->now, BUDGET_S, &e) >
	    INDEX_UNCHANGED)
		reaction = REACT_REDRAW;
	c = wanted_corpus(d, w);
	if (!c)
		return reaction;
	if (strcmp(c->name, d->details.name)) {
		if (corpus_details_choose(&d->details, w->workspace, c->name, &e))
			return reaction;
		forget_positions(d);
	}
	if (corpus_details_update(&d->details, c)) {
		reaction = REACT_REDRAW;
		d->stale = true;
		if (!d->details.facts)
			forget_facts(&d->view_state);
	}
	reaction |= update_front_pane(d);
	return reaction | (c->state == CORPUS_WORKING ? REACT_SOON : 0);
}

/* ---- keys ---- */

static unsigned focus_data_pane(struct data_view *d, int by)
{
	d->view_state.front =
		(enum data_pane)(((int)d->view_state.front + by + DATA_PANES) % DATA_PANES);
	d->view_state.typing =
		d->view_state.front == DATA_SPLIT && by > 0 && d->details.tracer == NULL;
	return REACT_REDRAW | REACT_AGAIN;
}

static unsigned next_rule(struct data_view *d, int by)
{
	int rule = ((int)d->view_state.rule + by + CLEAN_N_RULES) % CLEAN_N_RULES;

	d->view_state.rule = (enum clean_rule)rule;
	filter_ledger(d);
	return REACT_REDRAW | REACT_AGAIN;
}

/* Left and right: the rule of dropped pairs, the value of a limit, or the word of a sentence. */
static unsigned move_sideways(struct data_view *d, int by)
{
	struct data_view_state *s = &d->view_state;

	if (s->front == DATA_DROPPED || s->front == DATA_PAIRS)
		return next_rule(d, by);
	if (s->front == DATA_RULES && data_has_limits(s)) {
		pair_limit_step(&s->tried, (enum pair_limit)s->lists[DATA_RULES].at, by);
		s->trial_is_late = true;
		return REACT_REDRAW | REACT_AGAIN;
	}
	if (s->front != DATA_SPLIT || !s->line_pieces.n_words)
		return REACT_NOTHING;
	s->word =
		(s->word + s->line_pieces.n_words + (size_t)(by + 1) - 1) % s->line_pieces.n_words;
	trace_word(d);
	return REACT_REDRAW;
}

static void ask_corpus(const struct data_view *d, struct app_context *w)
{
	const char *names[64];
	size_t n = 0;

	for (size_t i = 0; i < d->ws_index.n_corpora && n < ARRAY_LEN(names); i++)
		names[n++] = d->ws_index.corpora[i].name;
	if (n)
		context_ask_choice(w, ASK_CORPUS, "which corpus?", names, n);
}

/* Type the value of the chosen limit, or a sentence to split. */
static unsigned type_in_pane(struct data_view *d, struct app_context *w)
{
	struct data_view_state *s = &d->view_state;
	char value[32], title[60];

	if (s->front == DATA_RULES && data_has_limits(s)) {
		enum pair_limit l = (enum pair_limit)s->lists[DATA_RULES].at;

		snprintf(title, sizeof(title), "try %s", pair_limit_name(l));
		context_ask_text(w, QUESTION_LINE, ASK_LIMIT, title,
				 pair_limit_text(&s->tried, l, value));
		return REACT_REDRAW;
	}
	s->front = DATA_SPLIT;
	s->typing = true;
	return REACT_REDRAW | REACT_AGAIN;
}

static unsigned try_limit(struct data_view *d, struct app_context *w, const char *text)
{
	struct data_view_state *s = &d->view_state;
	struct err e = { 0 };

	if (!data_has_limits(s))
		return REACT_REDRAW;
	if (pair_limit_set(&s->tried, (enum pair_limit)s->lists[DATA_RULES].at, text, &e))
		context_notify(w, STYLE_BAD, "%s", e.text);
	s->trial_is_late = true;
	return REACT_REDRAW | REACT_AGAIN;
}

/* Back to the limits of the recipe. */
static unsigned reset_limits(struct data_view *d)
{
	struct data_view_state *s = &d->view_state;

	if (s->front != DATA_RULES || !data_has_limits(s) || !d->details.facts)
		return REACT_NOTHING;
	s->tried = pair_facts_counts(d->details.facts)->options;
	s->trial_is_late = true;
	return REACT_REDRAW | REACT_AGAIN;
}

/* Copy the chosen row of a pane to the clipboard. */
static void copy_shown(const struct data_view *d, struct app_context *w)
{
	const struct data_view_state *s = &d->view_state;
	size_t at = s->lists[s->front].at;
	struct buf text = { 0 };
	struct drop_row row;

	if (s->front == DATA_DROPPED && at < data_rows(&d->details, s)) {
		drop_rows_get(d->details.ledger, at, &row);
		utf8_repair(&text, row.source.text, row.source.n);
		buf_add_char(&text, '\t');
		utf8_repair(&text, row.target.text, row.target.n);
	} else if (s->front == DATA_RULES) {
		data_trial_recipe(&d->details, s, &text);
	} else if (s->front == DATA_SPLIT) {
		buf_add_str(&text, buf_text(&s->line_pieces.pieces));
	} else if (s->front == DATA_VOCABULARY && at < data_rows(&d->details, s)) {
		buf_add_str(&text,
			    vocab_piece(d->details.vocab,
					*s->piece_filter.text ? s->pieces[at] : (int32_t)at));
	}
	if (text.len)
		context_copy_text(w, buf_text(&text));
	buf_free(&text);
}

static unsigned data_act(void *state, struct app_context *w, enum action action)
{
	struct data_view *d = state;
	struct data_view_state *s = &d->view_state;

	switch (action) {
	case ACTION_NEXT_PANE:
		return focus_data_pane(d, 1);
	case ACTION_PREV_PANE:
		return focus_data_pane(d, -1);
	case ACTION_LEFT:
		return move_sideways(d, -1);
	case ACTION_RIGHT:
		return move_sideways(d, 1);
	case ACTION_DATA_CORPUS:
		ask_corpus(d, w);
		return REACT_REDRAW;
	case ACTION_DATA_TYPE:
		return type_in_pane(d, w);
	case ACTION_DATA_RESET:
		return reset_limits(d);
	case ACTION_ZOOM:
		if (s->front != DATA_PAIRS && s->front != DATA_DROPPED)
			return REACT_UNKNOWN;
		s->zoomed = !s->zoomed;
		return REACT_REDRAW;
	case ACTION_COPY:
		copy_shown(d, w);
		return REACT_REDRAW;
	default:
		return REACT_UNKNOWN;
	}
}

static bool data_typing(void *state)
{
	struct data_view *d = state;

	return d->view_state.typing && d->view_state.front == DATA_SPLIT;
}

static unsigned data_key(void *state, struct app_context *w, int key)
{
	struct data_view *d = state;

	(void)w;
	if (key == '\t' || key == KEY_NAME_BACKTAB) {
		d->view_state.typing = false;
		return focus_data_pane(d, key == '\t' ? 1 : -1);
	}
	switch (edit_key(&d->view_state.line, key)) {
	case EDIT_IGNORED:
		return REACT_UNKNOWN;
	case EDIT_MOVED:
		return REACT_REDRAW;
	case EDIT_CHANGED:
		d->stale = true;
		return REACT_REDRAW | REACT_AGAIN;
	default:
		d->view_state.typing = false;
		return REACT_REDRAW;
	}
}

static unsigned data_paste(void *state, struct app_context *w, const char *text)
{
	struct data_view *d = state;

	(void)w;
	if (!data_typing(d) || edit_paste(&d->view_state.line, text) != EDIT_CHANGED)
		return REACT_NOTHING;
	d->stale = true;
	return REACT_REDRAW | REACT_AGAIN;
}

static unsigned data_answer(void *state, struct app_context *w, int question, const char *text)
{
	if (!text)
		return REACT_REDRAW;
	if (question == ASK_LIMIT)
		return try_limit(state, w, text);
	snprintf(w->corpus, sizeof(w->corpus), "%s", text);
	return REACT_REDRAW | REACT_AGAIN;
}

/* ---- drawing ---- */

static const struct view_pane data_view_panes[DATA_PANES] = {
	[DATA_STAGES] = VIEW_PANE("stages", ACTION_DATA_CORPUS, ACTION_NEXT_PANE),
	[DATA_PAIRS] = VIEW_PANE("pairs", ACTION_DATA_SIDE, ACTION_ZOOM, ACTION_LEFT, ACTION_RIGHT,
				 ACTION_NEXT_PANE),
	[DATA_RULES] =
		VIEW_PANE("limits", ACTION_DATA_TYPE, ACTION_DATA_RESET, ACTION_COPY, ACTION_LEFT,
			  ACTION_RIGHT, ACTION_UP, ACTION_DOWN, ACTION_NEXT_PANE),
	[DATA_DROPPED] = VIEW_PANE("dropped", ACTION_FIND, ACTION_COPY, ACTION_ZOOM, ACTION_LEFT,
				   ACTION_RIGHT, ACTION_UP, ACTION_DOWN, ACTION_NEXT_PANE),
	[DATA_REPEATS] = VIEW_PANE("repeats", ACTION_UP, ACTION_DOWN, ACTION_NEXT_PANE),
	[DATA_VOCABULARY] = VIEW_PANE("vocabulary", ACTION_FIND, ACTION_COPY, ACTION_NEXT_PANE),
	[DATA_SPLIT] = VIEW_PANE("split", ACTION_DATA_TYPE, ACTION_DATA_SIDE, ACTION_COPY,
				 ACTION_LEFT, ACTION_RIGHT, ACTION_NEXT_PANE),
};

/* The panes as tabs: one of them is shown. */
static void draw_pane_bar(struct grid *g, struct rect r, struct data_view *d)
{
	int col = r.col + 2;

	d->bar_row = r.rows < 1 ? -1 : r.row;
	if (r.rows < 1)
		return;
	for (int i = 0; i < DATA_PANES; i++) {
		bool front = (int)d->view_state.front == i;

		if (front)
			grid_put(g, r.row, col - 1, STYLE_FOCUS, '[');
		col += draw_text(g, r.row, col, r.col + r.cols - col,
				 front ? STYLE_FOCUS : STYLE_DIM, data_view_panes[i].name);
		if (front)
			grid_put(g, r.row, col, STYLE_FOCUS, ']');
		d->bar_ends[i] = col + 1;
		col += 3;
	}
}

/* A click on the name of a pane shows the pane. */
static unsigned data_mouse(void *state, struct app_context *w, const struct mouse *m)
{
	struct data_view *d = state;
	int i = 0;

	(void)w;
	if (m->kind != MOUSE_PRESS || m->row != d->bar_row)
		return REACT_UNKNOWN;
	while (i < DATA_PANES && m->col > d->bar_ends[i])
		i++;
	return i < DATA_PANES ? focus_data_pane(d, i - (int)d->view_state.front) : REACT_NOTHING;
}

static void data_draw(void *state, struct grid *g, struct rect body, const struct app_context *w)
{
	static void (*const draw[DATA_PANES])(struct grid *, struct rect,
					      const struct corpus_details *,
					      struct data_view_state *) = {
		[DATA_PAIRS] = data_draw_pairs,		  [DATA_RULES] = data_draw_trial,
		[DATA_DROPPED] = data_draw_dropped,	  [DATA_REPEATS] = data_draw_repeats,
		[DATA_VOCABULARY] = data_draw_vocabulary, [DATA_SPLIT] = data_draw_split,
	};
	struct data_view *d = state;
	struct rect head = body, bar = body, pane = body;

	head.rows = MIN(body.rows, 1);
	bar.row += 1;
	bar.rows = body.rows > 6;
	pane.row += 1 + bar.rows;
	pane.rows = body.rows - 1 - bar.rows;
	if (!*d->details.name) {
		draw_centred(g, body, STYLE_TITLE,
			     "There is no corpus yet.\n\n"
			     "The home view prepares one: 1, then Enter.");
		return;
	}
	data_draw_head(g, head, &d->details);
	draw_pane_bar(g, bar, d);
	if (pane.rows < 1)
		return;
	if (d->view_state.front == DATA_STAGES)
		data_draw_stages(g, pane, &d->details, w->now);
	else
		draw[d->view_state.front](g, pane, &d->details, &d->view_state);
}

static void use_side(void *state, struct app_context *w)
{
	struct data_view *d = state;

	(void)w;
	d->stale = true;
}

static void use_dropped_filter(void *state, struct app_context *w)
{
	(void)w;
	filter_ledger(state);
}

static void use_piece_filter(void *state, struct app_context *w)
{
	struct data_view *d = state;

	(void)w;
	d->view_state.lists[DATA_VOCABULARY] = (struct list_widget){ 0 };
	find_vocab_pieces(d);
}

static void data_restored(void *state, struct app_context *w)
{
	struct data_view *d = state;

	d->stale = d->view_state.trial_is_late = true;
	use_dropped_filter(d, w);
	use_piece_filter(d, w);
}

static const struct view_toggle data_toggles[] = {
	VIEW_KEY(struct data_view, view_state.side, ACTION_DATA_SIDE, 2, use_side),
	VIEW_TOGGLE(struct data_view, view_state.rule),
	VIEW_TOGGLE(struct data_view, view_state.zoomed),
	VIEW_TOGGLE(struct data_view, view_state.tried),
	VIEW_FILTER(struct data_view, view_state.dropped_filter, ACTION_FIND, DATA_DROPPED,
		    "only pairs that contain", use_dropped_filter),
	VIEW_FILTER(struct data_view, view_state.piece_filter, ACTION_FIND, DATA_VOCABULARY,
		    "only pieces that contain", use_piece_filter),
};

const struct view view_data = {
	.name = "data",
	.title = "data",
	.state_size = sizeof(struct data_view),
	.open = data_open,
	.update = data_update,
	.act = data_act,
	.draw = data_draw,
	.close = data_close,
	.typing = data_typing,
	.key = data_key,
	.paste = data_paste,
	.mouse = data_mouse,
	.answer = data_answer,
	.panes = data_view_panes,
	.n_panes = DATA_PANES,
	.focus = offsetof(struct data_view, view_state.front),
	.lists = offsetof(struct data_view, view_state.lists),
	.n_lists = DATA_PANES,
	.hints = VIEW_ACTIONS(ACTION_NEXT_PANE, ACTION_DATA_CORPUS, ACTION_FIND, ACTION_DATA_TYPE,
			      ACTION_DATA_SIDE, ACTION_COPY),
	.toggles = data_toggles,
	.n_toggles = ARRAY_LEN(data_toggles),
	.restored = data_restored,
};
