/*
 * tmx.c - translation memories, TMX 1.1 to 1.4
 *
 *	<tu><tuv xml:lang="en-US"><seg>…</seg></tuv><tuv xml:lang="de"><seg>…</seg></tuv></tu>
 *
 * Of several variants of a language in a <tu>, the one that fits best gives the text, and among equals
 * the first.
 */
#include <string.h>

#include "data/bilingual/language_tag.h"
#include "data/bilingual/xml_pairs.h"

struct tmx {
	struct buf text[2]; /* of source and target in the current <tu> */
	int fit[2];	    /* of their languages; 0: no <tuv> so far */
	int in_unit;	    /* depth of the current <tu>; 0: none */
	int tuv_fit[2];	    /* of the current <tuv> */
};

static void begin_tuv(struct xml_pairs *p, struct tmx *t, const char *const *attributes)
{
	const struct bilingual_options *o = bilingual_opened_with(xml_pairs_file(p));
	const char *language = xml_attribute(attributes, "lang");

	t->tuv_fit[0] = language_tag_fit(o->source_language, language);
	t->tuv_fit[1] = language_tag_fit(o->target_language, language);
	bilingual_note_language(xml_pairs_file(p), language);
}

/* The side that the current <tuv> gives: the one that its language fits better; -1: none. */
static int side_of_tuv(const struct tmx *t)
{
	const int side = t->tuv_fit[1] > t->tuv_fit[0];

	return t->tuv_fit[side] > t->fit[side] ? side : -1;
}

static int tmx_begin(struct xml_pairs *p, const char *name, const char *const *attributes,
		     int depth, struct err *e)
{
	struct tmx *t = xml_pairs_state(p);
	int side;

	(void)e;
	if (!t->in_unit && !strcmp(name, "tu")) {
		t->in_unit = depth;
		t->fit[0] = t->fit[1] = 0;
		buf_clear(&t->text[0]);
		buf_clear(&t->text[1]);
	} else if (t->in_unit && depth == t->in_unit + 1 && !strcmp(name, "tuv")) {
		begin_tuv(p, t, attributes);
	} else if (t->in_unit && depth == t->in_unit + 2 && !strcmp(name, "seg")) {
		side = side_of_tuv(t);
		if (side >= 0)
			t->fit[side] = t->tuv_fit[side];
		xml_pairs_begin_text(p, side >= 0 ? &t->text[side] : NULL, depth);
	}
	return 0;
}

static int tmx_end(struct xml_pairs *p, const char *name, int depth, struct err *e)
{
	struct tmx *t = xml_pairs_state(p);

	(void)name;
	if (depth == t->in_unit + 1)
		t->tuv_fit[0] = t->tuv_fit[1] = 0;
	if (!t->in_unit || depth != t->in_unit)
		return 0;
	t->in_unit = 0;
	return bilingual_add(xml_pairs_file(p), BILINGUAL_PAIR, span_of_buf(&t->text[0]),
			     span_of_buf(&t->text[1]), e);
}

static void tmx_close(struct xml_pairs *p)
{
	struct tmx *t = xml_pairs_state(p);

	buf_free(&t->text[0]);
	buf_free(&t->text[1]);
}

const struct xml_pairs_kind xml_pairs_tmx = {
	.root = "tmx",
	.state_bytes = sizeof(struct tmx),
	.begin = tmx_begin,
	.end = tmx_end,
	.close = tmx_close,
};
