/*
 * xliff.c - XLIFF 1.0 to 1.2 and 2.0 to 2.1
 *
 *	1.2	<file source-language="en" target-language="de">
 *		<trans-unit><source>…</source><target state="translated">…</target></trans-unit>
 *	2	<xliff srcLang="en" trgLang="de">
 *		<unit><segment state="final"><source>…</source><target>…</target></segment></unit>
 *
 * A file of the opposite direction gives pairs with the sides exchanged. If a <trans-unit> has segments
 * (<mrk mtype="seg" mid="…"> in <seg-source> and <target>), each of them is a pair, by its mid.
 * <alt-trans> is not read.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "data/bilingual/language_tag.h"
#include "data/bilingual/xml_pairs.h"
#include "share/base/mem.h"
#include "share/base/util.h"

#define MAX_MARKS     1000 /* segments of a <trans-unit> */
#define MARK_ID_BYTES 40

/* <mrk mtype="seg" mid="…">: a part of the text. */
struct xliff_mark {
	char id[MARK_ID_BYTES];
	size_t at, n;
};

struct xliff_marks {
	struct xliff_mark *items; /* owned */
	size_t n, cap;
};

enum xliff_text { XLIFF_SOURCE, XLIFF_TARGET, XLIFF_SEGMENTED, XLIFF_N_TEXTS };

struct xliff {
	enum { XLIFF_OTHER, XLIFF_STRAIGHT, XLIFF_OPPOSITE } direction;
	int in_unit;		      /* depth of the parent of <source> and <target>; 0: none */
	bool is_unit_kept;	      /* translate="no" in the <unit> of XLIFF 2 */
	enum bilingual_reason reason; /* of the current unit */
	struct buf texts[XLIFF_N_TEXTS];
	struct xliff_marks marks[XLIFF_N_TEXTS]; /* of <target> and <seg-source> */
	enum xliff_text current;		 /* text of the current segment */
	int mark_depth;				 /* of the current mark; 0: none */
};

/* ---- languages and states ---- */

static void find_direction(struct xml_pairs *p, struct xliff *x, const char *from, const char *to)
{
	const struct bilingual_options *o = bilingual_opened_with(xml_pairs_file(p));

	bilingual_note_language(xml_pairs_file(p), from);
	bilingual_note_language(xml_pairs_file(p), to);
	x->direction = XLIFF_OTHER;
	if (language_tag_fit(o->source_language, from) &&
	    (!*to || language_tag_fit(o->target_language, to)))
		x->direction = XLIFF_STRAIGHT;
	else if (language_tag_fit(o->target_language, from) &&
		 (!*to || language_tag_fit(o->source_language, to)))
		x->direction = XLIFF_OPPOSITE;
}

/* States of 1.2 and 2 that say: there is no translation yet, whatever <target> holds. */
static bool is_open_state(const char *state)
{
	static const char *const states[] = { "new", "needs-translation", "needs-l10n", "initial" };

	for (size_t i = 0; i < ARRAY_LEN(states); i++)
		if (!strcmp(state, states[i]))
			return true;
	return false;
}

static bool is_kept(const char *const *attributes)
{
	return !strcmp(xml_attribute(attributes, "translate"), "no");
}

static void begin_xliff_unit(struct xliff *x, bool kept, const char *const *attributes, int depth)
{
	x->in_unit = depth;
	x->reason = x->direction == XLIFF_OTHER				? BILINGUAL_FOREIGN
		    : kept						? BILINGUAL_UNCHANGED
		    : is_open_state(xml_attribute(attributes, "state")) ? BILINGUAL_STATE
									: BILINGUAL_PAIR;
	for (size_t i = 0; i < XLIFF_N_TEXTS; i++) {
		buf_clear(&x->texts[i]);
		x->marks[i].n = 0;
	}
}

/* ---- events ---- */

static void begin_xliff_text(struct xml_pairs *p, struct xliff *x, const char *name,
			     const char *const *attributes, int depth)
{
	static const char *const names[] = { "source", "target", "seg-source" };

	for (size_t i = 0; i < ARRAY_LEN(names); i++) {
		if (strcmp(name, names[i]))
			continue;
		if (i == XLIFF_TARGET && x->reason == BILINGUAL_PAIR &&
		    is_open_state(xml_attribute(attributes, "state")))
			x->reason = BILINGUAL_STATE;
		x->current = (enum xliff_text)i;
		x->marks[i].n = 0;
		xml_pairs_begin_text(p, &x->texts[i], depth);
	}
}

static int xliff_begin(struct xml_pairs *p, const char *name, const char *const *attributes,
		       int depth, struct err *e)
{
	struct xliff *x = xml_pairs_state(p);

	(void)e;
	if (x->in_unit) {
		if (depth == x->in_unit + 1)
			begin_xliff_text(p, x, name, attributes, depth);
	} else if (!strcmp(name, "xliff") && *xml_attribute(attributes, "srcLang")) {
		find_direction(p, x, xml_attribute(attributes, "srcLang"),
			       xml_attribute(attributes, "trgLang"));
	} else if (!strcmp(name, "file") && *xml_attribute(attributes, "source-language")) {
		find_direction(p, x, xml_attribute(attributes, "source-language"),
			       xml_attribute(attributes, "target-language"));
	} else if (!strcmp(name, "trans-unit")) {
		begin_xliff_unit(x, is_kept(attributes), attributes, depth);
	} else if (!strcmp(name, "unit")) {
		x->is_unit_kept = is_kept(attributes);
	} else if (!strcmp(name, "segment")) {
		begin_xliff_unit(x, x->is_unit_kept, attributes, depth);
	}
	return 0;
}

static int xliff_mark_begin(struct xml_pairs *p, const char *name, const char *const *attributes,
			    int depth, struct err *e)
{
	struct xliff *x = xml_pairs_state(p);
	struct xliff_marks *m = &x->marks[x->current];

	if (x->mark_depth || strcmp(name, "mrk") ||
	    strcmp(xml_attribute(attributes, "mtype"), "seg"))
		return 0;
	if (m->n == MAX_MARKS)
		return err_set(e, ERR_DATA, "%s: a <trans-unit> has more than %d segments",
			       bilingual_opened_with(xml_pairs_file(p))->name, MAX_MARKS);
	if (mem_grow(&m->items, &m->cap, m->n + 1, sizeof(*m->items), e))
		return e->code;
	m->items[m->n] = (struct xliff_mark){ .at = x->texts[x->current].len };
	snprintf(m->items[m->n++].id, MARK_ID_BYTES, "%s", xml_attribute(attributes, "mid"));
	x->mark_depth = depth;
	return 0;
}

static void xliff_mark_end(struct xml_pairs *p, int depth)
{
	struct xliff *x = xml_pairs_state(p);
	struct xliff_marks *m = &x->marks[x->current];

	if (depth != x->mark_depth)
		return;
	x->mark_depth = 0;
	m->items[m->n - 1].n = x->texts[x->current].len - m->items[m->n - 1].at;
}

/* ---- pairs ---- */

static int add_xliff_pair(struct xml_pairs *p, const struct xliff *x, struct text_span source,
			  struct text_span target, struct err *e)
{
	const bool is_opposite = x->direction == XLIFF_OPPOSITE;

	return bilingual_add(xml_pairs_file(p), x->reason, is_opposite ? target : source,
			     is_opposite ? source : target, e);
}

static struct text_span span_of_mark(const struct xliff *x, enum xliff_text text,
				     const struct xliff_mark *m)
{
	return (struct text_span){ buf_text(&x->texts[text]) + m->at, m->n };
}

/* The segment of the target with this id; it is looked for from place i on. Empty: there is none. */
static struct text_span find_target_mark(const struct xliff *x, const char *id, size_t i)
{
	const struct xliff_marks *m = &x->marks[XLIFF_TARGET];

	for (size_t k = 0; k < m->n; k++) {
		const struct xliff_mark *mark = &m->items[(i + k) % m->n];

		if (!strcmp(mark->id, id))
			return span_of_mark(x, XLIFF_TARGET, mark);
	}
	return (struct text_span){ "", 0 };
}

static int end_xliff_unit(struct xml_pairs *p, struct xliff *x, struct err *e)
{
	const struct xliff_marks *m = &x->marks[XLIFF_SEGMENTED];

	if (!m->n || !x->marks[XLIFF_TARGET].n)
		return add_xliff_pair(p, x, span_of_buf(&x->texts[XLIFF_SOURCE]),
				      span_of_buf(&x->texts[XLIFF_TARGET]), e);
	for (size_t i = 0; i < m->n; i++)
		if (add_xliff_pair(p, x, span_of_mark(x, XLIFF_SEGMENTED, &m->items[i]),
				   find_target_mark(x, m->items[i].id, i), e))
			return e->code;
	return 0;
}

static int xliff_end(struct xml_pairs *p, const char *name, int depth, struct err *e)
{
	struct xliff *x = xml_pairs_state(p);

	(void)name;
	if (!x->in_unit || depth != x->in_unit)
		return 0;
	x->in_unit = 0;
	return end_xliff_unit(p, x, e);
}

static void xliff_close(struct xml_pairs *p)
{
	struct xliff *x = xml_pairs_state(p);

	for (size_t i = 0; i < XLIFF_N_TEXTS; i++) {
		buf_free(&x->texts[i]);
		free(x->marks[i].items);
	}
}

const struct xml_pairs_kind xml_pairs_xliff = {
	.root = "xliff",
	.state_bytes = sizeof(struct xliff),
	.begin = xliff_begin,
	.end = xliff_end,
	.mark_begin = xliff_mark_begin,
	.mark_end = xliff_mark_end,
	.close = xliff_close,
};
