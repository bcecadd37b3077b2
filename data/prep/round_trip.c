/* round_trip.c - see round_trip.h */
#include "data/prep/round_trip.h"

#include <stdlib.h>
#include <string.h>

#include "data/pipeline/pair_tools.h"
#include "data/pipeline/pipeline.h"
#include "data/prep/parallel.h"
#include "data/text/chars.h"
#include "share/base/file.h"
#include "share/base/text.h"
#include "share/base/util.h"

#define COMPARED_LINES 1000
#define WARN_LINES     20 /* warn about at least this number of lines … */
#define WARN_SHARE     10 /* … and a tenth of all */
#define EXAMPLE_BYTES  120u

struct round_tools {
	struct pair_tools *pairs; /* owned */
	struct round_trip *result;
	struct buf raw, tokens, back; /* of the current line; raw and back without extra blanks */
	struct protect *protect;      /* NULL: none */
	struct protect_masked masked;
	struct buf text;			/* result of a tool */
	struct buf example, example_comes_back; /* the shortest line that differs */
};

static int open_round_tools(struct round_tools *t, const struct conf *c, struct err *e)
{
	if (pipeline_symbols(&t->protect, c, e))
		return e->code;
	t->pairs = pair_tools_open(c, e);
	return t->pairs ? 0 : e->code;
}

static void close_round_tools(struct round_tools *t)
{
	struct buf *const bufs[] = { &t->raw,  &t->tokens,  &t->back,
				     &t->text, &t->example, &t->example_comes_back };

	pair_tools_close(t->pairs);
	protect_close(t->protect);
	protect_masked_free(&t->masked);
	for (size_t i = 0; i < ARRAY_LEN(bufs); i++)
		buf_free(bufs[i]);
}

/* Replace out by the text with one space for each run of blanks, and none at its ends. */
static void collapse_blanks(const char *text, size_t n, struct buf *out)
{
	bool blank = false;

	buf_clear(out);
	for (size_t at = 0; at < n;) {
		uint32_t c;
		size_t length = utf8_decode(text + at, n - at, &c);

		if (!chars_is_blank(c)) {
			if (blank && out->len)
				buf_add_char(out, ' ');
			buf_add(out, text + at, length);
		}
		blank = chars_is_blank(c);
		at += length;
	}
}

static void keep_shortest_example(struct round_tools *t)
{
	if (t->example.len && t->example.len <= t->raw.len)
		return;
	buf_clear(&t->example);
	buf_clear(&t->example_comes_back);
	buf_add(&t->example, t->raw.data, t->raw.len);
	buf_add(&t->example_comes_back, t->back.data, t->back.len);
}

/* Compare the target of a pair; 1: enough lines are compared. */
static int compare_round_trip(void *context, const struct parallel_reader *in, struct err *e)
{
	struct round_tools *t = context;
	struct round_trip *r = t->result;
	const struct protect_masked *m = &t->masked; /* a mark passes like its symbol */
	const struct text_tools *tools =
		&pair_tools_of_line(t->pairs, in->source.text, in->source.len)[SIDE_TARGET];

	buf_clear(&t->text);
	if (protect_mask(t->protect, PROTECT_ANYWHERE, in->target.text, in->target.len, &t->masked,
			 e) ||
	    (tools->normalizer &&
	     normalizer_line(tools->normalizer, m->line, m->n_line, &t->text, e)))
		return e->code;
	if (!tools->normalizer)
		buf_add(&t->text, m->line, m->n_line);
	collapse_blanks(buf_text(&t->text), t->text.len, &t->raw);
	buf_clear(&t->tokens);
	buf_clear(&t->text);
	if (buf_check(&t->raw, e) ||
	    tokenizer_line(tools->tokenizer, buf_text(&t->raw), t->raw.len, &t->tokens, e) ||
	    detokenizer_line(tools->detokenizer, buf_text(&t->tokens), t->tokens.len, &t->text, e))
		return e->code;
	collapse_blanks(buf_text(&t->text), t->text.len, &t->back);
	r->lines++;
	if (strcmp(buf_text(&t->raw), buf_text(&t->back))) {
		r->different++;
		keep_shortest_example(t);
	}
	if (buf_check(&t->back, e) || buf_check(&t->example, e) ||
	    buf_check(&t->example_comes_back, e))
		return e->code;
	return r->lines == COMPARED_LINES;
}

/* Append at most EXAMPLE_BYTES of the text, cut between characters. */
static void add_round_example(struct buf *out, const struct buf *text)
{
	size_t n = text->len;

	if (n > EXAMPLE_BYTES)
		for (n = EXAMPLE_BYTES; n > 0 && ((unsigned char)text->data[n] & 0xc0) == 0x80;)
			n--;
	buf_add(out, buf_text(text), n);
	buf_add_str(out, n < text->len ? "..." : "");
}

static int warn_round_trip(struct prep *p, const struct round_tools *t, const struct round_trip *r,
			   struct err *e)
{
	struct buf line = { 0 };
	int rc;

	buf_printf(
		&line,
		"warning: detokenising changes %.0f %% of the lines of %s in the development set, "
		"and would misspell translations: \"",
		100 * (double)r->different / (double)r->lines, p->c->target_language);
	add_round_example(&line, &t->example);
	buf_add_str(&line, "\" comes back as \"");
	add_round_example(&line, &t->example_comes_back);
	buf_add_str(&line, "\": prepare raw text with --segmentation sentencepiece --no-tokenize");
	rc = buf_check(&line, e);
	if (!rc)
		progress_print_line(&p->progress, "%s", buf_text(&line));
	buf_free(&line);
	return rc;
}

static int read_round_trip(struct prep *p, struct round_trip *r, struct err *e)
{
	struct round_tools t = { .result = r };
	int rc = open_round_tools(&t, p->c, e);

	if (!rc)
		rc = parallel_each_pair(p->folder, "dev", p->c->source_language,
					p->c->target_language, compare_round_trip, &t, e);
	if (!rc && r->different >= WARN_LINES && r->different * WARN_SHARE >= r->lines)
		rc = warn_round_trip(p, &t, r, e);
	close_round_tools(&t);
	return rc;
}

int prep_measure_round_trip(struct prep *p, struct round_trip *r, struct err *e)
{
	const char *path = prep_path(p, e, "dev.%s", p->c->target_language);

	*r = (struct round_trip){ 0 };
	if (!path)
		return e->code;
	return text_is_tokenized(p->c, 1) && file_exists(path) ? read_round_trip(p, r, e) : 0;
}

void prep_put_manifest_round_trip(struct json_writer *w, const struct round_trip *r)
{
	if (!r->lines)
		return;
	json_put_open(w, "round_trip", '{');
	json_put_int(w, "lines", r->lines);
	json_put_int(w, "different", r->different);
	json_close(w, '}');
}
