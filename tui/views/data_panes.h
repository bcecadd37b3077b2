/* data_panes.h - drawing of the panes of the data view. */
#ifndef WERKBANK_TUI_VIEWS_DATA_PANES_H
#define WERKBANK_TUI_VIEWS_DATA_PANES_H

#include "data/text/text_filter.h"
#include "tui/run/corpus_details.h"
#include "tui/term/edit.h"
#include "tui/term/grid.h"
#include "tui/term/layout.h"
#include "tui/term/list_widget.h"

/* Position and searches of the user. */
struct data_view_state {
	enum data_pane front;
	struct list_widget lists[DATA_PANES];
	enum clean_rule rule; /* CLEAN_KEEP: all rules */
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
void data_draw_bar(struct grid *g, struct rect r, const struct data_view_state *s);
void data_draw_stages(struct grid *g, struct rect r, const struct corpus_details *b, double now);
void data_draw_dropped(struct grid *g, struct rect r, const struct corpus_details *b,
		       struct data_view_state *s);
void data_draw_vocabulary(struct grid *g, struct rect r, const struct corpus_details *b,
			  struct data_view_state *s);
void data_draw_split(struct grid *g, struct rect r, const struct corpus_details *b,
		     struct data_view_state *s);

#endif
