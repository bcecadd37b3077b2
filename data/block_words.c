/* block_words.c - see block_words.h */
#include "data/block_words.h"

#include <stdlib.h>
#include <string.h>

#include "data/clean.h"
#include "data/pipeline.h"
#include "share/base/hash.h"
#include "share/base/lines.h"
#include "share/base/mem.h"

struct block_reader {
	struct pipeline *pipeline;
	const struct scripts *scripts;	/* borrowed */
	uint32_t writing[2];		/* scripts of the languages, by enum pipeline_side */
	bool repair;
	struct buf tokens, clean;	/* of the current line */
};

struct block_reader *block_reader_new(const struct conf *c, const struct scripts *s, struct err *e)
{
	struct block_reader *r = mem_alloc(1, sizeof(*r), e);

	if (!r)
		return NULL;
	r->scripts = s;
	r->repair = c->repair;
	r->writing[SIDE_SOURCE] = scripts_of_language(c->source_language);
	r->writing[SIDE_TARGET] = scripts_of_language(c->target_language);
	r->pipeline = pipeline_open(NULL, c, e);
	if (r->pipeline)
		return r;
	block_reader_free(r);
	return NULL;
}

void block_reader_free(struct block_reader *r)
{
	if (!r)
		return;
	pipeline_close(r->pipeline);
	buf_free(&r->tokens);
	buf_free(&r->clean);
	free(r);
}

void block_words_free(struct block_words *w)
{
	free(w->lines);
	free(w->numbers);
	intern_free(&w->distinct);
	*w = (struct block_words){ 0 };
}

/* The words of a clean line: separated by one blank each, none at the ends. */
static int add_words(struct block_words *out, const char *text, size_t n, uint32_t *count,
		     struct err *e)
{
	const char *end = text + n, *stop;
	size_t before = out->n_numbers;

	for (; text < end; text = stop + 1) {
		stop = memchr(text, ' ', (size_t)(end - text));
		if (!stop)
			stop = end;
		if (mem_grow(&out->numbers, &out->cap_numbers, out->n_numbers + 1,
			     sizeof(*out->numbers), e) ||
		    intern_add(&out->distinct, text, (size_t)(stop - text),
			       &out->numbers[out->n_numbers], e))
			return e->code;
		out->n_numbers++;
	}
	*count = (uint32_t)(out->n_numbers - before);
	return 0;
}

static int add_line(struct block_reader *r, enum pipeline_side side, const struct lines *in,
		    struct block_words *out, struct err *e)
{
	struct scripts_count letters;
	struct clean_side words;
	struct side_line *l;

	if (mem_grow(&out->lines, &out->cap, out->n + 1, sizeof(*out->lines), e))
		return e->code;
	buf_clear(&r->tokens);
	buf_clear(&r->clean);
	if (pipeline_tokenize(r->pipeline, side, in->text, in->len, &r->tokens, e))
		return e->code;
	words = clean_squeeze(buf_text(&r->tokens), r->tokens.len, false, &r->clean);
	if (buf_check(&r->clean, e))
		return e->code;
	scripts_count(r->scripts, r->writing[side], in->text, in->len, &letters);
	l = &out->lines[out->n++];
	*l = (struct side_line){ .hash = hash_bytes(in->text, in->len),
				 .bytes = (uint32_t)in->len,
				 .characters = (uint32_t)letters.characters,
				 .letters = (uint32_t)letters.letters,
				 .foreign = (uint32_t)letters.foreign,
				 .longest = (uint32_t)words.longest };
	return add_words(out, buf_text(&r->clean), r->clean.len, &l->n, e);
}

int block_reader_words(struct block_reader *r, const struct block *b, const struct text *t,
		       struct block_words *out, struct err *e)
{
	enum pipeline_side side = b->text % 2 ? SIDE_TARGET : SIDE_SOURCE;
	struct lines in;
	int got;

	out->n = out->n_numbers = 0;
	intern_clear(&out->distinct);
	if (lines_open_memory(&in, t->name, b->bytes, b->n, b->first, e))
		return e->code;
	in.repair = r->repair;
	while ((got = lines_next(&in, e)) > 0)
		if (add_line(r, side, &in, out, e)) {
			got = e->code;
			break;
		}
	lines_close(&in);
	return got;
}

int block_reader_lines(struct block_reader *r, const struct block *b, const struct text *t,
		       struct buf *out, struct err *e)
{
	struct lines in;
	int got;

	buf_clear(out);
	if (lines_open_memory(&in, t->name, b->bytes, b->n, b->first, e))
		return e->code;
	in.repair = r->repair;
	while ((got = lines_next(&in, e)) > 0) {
		buf_add(out, in.text, in.len);
		buf_add_char(out, '\n');
	}
	lines_close(&in);
	return got < 0 ? got : buf_check(out, e);
}
