/* pairs_command.c - the command "pairs" (see pairs_command.h) */
#include "data/pairs_command.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "data/bilingual/bilingual.h"
#include "data/source/archive.h"
#include "data/source/unpacker.h"
#include "data/text/encoding.h"
#include "share/base/file.h"
#include "share/base/lines.h"
#include "share/base/text.h"
#include "share/format/json.h"

#define PAIRS_BLOCK_BYTES ((size_t)1 << 18)

struct pairs_source {
	const char *name;
	int file;		  /* -1: none */
	struct unpacker *archive; /* owned; NULL: the file is not compressed */
	struct bilingual *pairs;  /* owned */
	struct buf sides[2];	  /* some lines */
	int64_t units;		  /* lines so far, those of sides included */
};

static int64_t read_pairs_bytes(void *from, void *to, size_t room, struct err *e)
{
	struct pairs_source *s = from;
	ssize_t got;

	if (s->archive)
		return unpacker_read(s->archive, to, room, e);
	do
		got = read(s->file, to, room);
	while (got < 0 && errno == EINTR);
	return got < 0 ? err_set_errno(e, ERR_IO, "%s: cannot be read", s->name) : got;
}

/* Opens the file, or standard input; a compressed file by the unpacker. */
static int open_pairs_bytes(struct pairs_source *s, const char *path, struct err *e)
{
	bool is_packed = false;

	s->file = path ? -1 : STDIN_FILENO;
	if (!path)
		return 0;
	if (file_open_read(&s->file, path, e) || archive_is_packed(path, &is_packed, e))
		return e->code;
	if (!is_packed)
		return 0;
	s->archive = unpacker_open_whole(path, e);
	return s->archive ? 0 : e->code;
}

static int open_pairs_source(struct pairs_source *s, const struct conf *c, struct err *e)
{
	const struct bilingual_options o = {
		.name = s->name,
		.source_language = c->source_language,
		.target_language = c->target_language,
		.encoding = c->encoding,
		.columns = c->pair_columns,
		.repair = c->repair,
		.keep_numbers = true,
	};

	if (open_pairs_bytes(s, c->n_arguments ? c->arguments[0] : NULL, e))
		return e->code;
	s->pairs = bilingual_open(&o, read_pairs_bytes, s, e);
	return s->pairs ? 0 : e->code;
}

static void close_pairs_source(struct pairs_source *s)
{
	bilingual_close(s->pairs);
	unpacker_close(s->archive);
	if (s->file > STDIN_FILENO)
		close(s->file);
	buf_free(&s->sides[0]);
	buf_free(&s->sides[1]);
}

/* A tab or a quote needs no escape: white space in a side is one blank. */
static void add_pair_line(const struct conf *c, int64_t unit, const struct lines sides[2],
			  struct buf *out)
{
	struct json_writer w = { .out = out };

	if (!sides[0].len)
		return;
	if (!c->json) {
		buf_printf(out, "%s\t%s\n", sides[0].text, sides[1].text);
		return;
	}
	json_open(&w, '{');
	json_put_int(&w, "unit", unit);
	json_put_strn(&w, "source", sides[0].text, sides[0].len);
	json_put_strn(&w, "target", sides[1].text, sides[1].len);
	json_close(&w, '}');
	buf_add_char(out, '\n');
}

/* Print the lines in s->sides. */
static int print_pairs(struct pairs_source *s, const struct conf *c, struct err *e)
{
	struct lines in[2] = { { .fd = -1 }, { .fd = -1 } };
	struct buf out = { 0 };
	int got = 0;

	for (int i = 0; !got && i < 2; i++) {
		got = lines_open_memory(&in[i], s->name, buf_text(&s->sides[i]), s->sides[i].len,
					s->units + 1, e);
		in[i].repair = c->repair;
		in[i].has_encoding = true;
	}
	while (got >= 0 && (got = lines_next(&in[0], e)) > 0 && (got = lines_next(&in[1], e)) > 0) {
		s->units = in[0].number;
		add_pair_line(c, s->units, in, &out);
	}
	if (got >= 0)
		got = buf_check(&out, e);
	if (!got && out.len && fwrite(out.data, 1, out.len, stdout) != out.len)
		got = err_set_errno(e, ERR_IO, "the output cannot be written");
	buf_free(&out);
	lines_close(&in[0]);
	lines_close(&in[1]);
	return got;
}

static int print_all_pairs(struct pairs_source *s, const struct conf *c, struct err *e)
{
	struct buf note = { 0 };
	int got = 1;

	while (got > 0) {
		buf_clear(&s->sides[0]);
		buf_clear(&s->sides[1]);
		got = bilingual_read(s->pairs, PAIRS_BLOCK_BYTES, &s->sides[0], &s->sides[1], e);
		if (got >= 0 && print_pairs(s, c, e))
			got = e->code;
	}
	if (got < 0 || file_flush_stdout(e))
		return e->code;
	if (!c->quiet && bilingual_replaced(s->pairs))
		fprintf(stderr, "warning: %s: --repair replaced %lld character%s\n", s->name,
			(long long)bilingual_replaced(s->pairs),
			text_plural((double)bilingual_replaced(s->pairs)));
	bilingual_describe(s->pairs, &note);
	if (!c->quiet && note.len)
		fprintf(stderr, "note: %s\n", buf_text(&note));
	buf_free(&note);
	return 0;
}

int pairs_command_run(struct conf *c, struct err *e)
{
	struct pairs_source s = { .name = c->n_arguments ? c->arguments[0] : "standard input",
				  .file = -1 };
	struct sandbox limits;
	int rc;

	if (c->n_arguments > 1)
		return err_set(e, ERR_USAGE, "expected one FILE, not %d (\"%s\" is the second)",
			       c->n_arguments, c->arguments[1]);
	if (encoding_check(c->encoding, e))
		return e->code;
	if (conf_begin_sandbox(c, NULL, &limits))
		conf_enter_sandbox(c, &limits);
	rc = open_pairs_source(&s, c, e);
	if (!rc)
		rc = print_all_pairs(&s, c, e);
	close_pairs_source(&s);
	return rc;
}
