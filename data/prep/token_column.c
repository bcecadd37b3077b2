/* token_column.c - tokenised columns and the word table on the disk (see token_column.h) */
#include "data/prep/token_column.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "data/words/leb.h"
#include "share/base/file.h"
#include "share/base/mem.h"
#include "share/base/util.h"

#define HEADER_BYTES 32
#define LINE_BYTES   14 /* the shortest line: its hash and six numbers */
#define CHUNK_BYTES  ((size_t)1 << 18)
#define CHUNK_WORDS  8192
#define VERSION	     1

static const char side_magic[8] = "WBSIDE\n", words_magic[8] = "WBWORDS";

/* ---- writing ---- */

struct column_output {
	struct outfile file;
	unsigned char *bytes; /* owned: [n] not written yet */
	size_t n, cap;
};

static void put_fixed(unsigned char *to, uint64_t value, int bytes)
{
	for (int i = 0; i < bytes; i++)
		to[i] = (unsigned char)(value >> 8 * i);
}

static int column_flush_buffer(struct column_output *o, struct err *e)
{
	if (o->n && fwrite(o->bytes, 1, o->n, o->file.stream) != o->n)
		return err_set_errno(e, ERR_IO, "%s: cannot be written", o->file.path);
	o->n = 0;
	return 0;
}

/* Contiguous room for `bytes` more bytes; the caller adds to o->n what it used. NULL: failure. */
static unsigned char *column_reserve(struct column_output *o, size_t bytes, struct err *e)
{
	if (o->n >= CHUNK_BYTES && column_flush_buffer(o, e))
		return NULL;
	return mem_grow(&o->bytes, &o->cap, o->n + bytes, 1, e) ? NULL : o->bytes + o->n;
}

static void column_cancel_output(struct column_output *o)
{
	outfile_abandon(&o->file);
	free(o->bytes);
	*o = (struct column_output){ 0 };
}

static int column_open_output(struct column_output *o, const char *path, struct err *e)
{
	unsigned char *header;

	*o = (struct column_output){ 0 };
	if (outfile_open(&o->file, path, e))
		return e->code;
	header = column_reserve(o, CHUNK_BYTES, e);
	if (!header) {
		column_cancel_output(o);
		return e->code;
	}
	memset(header, 0, HEADER_BYTES);
	o->n = HEADER_BYTES;
	return 0;
}

/* Write the header last, when its counts are known. */
static int column_finish_output(struct column_output *o, const char magic[8], uint64_t a,
				uint64_t b, struct err *e)
{
	unsigned char header[HEADER_BYTES] = { 0 };
	int rc = column_flush_buffer(o, e);

	memcpy(header, magic, 8);
	put_fixed(header + 8, VERSION, 4);
	put_fixed(header + 16, a, 8);
	put_fixed(header + 24, b, 8);
	if (!rc && (fseeko(o->file.stream, 0, SEEK_SET) ||
		    fwrite(header, sizeof(header), 1, o->file.stream) != 1))
		rc = err_set_errno(e, ERR_IO, "%s: cannot be written", o->file.path);
	if (!rc)
		rc = outfile_commit(&o->file, e);
	column_cancel_output(o);
	return rc;
}

struct token_column_writer {
	struct column_output out;
	uint64_t lines, words;
};

struct token_column_writer *token_column_create(const char *path, struct err *e)
{
	struct token_column_writer *w = mem_alloc(1, sizeof(*w), e);

	if (w && !column_open_output(&w->out, path, e))
		return w;
	free(w);
	return NULL;
}

int token_column_put(struct token_column_writer *w, const struct token_column_line *line,
		     struct err *e)
{
	const uint32_t numbers[] = { line->bytes,   line->characters, line->letters,
				     line->foreign, line->longest,    line->n };
	unsigned char *to;

	/* n is below 2^32: no overflow */
	to = column_reserve(&w->out,
			    8 + (ARRAY_LEN(numbers) + (size_t)line->n) * LEB_MAX + LEB_SLACK, e);
	if (!to)
		return e->code;
	put_fixed(to, line->hash, 8);
	to += 8;
	for (size_t i = 0; i < ARRAY_LEN(numbers); i++)
		to = leb_put(to, numbers[i]);
	for (uint32_t i = 0; i < line->n; i++)
		to = leb_put(to, (uint32_t)line->words[i]);
	w->out.n = (size_t)(to - w->out.bytes);
	assert(w->out.n <= w->out.cap);
	w->lines++;
	w->words += line->n;
	return 0;
}

int token_column_finish(struct token_column_writer *w, struct err *e)
{
	int rc = column_finish_output(&w->out, side_magic, w->lines, w->words, e);

	free(w);
	return rc;
}

void token_column_cancel(struct token_column_writer *w)
{
	if (!w)
		return;
	column_cancel_output(&w->out);
	free(w);
}

/* ---- reading ---- */

struct column_input {
	char *path; /* owned: for messages */
	int fd;
	unsigned char *bytes; /* owned; LEB_SLACK zeros follow the last byte */
	size_t cap;
	unsigned char *at, *end; /* bytes read and not used yet */
	uint64_t rest;		 /* bytes of the file not read yet */
};

static int column_damaged_error(const struct column_input *in, const char *what, struct err *e)
{
	return err_set(e, ERR_DATA, "%s: damaged (%s): remove it and prepare the corpus again",
		       in->path, what);
}

static uint64_t column_bytes_left(const struct column_input *in)
{
	return (uint64_t)(in->end - in->at) + in->rest;
}

static int column_fill_buffer(struct column_input *in, struct err *e)
{
	size_t room = in->cap - LEB_SLACK - (size_t)(in->end - in->bytes);
	size_t want = room < in->rest ? room : (size_t)in->rest;
	ssize_t got;

	do
		got = read(in->fd, in->end, want);
	while (got < 0 && errno == EINTR);
	if (got < 0)
		return err_set_errno(e, ERR_IO, "%s: cannot be read", in->path);
	if (!got)
		return column_damaged_error(in, "the file became shorter", e);
	assert((size_t)got <= in->rest);
	in->end += got;
	in->rest -= (uint64_t)got;
	memset(in->end, 0, LEB_SLACK);
	return 0;
}

/* Read until n bytes are in memory, or all remaining ones if there are fewer. */
static int column_buffer_bytes(struct column_input *in, uint64_t n, struct err *e)
{
	size_t here = (size_t)(in->end - in->at), wanted;

	if (here >= n || !in->rest)
		return 0;
	wanted = (size_t)MIN(n, column_bytes_left(in)) + LEB_SLACK;
	memmove(in->bytes, in->at, here);
	if (mem_grow(&in->bytes, &in->cap, MAX(wanted, CHUNK_BYTES), 1, e))
		return e->code;
	in->at = in->bytes;
	in->end = in->bytes + here;
	while ((size_t)(in->end - in->at) + LEB_SLACK < wanted)
		if (column_fill_buffer(in, e))
			return e->code;
	return 0;
}

static void column_close_input(struct column_input *in)
{
	if (in->fd >= 0)
		close(in->fd);
	free(in->path);
	free(in->bytes);
	*in = (struct column_input){ .fd = -1 };
}

static uint64_t get_fixed(const unsigned char *from, int bytes)
{
	uint64_t value = 0;

	for (int i = 0; i < bytes; i++)
		value |= (uint64_t)from[i] << 8 * i;
	return value;
}

static int column_read_header(struct column_input *in, const char magic[8], uint64_t *a,
			      uint64_t *b, struct err *e)
{
	if (column_buffer_bytes(in, HEADER_BYTES, e))
		return e->code;
	if (column_bytes_left(in) < HEADER_BYTES)
		return column_damaged_error(in, "the header is missing", e);
	if (memcmp(in->at, magic, 8))
		return column_damaged_error(in, "wrong magic number", e);
	if (get_fixed(in->at + 8, 4) != VERSION || get_fixed(in->at + 12, 4))
		return err_set(e, ERR_DATA,
			       "%s: format version %llu, expected %d: remove it and prepare the "
			       "corpus again",
			       in->path, (unsigned long long)get_fixed(in->at + 8, 4), VERSION);
	*a = get_fixed(in->at + 16, 8);
	*b = get_fixed(in->at + 24, 8);
	in->at += HEADER_BYTES;
	return 0;
}

/* Open a file and check its header. *a, *b: the two counts of the header. */
static int column_open_input(struct column_input *in, const char *path, const char magic[8],
			     uint64_t *a, uint64_t *b, struct err *e)
{
	struct stat s;

	*in = (struct column_input){ .path = mem_strdup(path, e), .fd = -1 };
	if (!in->path || mem_grow(&in->bytes, &in->cap, CHUNK_BYTES, 1, e))
		goto fail;
	in->at = in->end = in->bytes;
	if (file_open_read(&in->fd, path, e))
		goto fail;
	if (fstat(in->fd, &s)) {
		err_set_errno(e, ERR_IO, "%s: cannot be read", path);
		goto fail;
	}
	in->rest = (uint64_t)s.st_size;
	if (!column_read_header(in, magic, a, b, e))
		return 0;
fail:
	column_close_input(in);
	return e->code;
}

/* ---- columns ---- */

struct token_column_reader {
	struct column_input in;
	uint64_t lines, lines_left, words_left;
	uint32_t n_words; /* entries of the word table */
	int32_t *words;	  /* owned: of the current line */
	size_t cap;
};

struct token_column_reader *token_column_open(const char *path, int32_t n_words, struct err *e)
{
	struct token_column_reader *r = mem_alloc(1, sizeof(*r), e);

	if (!r)
		return NULL;
	if (column_open_input(&r->in, path, side_magic, &r->lines, &r->words_left, e)) {
		free(r);
		return NULL;
	}
	r->lines_left = r->lines;
	r->n_words = (uint32_t)MAX(n_words, 0);
	if (r->lines > column_bytes_left(&r->in) / LINE_BYTES ||
	    r->words_left > column_bytes_left(&r->in) - r->lines * LINE_BYTES) {
		column_damaged_error(&r->in, "it is shorter than its header says", e);
		token_column_close(r);
		return NULL;
	}
	return r;
}

int64_t token_column_lines(const struct token_column_reader *r)
{
	return (int64_t)r->lines;
}

void token_column_close(struct token_column_reader *r)
{
	if (!r)
		return;
	column_close_input(&r->in);
	free(r->words);
	free(r);
}

static int column_read_words(struct token_column_reader *r, uint32_t n, struct err *e)
{
	struct column_input *in = &r->in;
	int32_t *to = r->words;

	while (n) {
		size_t now = MIN(n, CHUNK_WORDS);
		uint32_t bad = 0;

		if (column_buffer_bytes(in, now * LEB_MAX, e))
			return e->code;
		in->at = leb_get_many(in->at, in->end, to, now, r->n_words, &bad);
		if (bad)
			return column_damaged_error(in, "it names a word that is not in the table",
						    e);
		if (in->at > in->end)
			return column_damaged_error(in, "it ends within a line", e);
		to += now;
		n -= (uint32_t)now;
	}
	return 0;
}

/* Are the numbers of a line consistent with each other and with the rest of the file? */
static bool column_is_line_valid(const struct token_column_reader *r,
				 const struct token_column_line *l)
{
	return l->characters <= l->bytes && l->letters <= l->characters &&
	       l->foreign <= l->letters && l->n <= r->words_left &&
	       l->n <= column_bytes_left(&r->in) && (l->longest > 0) == (l->n > 0);
}

int token_column_next(struct token_column_reader *r, struct token_column_line *line, struct err *e)
{
	uint32_t *const numbers[] = { &line->bytes,   &line->characters, &line->letters,
				      &line->foreign, &line->longest,	 &line->n };
	struct column_input *in = &r->in;
	bool fine = true;

	if (!r->lines_left) {
		if (r->words_left || column_bytes_left(in))
			return column_damaged_error(in, "it is longer than its header says", e);
		return 0;
	}
	if (column_buffer_bytes(in, 8 + ARRAY_LEN(numbers) * LEB_MAX, e))
		return e->code;
	if (column_bytes_left(in) < LINE_BYTES)
		return column_damaged_error(in, "it ends within a line", e);
	line->hash = get_fixed(in->at, 8);
	in->at += 8;
	for (size_t i = 0; i < ARRAY_LEN(numbers); i++)
		fine = leb_get(&in->at, in->end, numbers[i]) && fine;
	if (in->at > in->end)
		return column_damaged_error(in, "it ends within a line", e);
	if (!fine || !column_is_line_valid(r, line))
		return column_damaged_error(in, "the numbers of a line do not fit together", e);
	if (mem_grow(&r->words, &r->cap, line->n, sizeof(*r->words), e) ||
	    column_read_words(r, line->n, e))
		return e->code;
	line->words = r->words;
	r->words_left -= line->n;
	r->lines_left--;
	return 1;
}

/* ---- the word table ---- */

/*
 * Header as in token_column.h with the magic "WBWORDS\0" and the counts: words, bytes of all words.
 * Then each word: its length as LEB128, its bytes.
 */
int word_table_save(const struct intern *words, const char *path, struct err *e)
{
	struct column_output out;
	uint64_t bytes = 0;

	if (column_open_output(&out, path, e))
		return e->code;
	for (int32_t i = 0; i < words->n; i++) {
		size_t n;
		const char *text = intern_text(words, i, &n);
		unsigned char *to = column_reserve(&out, n + LEB_MAX + LEB_SLACK, e);

		if (!to) {
			column_cancel_output(&out);
			return e->code;
		}
		to = leb_put(to, (uint32_t)n);
		if (n)
			memcpy(to, text, n);
		out.n = (size_t)(to - out.bytes) + n;
		bytes += n;
	}
	return column_finish_output(&out, words_magic, (uint64_t)words->n, bytes, e);
}

static int word_table_load_word(struct intern *words, struct column_input *in, uint64_t *bytes,
				struct err *e)
{
	int32_t index, next = words->n;
	uint32_t n;

	if (column_buffer_bytes(in, LEB_MAX, e))
		return e->code;
	if (!leb_get(&in->at, in->end, &n))
		return column_damaged_error(in, "a word has no length", e);
	if (in->at > in->end || n > column_bytes_left(in) || n > *bytes)
		return column_damaged_error(in, "it ends within a word", e);
	if (column_buffer_bytes(in, n, e) || intern_add(words, (const char *)in->at, n, &index, e))
		return e->code;
	if (index != next)
		return column_damaged_error(in, "it holds a word twice", e);
	in->at += n;
	*bytes -= n;
	return 0;
}

struct word_table_reader {
	struct column_input in;
	uint64_t words_left, bytes_left;
};

struct word_table_reader *word_table_open(const char *path, struct err *e)
{
	struct word_table_reader *r = mem_alloc(1, sizeof(*r), e);
	uint64_t n, bytes;

	if (!r)
		return NULL;
	if (column_open_input(&r->in, path, words_magic, &n, &bytes, e)) {
		free(r);
		return NULL;
	}
	if (n > INT32_MAX || n > column_bytes_left(&r->in) ||
	    bytes > column_bytes_left(&r->in) - n) {
		column_damaged_error(&r->in, "it is shorter than its header says", e);
		word_table_close(r);
		return NULL;
	}
	r->words_left = n;
	r->bytes_left = bytes;
	return r;
}

int word_table_read(struct word_table_reader *r, struct intern *words, uint64_t n, struct err *e)
{
	for (; n && r->words_left; n--, r->words_left--)
		if (word_table_load_word(words, &r->in, &r->bytes_left, e))
			return e->code;
	if (r->words_left)
		return 1;
	if (r->bytes_left || column_bytes_left(&r->in))
		return column_damaged_error(&r->in, "it is longer than its header says", e);
	return 0;
}

void word_table_close(struct word_table_reader *r)
{
	if (!r)
		return;
	column_close_input(&r->in);
	free(r);
}

int word_table_load(struct intern *words, const char *path, struct err *e)
{
	struct word_table_reader *r = word_table_open(path, e);
	int rc = r ? word_table_read(r, words, UINT64_MAX, e) : e->code;

	word_table_close(r);
	if (rc)
		intern_free(words);
	return rc;
}
