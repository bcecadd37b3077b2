/* document.c - stores the chosen translations of a text file; see document.h. */
#include "tui/translate/document.h"

#include <assert.h>
#include <fcntl.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "data/text/sentences.h"
#include "share/base/buf.h"
#include "share/base/file.h"
#include "share/base/lines.h"
#include "share/base/mem.h"
#include "share/base/text.h"
#include "share/base/util.h"

/* A copy on one line without tabs; NULL: ERR_NOMEM. */
static char *copy_one_line(const char *text, struct err *e)
{
	char *copy = mem_strdup(text, e);

	for (char *p = copy; p && *p; p++)
		if (*p == '\t' || *p == '\n' || *p == '\r')
			*p = ' ';
	return copy;
}

bool document_is_blank(const struct document *d, size_t i)
{
	return !d->sources[i][strspn(d->sources[i], " ")];
}

/* A file while it is read. */
struct document_reader {
	struct document *d;
	struct sentence_splitter *splitter; /* owned; NULL: lines stay whole */
	struct buf gap;			    /* since the last sentence */
	const char *tags;		    /* borrowed */
	size_t cap_sources, cap_before;
};

/* Adds a sentence: the tag, and n bytes of text, after the gap. */
static int add_source(struct document_reader *r, const char *tag, size_t n_tag, const char *text,
		      size_t n, struct err *e)
{
	struct document *d = r->d;
	char *copy = file_path(e, "%.*s%.*s", (int)n_tag, tag, (int)n, text);

	if (!copy || mem_grow(&d->sources, &r->cap_sources, d->n + 1, sizeof(*d->sources), e) ||
	    mem_grow(&d->before, &r->cap_before, d->n + 1, sizeof(*d->before), e) ||
	    !(d->before[d->n] = mem_strdup(buf_text(&r->gap), e))) {
		free(copy);
		return e->code;
	}
	d->sources[d->n] = copy_one_line(copy, e);
	free(copy);
	if (!d->sources[d->n]) {
		free(d->before[d->n]);
		return e->code;
	}
	d->n++;
	buf_clear(&r->gap);
	return 0;
}

/* Bytes of the tag that begins the line, with the blank after it; 0: none. */
static size_t count_tag_bytes(const char *tags, const char *line)
{
	const size_t n = strcspn(line, " ");

	for (const char *at = tags; n && *at; at += strcspn(at, " "), at += *at == ' ')
		if (line[n] == ' ' && strcspn(at, " ") == n && !strncmp(at, line, n))
			return n + 1;
	return 0;
}

/* Adds the sentences of a line. A blank line counts as one, which needs no translation. */
static int add_source_line(struct document_reader *r, const char *text, size_t n, struct err *e)
{
	const struct sentence_range whole = { 0, n }, *ranges = &whole;
	const size_t n_tag = count_tag_bytes(r->tags, text);
	size_t count = 1, at = 0;

	if (r->splitter && sentences_find(r->splitter, text, n, &ranges, &count, e))
		return e->code;
	if (!count && add_source(r, "", 0, "", 0, e))
		return e->code;
	for (size_t i = 0; i < count; i++) {
		buf_add(&r->gap, text + at, ranges[i].from - at);
		at = ranges[i].from + ranges[i].n;
		if (add_source(r, text, i ? n_tag : 0, text + ranges[i].from, ranges[i].n, e))
			return e->code;
	}
	buf_add(&r->gap, text + at, n - at);
	buf_add_char(&r->gap, '\n');
	return buf_check(&r->gap, e);
}

static int read_source_lines(struct document_reader *r, struct lines *in, struct err *e)
{
	size_t bytes = 0;
	int got;

	while ((got = lines_next(in, e)) > 0) {
		if ((bytes += in->len + 1) > DOCUMENT_MAX_BYTES)
			return err_set(e, ERR_DATA,
				       "%s: longer than %u bytes; split it, or translate it with t",
				       r->d->in, DOCUMENT_MAX_BYTES);
		/* NUL bytes end a line early, which only shortens what is shown */
		const char *text =
			in->text + (in->number == 1 ? utf8_mark_bytes(in->text, in->len) : 0);

		if (add_source_line(r, text, strlen(text), e))
			return e->code;
	}
	if (!got && !r->d->n)
		return err_set(e, ERR_DATA, "%s: it has no line to translate", r->d->in);
	return MIN(got, 0);
}

/* Reads all sentences of the file at path. */
static int read_sources(struct document *d, const char *path, const char *language,
			const char *tags, struct err *e)
{
	struct document_reader r = { .d = d, .tags = tags };
	struct lines in;
	int rc;

	if (language)
		r.splitter = sentence_splitter_new(language, e);
	if ((language && !r.splitter) || lines_open_file(&in, path, e)) {
		sentence_splitter_free(r.splitter);
		return e->code;
	}
	in.repair = true;
	rc = read_source_lines(&r, &in, e);
	if (!rc && !(d->tail = mem_strdup(buf_text(&r.gap), e)))
		rc = e->code;
	lines_close(&in);
	buf_free(&r.gap);
	sentence_splitter_free(r.splitter);
	return rc;
}

/* Reads OUT.part. Its last line, if it has no end, was being written when the program was killed. */
static int read_part(struct document *d, struct err *e)
{
	struct buf all = { 0 };
	int rc = 0;

	if (!file_exists(d->part))
		return 0;
	rc = file_read_all(d->part, 4 * (size_t)DOCUMENT_MAX_BYTES, &all, e);
	for (char *at = all.data, *end; !rc && at && (end = strchr(at, '\n')); at = end + 1) {
		char *tab;

		*end = 0;
		tab = strchr(at, '\t');
		if (tab)
			*tab = 0;
		if (!tab || d->n_chosen == d->n || strcmp(at, d->sources[d->n_chosen]))
			rc = err_set(e, ERR_DATA,
				     "%s, line %zu: it belongs to another text than %s; rename it, "
				     "or write to another name",
				     d->part, d->n_chosen + 1, d->in);
		else if (!(d->chosen[d->n_chosen] = mem_strdup(tab + 1, e)))
			rc = e->code;
		else
			d->n_chosen++;
	}
	buf_free(&all);
	return rc;
}

static void add_part_line(const struct document *d, size_t i, struct buf *out)
{
	buf_printf(out, "%s\t%s\n", d->sources[i], d->chosen[i]);
}

/* Writes OUT.part anew. */
static int rewrite_part(const struct document *d, struct err *e)
{
	struct buf all = { 0 };
	int rc;

	for (size_t i = 0; i < d->n_chosen; i++)
		add_part_line(d, i, &all);
	rc = file_write_buf(d->part, &all, e);
	buf_free(&all);
	return rc;
}

/* Adds the last chosen line to OUT.part, in one write that reaches the disk. */
static int append_part(struct document *d, struct err *e)
{
	struct buf line = { 0 };
	int fd = -1, rc;

	if (d->rewrites) {
		rc = rewrite_part(d, e);
		d->rewrites = rc != 0;
		return rc;
	}
	add_part_line(d, d->n_chosen - 1, &line);
	rc = buf_check(&line, e);
	if (!rc)
		rc = file_open_in_place(&fd, d->part, O_WRONLY | O_APPEND, e);
	if (!rc && (file_write_fd(fd, line.data, line.len) || fsync(fd)))
		rc = err_set_errno(e, ERR_IO, "%s: cannot be written", d->part);
	d->rewrites = rc != 0;
	if (fd >= 0)
		close(fd);
	buf_free(&line);
	return rc;
}

/* Empty lines need no choice. */
static int choose_empty_lines(struct document *d, struct err *e)
{
	while (d->n_chosen < d->n && document_is_blank(d, d->n_chosen)) {
		if (!(d->chosen[d->n_chosen] = mem_strdup("", e)))
			return e->code;
		d->n_chosen++;
		if (append_part(d, e)) {
			free(d->chosen[--d->n_chosen]);
			d->chosen[d->n_chosen] = NULL;
			return e->code;
		}
	}
	return 0;
}

static void show_first_open(struct document *d)
{
	d->at = MIN(d->n_chosen, d->n - 1);
}

struct document *document_open(const char *in, const char *out, const char *sentences,
			       const char *language, const char *tags, struct err *e)
{
	struct document *d = mem_alloc(1, sizeof(*d), e);

	if (!d)
		return NULL;
	if (!(d->in = mem_strdup(in, e)) || !(d->out = mem_strdup(out, e)) ||
	    !(d->part = file_path(e, "%s.part", out)))
		goto fail_document;
	if (file_exists(out)) {
		err_set(e, ERR_CANTCREAT, "%s: already exists; choose another name", out);
		goto fail_document;
	}
	d->has_markup = sentences != NULL;
	if (read_sources(d, sentences ? sentences : in, sentences ? NULL : language, tags, e) ||
	    !(d->chosen = mem_alloc(d->n, sizeof(*d->chosen), e)) ||
	    !(d->drafts = mem_alloc(d->n, sizeof(*d->drafts), e)) ||
	    !(d->qualities = mem_alloc(d->n, sizeof(*d->qualities), e)) || read_part(d, e) ||
	    rewrite_part(d, e) || choose_empty_lines(d, e))
		goto fail_document;
	for (size_t i = 0; i < d->n; i++)
		d->qualities[i] = NAN;
	show_first_open(d);
	return d;
fail_document:
	document_free(d);
	return NULL;
}

void document_free(struct document *d)
{
	if (!d)
		return;
	for (size_t i = 0; i < d->n; i++) {
		free(d->sources[i]);
		free(d->before[i]);
		if (d->chosen)
			free(d->chosen[i]);
		if (d->drafts)
			free(d->drafts[i]);
	}
	free(d->drafts);
	free(d->qualities);
	free(d->sources);
	free(d->before);
	free(d->tail);
	free(d->chosen);
	free(d->in);
	free(d->out);
	free(d->part);
	free(d);
}

void document_forget_drafts(struct document *d)
{
	for (size_t i = 0; i < d->n; i++) {
		free(d->drafts[i]);
		d->drafts[i] = NULL;
		if (i >= d->n_chosen)
			d->qualities[i] = NAN;
	}
}

int document_choose(struct document *d, const char *translation, double quality, struct err *e)
{
	bool is_new = d->at == d->n_chosen;
	char *copy = copy_one_line(translation, e), *before = d->chosen[d->at];

	assert(d->at <= d->n_chosen && d->at < d->n);
	if (!copy)
		return e->code;
	d->chosen[d->at] = copy;
	d->n_chosen += is_new;
	if (is_new ? append_part(d, e) : rewrite_part(d, e)) {
		d->chosen[d->at] = before;
		d->n_chosen -= is_new;
		free(copy);
		return e->code;
	}
	free(before);
	d->qualities[d->at] = quality;
	if (choose_empty_lines(d, e))
		return e->code;
	if (is_new)
		show_first_open(d);
	else
		document_move(d, 1);
	return 0;
}

int document_forget_choice(struct document *d, size_t at, struct err *e)
{
	const size_t n = d->n_chosen;

	d->n_chosen = MIN(at, n);
	if (rewrite_part(d, e)) {
		d->n_chosen = n;
		return e->code;
	}
	for (size_t i = d->n_chosen; i < n; i++) {
		free(d->chosen[i]);
		d->chosen[i] = NULL;
	}
	d->at = MIN(d->at, d->n_chosen);
	return 0;
}

void document_move(struct document *d, int by)
{
	size_t last = MIN(d->n_chosen, d->n - 1), at = d->at;

	do {
		if (by < 0 ? at == 0 : at >= last)
			return;
		at += by < 0 ? (size_t)-1 : 1;
	} while (document_is_blank(d, at));
	d->at = at;
}

bool document_is_complete(const struct document *d)
{
	return d->n_chosen == d->n;
}

void document_remove_part(const struct document *d)
{
	unlink(d->part);
}

int document_finish(struct document *d, struct err *e)
{
	struct buf all = { 0 };
	int rc;

	assert(document_is_complete(d) && !d->has_markup);
	if (file_exists(d->out))
		return err_set(e, ERR_CANTCREAT,
			       "%s: already exists by now; %s has the translation", d->out,
			       d->part);
	for (size_t i = 0; i < d->n; i++)
		buf_printf(&all, "%s%s", d->before[i], d->chosen[i]);
	buf_add_str(&all, d->tail);
	rc = file_write_buf(d->out, &all, e);
	buf_free(&all);
	if (!rc)
		document_remove_part(d);
	return rc;
}
