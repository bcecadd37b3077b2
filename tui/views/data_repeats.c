/* data_repeats.c - repeated pairs and held-out sentences in training, in the data view. */
#include <math.h>
#include <stdarg.h>
#include <stdio.h>

#include "share/base/mem.h"
#include "share/base/number_format.h"
#include "share/base/util.h"
#include "tui/term/draw.h"
#include "tui/views/data_panes.h"

#define REPEAT_EXAMPLES 5
#define LEAK_EXAMPLES	3
#define PLACE_COLS	30 /* columns of an example before its words */

static struct data_repeat_row *PRINTF_LIKE(3, 4)
	add_repeat_row(struct data_view_state *s, enum style style, const char *fmt, ...)
{
	struct data_repeat_row *row;
	struct err ignored;
	va_list ap;

	if (mem_grow(&s->repeat_rows, &s->cap_repeat_rows, s->n_repeat_rows + 1,
		     sizeof(*s->repeat_rows), &ignored))
		return NULL;
	row = &s->repeat_rows[s->n_repeat_rows++];
	*row = (struct data_repeat_row){ .style = style };
	va_start(ap, fmt);
	vsnprintf(row->text, sizeof(row->text), fmt, ap);
	va_end(ap);
	return row;
}

static void set_row_place(struct data_repeat_row *row, struct pair_place place)
{
	if (!row)
		return;
	row->has_place = true;
	row->place = place;
}

static void add_repeats(const struct corpus_details *b, struct data_view_state *s,
			enum pair_repeat what)
{
	static const char *const names[PAIR_REPEATS] = { "pairs", "sources", "targets" };
	struct pair_estimate x = pair_facts_repeats(b->facts, what);
	struct pair_repeat_example examples[REPEAT_EXAMPLES];
	char place[90];
	int64_t kept = pair_facts_counts(b->facts)->of_rule[CLEAN_KEEP];
	int found = pair_facts_repeat_examples(b->facts, what, examples, REPEAT_EXAMPLES);

	if (x.is_exact)
		add_repeat_row(s, STYLE_BRIGHT, "%s that were there before: %s  (%.1f %%)",
			       names[what], COUNT_TEXT((int64_t)x.n),
			       100 * x.n / (double)MAX(kept, 1));
	else
		add_repeat_row(s, STYLE_BRIGHT,
			       "%s that were there before: about %s, 95 %% within %s  (%.1f %%)",
			       names[what], COUNT_TEXT(llround(x.n)),
			       COUNT_TEXT((int64_t)ceil(x.margin)),
			       100 * x.n / (double)MAX(kept, 1));
	for (int i = 0; i < found; i++)
		set_row_place(
			add_repeat_row(s, STYLE_NORMAL, "%6s times, first %s",
				       COUNT_TEXT(examples[i].n),
				       data_place_text(b, examples[i].first, place, sizeof(place))),
			examples[i].first);
}

static void add_leaks(const struct corpus_details *b, struct data_view_state *s,
		      const struct pair_leaks *l)
{
	static const char *const parts[3] = { "pair", "source", "target" };
	char n[4][NUMBER_TEXT_BYTES], place[90];

	for (int i = 0; i < 3; i++)
		format_count(n[i], l->n[i]);
	add_repeat_row(
		s, l->n[0] ? STYLE_WARN : STYLE_BRIGHT,
		"%.40s, %s pairs: %s training pairs have one of its pairs, %s a source, %s a "
		"target",
		l->set, format_count(n[3], l->n_lines), n[0], n[1], n[2]);
	for (int i = 0; i < l->n_examples && i < LEAK_EXAMPLES; i++)
		set_row_place(add_repeat_row(s, STYLE_NORMAL, "  %s %.20s:%lld is %s",
					     parts[l->examples[i].part], l->set,
					     (long long)l->examples[i].line,
					     data_place_text(b, l->examples[i].place, place,
							     sizeof(place))),
			      l->examples[i].place);
}

static void add_dropped_repeats(const struct corpus_details *b, struct data_view_state *s)
{
	add_repeat_row(s, STYLE_DIM, "dropped by the rule duplicate: %s%s",
		       COUNT_TEXT(pair_facts_counts(b->facts)->of_rule[CLEAN_DUPLICATE]),
		       pair_facts_counts(b->facts)->drop_duplicates ? ""
								    : " (drop-duplicates is off)");
}

static void add_dropped_overlap(const struct corpus_details *b, struct data_view_state *s)
{
	add_repeat_row(s, STYLE_DIM, "dropped by the rule overlap: %s%s",
		       COUNT_TEXT(pair_facts_counts(b->facts)->of_rule[CLEAN_OVERLAP]),
		       pair_facts_counts(b->facts)->drop_overlap ? "" : " (overlap = drop is off)");
}

void data_update_repeats(struct corpus_details *b, struct data_view_state *s)
{
	struct pair_place places[PAIR_TEXTS_MAX];
	size_t n = 0;

	if (!b->facts || !b->facts_are_read || *b->facts_trouble || s->has_repeat_rows)
		return;
	s->has_repeat_rows = true;
	s->n_repeat_rows = 0;
	add_repeat_row(s, STYLE_TITLE, "Repeats among the kept training pairs");
	for (int i = 0; i < PAIR_REPEATS; i++)
		add_repeats(b, s, (enum pair_repeat)i);
	add_dropped_repeats(b, s);
	add_repeat_row(s, STYLE_TITLE, "Held-out sentences among the kept training pairs");
	for (int i = 0; i < pair_facts_counts(b->facts)->n_sets; i++)
		add_leaks(b, s, &pair_facts_counts(b->facts)->leaks[i]);
	if (!pair_facts_counts(b->facts)->n_sets)
		add_repeat_row(s, STYLE_DIM, "no held-out set can be read");
	add_dropped_overlap(b, s);
	for (size_t i = 0; i < s->n_repeat_rows && n < PAIR_TEXTS_MAX; i++)
		if (s->repeat_rows[i].has_place)
			places[n++] = s->repeat_rows[i].place;
	if (n)
		corpus_details_want_texts(b, places, n);
}

static void draw_repeat_row(const struct list_row *row, const struct corpus_details *b,
			    const struct data_repeat_row *r)
{
	const char *source, *target;

	row_text(row, 2, r->has_place ? PLACE_COLS : 0, r->style, r->text);
	if (!r->has_place)
		return;
	source = b->texts ? pair_texts_get(b->texts, r->place, 0) : NULL;
	target = source ? pair_texts_get(b->texts, r->place, 1) : NULL;
	if (target)
		row_pair(row, 2 + PLACE_COLS + 2, r->style, source, target);
}

void data_draw_repeats(struct grid *g, struct rect r, const struct corpus_details *b,
		       struct data_view_state *s)
{
	struct list_row row;
	char title[120] = "repeats", extent[80];

	if (b->facts)
		snprintf(title, sizeof(title), "repeats; %s",
			 data_facts_extent(b, extent, sizeof(extent)));
	row = list_box(g, r, title, &s->lists[DATA_REPEATS], s->n_repeat_rows, true);
	if (!s->n_repeat_rows)
		data_draw_no_facts(g, layout_inside(r), b);
	while (list_row_next(&row))
		draw_repeat_row(&row, b, &s->repeat_rows[row.i]);
}
