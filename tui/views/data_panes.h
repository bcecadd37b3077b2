/* data_panes.h - drawing of the panes of the data view. */
#ifndef WERKBANK_TUI_VIEWS_DATA_PANES_H
#define WERKBANK_TUI_VIEWS_DATA_PANES_H

#include "data/text/text_filter.h"
#include "tui/run/corpus_details.h"
#include "tui/term/edit.h"
#include "tui/term/grid.h"
#include "tui/term/layout.h"
#include "tui/term/list_widget.h"

/* A row of the pane of repeats: a heading, a count, or an example. */
struct data_repeat_row {
	char text[160];
	enum style style;
	bool has_place; /* an example: the words of the pair follow */
	struct pair_place place;
};

/* Position and searches of the user. */
struct data_view_state {
	enum data_pane front;
	struct list_widget lists[DATA_PANES];
	enum clean_rule rule; /* CLEAN_KEEP: all rules */
	bool zoomed; /* the density of lengths, or the chosen dropped pair, fills the pane */
	/* trying other limits */
	struct clean_options tried; /* max_words 0: not set; begins as the limits of the recipe */
	bool trial_is_late;	    /* tried or the facts changed since the trial */
	struct pair_trial trial;
	/* repeats and leaks */
	struct data_repeat_row *repeat_rows; /* owned */
	size_t n_repeat_rows, cap_repeat_rows;
	bool has_repeat_rows;
	struct text_filter dropped_filter, piece_filter;
	/* indices of vocabulary entries that match piece_filter; unused without it */
	int32_t *pieces; /* owned */
	size_t n_pieces, cap_pieces;
	/* splitting a sentence */
	struct edit line;
	bool typing;
	enum pipeline_side side;
	struct line_pieces line_pieces; /* of line */
	struct bpe_trace trace;		/* of word number `word` */
	size_t word;
	char split_trouble[200];
};

/* Number of rows of the pane in front. */
size_t data_rows(const struct corpus_details *b, const struct data_view_state *s);

/* Each draws a pane into r. */
void data_draw_head(struct grid *g, struct rect r, const struct corpus_details *b);
void data_draw_stages(struct grid *g, struct rect r, const struct corpus_details *b, double now);
void data_draw_dropped(struct grid *g, struct rect r, const struct corpus_details *b,
		       struct data_view_state *s);
void data_draw_vocabulary(struct grid *g, struct rect r, const struct corpus_details *b,
			  struct data_view_state *s);
void data_draw_split(struct grid *g, struct rect r, const struct corpus_details *b,
		     struct data_view_state *s);
void data_draw_pairs(struct grid *g, struct rect r, const struct corpus_details *b,
		     struct data_view_state *s);
void data_draw_trial(struct grid *g, struct rect r, const struct corpus_details *b,
		     struct data_view_state *s);
void data_draw_repeats(struct grid *g, struct rect r, const struct corpus_details *b,
		       struct data_view_state *s);

/* Why a pane of facts is empty, in the inside of its box. */
void data_draw_no_facts(struct grid *g, struct rect in, const struct corpus_details *b);
/* "all 202 pairs", "the first 12 % of 4,500,000 pairs", … */
const char *data_facts_extent(const struct corpus_details *b, char *out, size_t size);

/* The file of a pair without its folder, and its line: "train.en:12". */
const char *data_place_text(const struct corpus_details *b, struct pair_place place, char *out,
			    size_t size);

/* ---- what the keys of these panes do (data_trial.c, data_repeats.c) ---- */

/* Are there limits to change? */
bool data_has_limits(const struct data_view_state *s);
/* Try the limits again if they or the facts changed, and ask for the texts of the examples. */
void data_update_trial(struct corpus_details *b, struct data_view_state *s);
/* The changed limits as lines of a recipe; empty: none is changed. */
void data_trial_recipe(const struct corpus_details *b, const struct data_view_state *s,
		       struct buf *out);
/* Make the rows of the pane once all facts are read, and ask for the texts of the examples. */
void data_update_repeats(struct corpus_details *b, struct data_view_state *s);

#endif
