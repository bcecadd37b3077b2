/* blocks.c - reader of all texts of a corpus as blocks of whole lines (see blocks.h) */
#include "data/prep/blocks.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "data/bilingual/bilingual.h"
#include "data/pipeline/line_tags.h"
#include "data/source/archive.h"
#include "data/source/manifest.h"
#include "data/source/texts_split.h"
#include "data/source/unpacker.h"
#include "data/text/encoding.h"
#include "data/text/sgm.h"
#include "share/base/file.h"
#include "share/base/mem.h"
#include "share/base/text.h"

struct blocks {
	const struct texts *texts;
	const struct conf *conf;
	const char *encoding; /* borrowed; NULL: UTF-8 */
	size_t next;	      /* next file (while archives are read), then next plain text */
	bool archives_done;   /* phase: plain files */
	int64_t done;	      /* bytes of the files before the current one */

	struct unpacker *archive; /* owned: the current archive; NULL: none */
	const char **names;	  /* owned: [n_wanted] its members to read */
	bool *optional;		  /* owned: [n_wanted] may the member be missing? */
	size_t *wanted_texts;	  /* owned: [n_wanted] block.text of each member */
	size_t n_wanted;
	int file;	    /* descriptor of the current plain file, -1: none */
	int64_t file_bytes; /* bytes read from it */

	bool in_text;	 /* a text has begun and not ended */
	size_t text;	 /* block.text of the current text */
	int64_t lines;	 /* lines of its blocks so far */
	int64_t skipped; /* lines before the next block that are not chosen, see line_choice */
	struct sgm sgm;
	bool is_sgm;
	struct encoding_reader *converter; /* owned: of the current text; NULL: it is UTF-8 */
	int64_t replaced;		   /* characters, see blocks_replaced() */
	const char *replaced_text;
	struct buf rest; /* the incomplete last line, for the next block */

	struct bilingual *bilingual;	 /* owned: of the current text; NULL: it has one side */
	struct pair_languages languages; /* of its tag, or of all texts */
	struct buf sides[2];		 /* its next lines */
	bool is_target_next, is_bilingual_last;
	struct buf notes; /* blocks_notes() */
};

const struct source_text *blocks_text(const struct texts *t, size_t k)
{
	return k % 2 ? &t->pairs[k / 2].target : &t->pairs[k / 2].source;
}

struct blocks *blocks_open(const struct texts *t, const struct conf *c, struct err *e)
{
	struct blocks *b = mem_alloc(1, sizeof(*b), e);

	if (!b)
		return NULL;
	*b = (struct blocks){ .texts = t, .conf = c, .file = -1 };
	b->encoding = encoding_is_foreign(c->encoding) && !t->is_demo ? c->encoding : NULL;
	b->names = mem_alloc(2 * t->n, sizeof(*b->names), e);
	b->optional = b->names ? mem_alloc(2 * t->n, sizeof(*b->optional), e) : NULL;
	b->wanted_texts = b->optional ? mem_alloc(2 * t->n, sizeof(*b->wanted_texts), e) : NULL;
	if (b->wanted_texts)
		return b;
	blocks_close(b);
	return NULL;
}

void blocks_close(struct blocks *b)
{
	if (!b)
		return;
	if (b->is_sgm)
		sgm_close(&b->sgm);
	encoding_reader_close(b->converter);
	bilingual_close(b->bilingual);
	unpacker_close(b->archive);
	if (b->file >= 0)
		close(b->file);
	free(b->names);
	free(b->optional);
	free(b->wanted_texts);
	buf_free(&b->rest);
	buf_free(&b->sides[0]);
	buf_free(&b->sides[1]);
	buf_free(&b->notes);
	free(b);
}

const char *blocks_notes(const struct blocks *b)
{
	return buf_text(&b->notes);
}

void block_free(struct block *k)
{
	free(k->bytes);
	*k = (struct block){ 0 };
}

int64_t blocks_total(const struct blocks *b)
{
	const struct texts *t = b->texts;
	int64_t total = 0;

	for (size_t i = 0; i < t->n_files; i++)
		if (t->files[i].archive)
			total += t->files[i].bytes;
	for (size_t k = 0; k < 2 * t->n; k++)
		if (!blocks_text(t, k)->member && !(k % 2 && t->pairs[k / 2].is_bilingual))
			total += t->files[blocks_text(t, k)->file].bytes;
	return total;
}

static int64_t blocks_position(const struct blocks *b)
{
	return b->done + (b->archive ? unpacker_position(b->archive) : b->file_bytes);
}

/* Read bytes of the current text as they are in the file; a lines_read callback. */
static int64_t blocks_read_bytes(void *from, void *to, size_t room, struct err *e)
{
	struct blocks *b = from;
	ssize_t got;

	if (b->archive)
		return unpacker_read(b->archive, to, room, e);
	do
		got = read(b->file, to, room);
	while (got < 0 && errno == EINTR);
	if (got < 0)
		return err_set_errno(e, ERR_IO, "%s: cannot be read",
				     blocks_text(b->texts, b->text)->name);
	b->file_bytes += got;
	return got;
}

/* Read the current text in UTF-8; a lines_read callback. */
static int64_t blocks_read_text(void *from, void *to, size_t room, struct err *e)
{
	struct blocks *b = from;

	return b->converter ? encoding_reader_read(b->converter, to, room, e)
			    : blocks_read_bytes(b, to, room, e);
}

int64_t blocks_replaced(const struct blocks *b, const char **text)
{
	if (b->replaced)
		*text = b->replaced_text;
	return b->replaced;
}

static void note_replaced(struct blocks *b, int64_t n)
{
	if (!n)
		return;
	b->replaced += n;
	b->replaced_text = blocks_text(b->texts, b->text)->name;
}

/* ---- the next text ---- */

static int begin_bilingual_text(struct blocks *b, const struct source_text *t, struct err *e)
{
	const struct conf *c = b->conf;

	b->languages = line_tag_languages(c, t->pair_tag);
	const struct bilingual_options o = {
		.name = t->name,
		.source_language = b->languages.source,
		.target_language = b->languages.target,
		.encoding = b->encoding,
		.columns = c->pair_columns,
		.repair = c->repair,
		.keep_numbers = b->text / 2 < b->texts->n_train ||
				b->texts->pairs[b->text / 2].choice.is_part,
	};

	b->is_target_next = b->is_bilingual_last = false;
	b->bilingual = bilingual_open(&o, blocks_read_bytes, b, e);
	return b->bilingual ? 1 : e->code;
}

static int blocks_begin_text(struct blocks *b, size_t text, struct err *e)
{
	const struct source_text *t = blocks_text(b->texts, text);

	assert(!b->in_text && text < 2 * b->texts->n);
	b->in_text = true;
	b->text = text;
	b->lines = b->skipped = 0;
	buf_clear(&b->rest);
	if (b->texts->pairs[text / 2].is_bilingual)
		return begin_bilingual_text(b, t, e);
	if (b->encoding) {
		b->converter = encoding_reader_open(b->encoding, t->name, blocks_read_bytes, b,
						    b->conf->repair, e);
		if (!b->converter)
			return e->code;
	}
	if (!sgm_has_suffix(t->name))
		return 1;
	if (sgm_open_reader(&b->sgm, t->name, blocks_read_text, b, e))
		return e->code;
	b->is_sgm = true;
	b->sgm.in.repair = b->conf->repair;
	b->sgm.in.has_encoding = true;
	return 1;
}

static void end_bilingual_text(struct blocks *b)
{
	const size_t begin = b->notes.len;

	note_replaced(b, bilingual_replaced(b->bilingual));
	if (!b->texts->pairs[b->text / 2].choice.is_part) /* else the file was described before */
		bilingual_describe(b->bilingual, &b->notes);
	if (b->notes.len > begin)
		buf_add_char(&b->notes, '\n');
	bilingual_close(b->bilingual);
	b->bilingual = NULL;
	if (!b->archive)
		return;
	unpacker_close(b->archive);
	b->archive = NULL;
	b->done += b->texts->files[blocks_text(b->texts, b->text)->file].bytes;
}

static void blocks_end_text(struct blocks *b)
{
	b->in_text = false;
	if (b->bilingual)
		end_bilingual_text(b);
	if (b->is_sgm)
		sgm_close(&b->sgm);
	b->is_sgm = false;
	if (b->converter)
		note_replaced(b, encoding_reader_replaced(b->converter));
	encoding_reader_close(b->converter);
	b->converter = NULL;
	if (b->file < 0)
		return;
	close(b->file);
	b->file = -1;
	b->done += b->file_bytes;
	b->file_bytes = 0;
}

/* Open archive number `file` with its wanted members; b->archive stays NULL if there are none. */
static int open_archive(struct blocks *b, size_t file, struct err *e)
{
	const struct texts *t = b->texts;

	b->n_wanted = 0;
	for (size_t k = 0; k < 2 * t->n; k++) {
		const struct source_text *text = blocks_text(t, k);

		if ((size_t)text->file != file || !text->member)
			continue;
		b->names[b->n_wanted] = text->member;
		b->optional[b->n_wanted] = manifest_set_is_extra(t->pairs[k / 2].set);
		b->wanted_texts[b->n_wanted++] = k;
	}
	if (!b->n_wanted)
		return 0;
	b->archive =
		unpacker_open(t->files[file].path, b->names, b->optional, b->n_wanted, true, e);
	return b->archive ? 0 : e->code;
}

/* Begin the next wanted member of the archives. 1; 0: no more; < 0. */
static int next_member(struct blocks *b, struct err *e)
{
	const struct texts *t = b->texts;
	size_t member;
	int got;

	for (;;) {
		if (b->archive) {
			got = unpacker_next(b->archive, &member, e);
			if (got)
				return got < 0 ? got
					       : blocks_begin_text(b, b->wanted_texts[member], e);
			unpacker_close(b->archive);
			b->archive = NULL;
			b->done += t->files[b->next++].bytes;
		}
		while (b->next < t->n_files && !t->files[b->next].archive)
			b->next++;
		if (b->next == t->n_files)
			return 0;
		if (open_archive(b, b->next, e))
			return e->code;
		if (!b->archive) /* no wanted member */
			b->done += t->files[b->next++].bytes;
	}
}

/* A compressed file with both sides. */
static int open_packed_file(struct blocks *b, const char *path, struct err *e)
{
	b->archive = unpacker_open_whole(path, e);
	return b->archive ? 0 : e->code;
}

/* Begin the next plain file. 1; 0: no more; < 0. */
static int blocks_next_file(struct blocks *b, struct err *e)
{
	const struct texts *t = b->texts;
	const struct text_file *f;
	size_t text;

	while (b->next < 2 * t->n && blocks_text(t, b->next)->member)
		b->next++;
	if (b->next == 2 * t->n)
		return 0;
	text = b->next++;
	b->next += t->pairs[text / 2].is_bilingual; /* its target comes with its source */
	f = &t->files[blocks_text(t, text)->file];
	if (f->is_packed ? open_packed_file(b, f->path, e) : file_open_read(&b->file, f->path, e))
		return e->code;
	if (b->file >= 0)
		posix_fadvise(b->file, 0, 0, POSIX_FADV_SEQUENTIAL);
	return blocks_begin_text(b, text, e);
}

static int blocks_next_text(struct blocks *b, struct err *e)
{
	int got;

	if (!b->archives_done) {
		got = next_member(b, e);
		if (got)
			return got;
		b->archives_done = true;
		b->next = 0;
	}
	return blocks_next_file(b, e);
}

/* ---- the next block ---- */

/* Fill the block with segments of an .sgm, one a line; a segment holds no LF. */
static int fill_segments(struct blocks *b, struct block *to, struct err *e)
{
	int got = 1;

	while (to->n < TEXT_BLOCK_BYTES && (got = sgm_next(&b->sgm, e)) > 0) {
		if (mem_grow(&to->bytes, &to->cap, to->n + b->sgm.len + 1, 1, e))
			return e->code;
		memcpy(to->bytes + to->n, b->sgm.text, b->sgm.len);
		to->n += b->sgm.len;
		to->bytes[to->n++] = '\n';
	}
	to->is_last = !got;
	return got < 0 ? got : 0;
}

/* Fill the block with lines of one side of a bilingual file, first the source. */
static int fill_side(struct blocks *b, struct block *to, struct err *e)
{
	struct buf *const from = &b->sides[b->is_target_next];
	int got;

	if (!b->is_target_next) {
		buf_clear(&b->sides[0]);
		buf_clear(&b->sides[1]);
		got = bilingual_read(b->bilingual, TEXT_BLOCK_BYTES, &b->sides[0], &b->sides[1], e);
		if (got < 0)
			return got;
		b->is_bilingual_last = !got;
	}
	if (mem_grow(&to->bytes, &to->cap, MAX(from->len, 1), 1, e))
		return e->code;
	memcpy(to->bytes, buf_text(from), from->len);
	to->n = from->len;
	to->text = b->text + b->is_target_next;
	to->is_last = b->is_bilingual_last;
	return 0;
}

/* Cut the block after its last LF and save the rest for the next block. false: no LF. */
static bool block_cut_at_line(struct blocks *b, struct block *to)
{
	const char *lf = memrchr(to->bytes, '\n', to->n);
	size_t n = lf ? (size_t)(lf - to->bytes) + 1 : 0;

	if (!lf)
		return false;
	buf_add(&b->rest, to->bytes + n, to->n - n);
	to->n = n;
	return true;
}

/*
 * Fill the block up to the end of a line. A line longer than LINES_MAX_BYTES is returned
 * incomplete: the reader of the lines knows its number and refuses it.
 */
static int fill_lines(struct blocks *b, struct block *to, struct err *e)
{
	size_t rest = b->rest.len;

	if (mem_grow(&to->bytes, &to->cap, MAX(rest, TEXT_BLOCK_BYTES), 1, e))
		return e->code;
	if (rest)
		memcpy(to->bytes, b->rest.data, rest);
	to->n = rest;
	buf_clear(&b->rest);
	for (;;) {
		int64_t got;

		if (mem_grow(&to->bytes, &to->cap, to->n + 1, 1, e))
			return e->code;
		got = blocks_read_text(b, to->bytes + to->n, to->cap - to->n, e);
		to->n += got > 0 ? (size_t)got : 0;
		to->is_last = !got;
		if (got <= 0)
			return (int)got;
		if (to->n >= TEXT_BLOCK_BYTES &&
		    (block_cut_at_line(b, to) || to->n > LINES_MAX_BYTES))
			return buf_check(&b->rest, e);
	}
}

/* A byte order mark at the start of a text is not part of its first line. */
static void block_drop_mark(struct block *k)
{
	const size_t mark = utf8_mark_bytes(k->bytes, k->n);

	if (!mark)
		return;
	k->n -= mark;
	memmove(k->bytes, k->bytes + mark, k->n);
}

static int64_t block_count_lines(const struct block *k)
{
	int64_t lines = k->n && k->bytes[k->n - 1] != '\n';

	for (size_t i = 0; i < k->n; i++)
		lines += k->bytes[i] == '\n';
	return lines;
}

/* Keep the chosen lines only, but not units that are no pair; returns the number of the others. */
static int64_t block_choose_lines(const struct blocks *b, struct block *k)
{
	const struct line_choice *choice = &b->texts->pairs[b->text / 2].choice;
	const int64_t all = k->lines;
	int64_t line = b->lines + b->skipped;
	size_t n = 0, length;

	if (!choice->is_part)
		return 0;
	k->lines = 0;
	for (size_t at = 0; at < k->n; at += length) {
		const char *lf = memchr(k->bytes + at, '\n', k->n - at);

		length = lf ? (size_t)(lf - k->bytes) + 1 - at : k->n - at;
		if (!line_choice_has(choice, ++line) || (b->bilingual && length == 1))
			continue;
		memmove(k->bytes + n, k->bytes + at, length);
		n += length;
		k->lines++;
	}
	k->n = n;
	return all - k->lines;
}

/* Which lines the block has; the next one continues. */
static void number_block(struct blocks *b, struct block *to)
{
	const bool is_source = b->bilingual && !b->is_target_next;
	int64_t skipped;

	to->lines = block_count_lines(to);
	skipped = block_choose_lines(b, to);
	to->position = blocks_position(b);
	b->lines += is_source ? 0 : to->lines;
	b->skipped += is_source ? 0 : skipped;
	b->is_target_next = is_source;
	if (to->is_last && !is_source)
		blocks_end_text(b);
}

static int fill_next_block(struct blocks *b, struct block *to, struct err *e)
{
	const bool is_plain = !b->is_sgm && !b->converter && !b->bilingual;
	int rc;

	to->text = b->text;
	to->n = 0;
	to->first = b->lines + 1;
	if (b->bilingual)
		rc = fill_side(b, to, e);
	else
		rc = b->is_sgm ? fill_segments(b, to, e) : fill_lines(b, to, e);
	if (!rc && is_plain && !b->lines && !b->skipped)
		block_drop_mark(to);
	return rc;
}

int blocks_next(struct blocks *b, struct block *to, struct err *e)
{
	int got;

	if (!b->in_text) {
		got = blocks_next_text(b, e);
		if (got <= 0)
			return got;
	}
	do { /* only an empty text has a block without lines */
		if (fill_next_block(b, to, e))
			return e->code;
		number_block(b, to);
	} while (!to->lines && !to->is_last);
	return 1;
}
