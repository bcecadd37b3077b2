/* origin.c - map between lines of the source texts and positions in train.shard (see origin.h) */
#include "data/inspect/origin.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "data/shard/shuffle.h"
#include "share/base/file.h"
#include "share/base/lines.h"
#include "share/base/mem.h"
#include "share/base/text.h"
#include "share/format/json.h"

#define JSON_LIMIT (64u << 20) /* bytes */

/* ---- loading ---- */

static struct json *origin_read_json(const char *folder, const char *name, struct err *e)
{
	char *path = file_path(e, "%s/%s", folder, name);
	struct json *root = NULL;
	struct buf text = { 0 };

	if (path && !file_read_all(path, JSON_LIMIT, &text, e)) {
		root = json_parse(buf_text(&text), text.len, e);
		if (!root)
			err_prefix(e, "%s", path);
	}
	buf_free(&text);
	free(path);
	return root;
}

static int origins_load_texts(struct origins *o, const struct json *stats, const char *folder,
			      struct err *e)
{
	const struct json *texts = json_get(stats, "texts"), *item;
	struct origin_text *t;

	o->texts = mem_alloc(json_len(texts), sizeof(*o->texts), e);
	if (!o->texts)
		return e->code;
	for (; o->n < json_len(texts); o->n++) {
		item = json_at(texts, o->n);
		t = &o->texts[o->n];
		t->pairs = json_integer(json_get(item, "pairs"), -1);
		t->kept = json_integer(json_get(item, "kept"), -1);
		t->first = o->kept;
		if (t->kept < 0 || t->pairs < t->kept || t->pairs > INT64_MAX / 2 - o->kept)
			return err_set(e, ERR_DATA,
				       "%s/stats.json: damaged, prepare the corpus again with "
				       "--force",
				       folder);
		t->name = mem_strdup(json_text(json_get(item, "name"), ""), e);
		if (!t->name)
			return e->code;
		o->kept += t->kept;
	}
	return o->n ? 0
		    : err_set(e, ERR_DATA, "%s/stats.json: lists no text; prepare the corpus again",
			      folder);
}

/* Does the FILE field name this text? The ledger replaces control characters of names. */
static bool is_named(const char *field, size_t n, const char *name)
{
	size_t i;

	for (i = 0; i < n && name[i]; i++)
		if (field[i] != name[i] && (unsigned char)name[i] >= ' ' && name[i] != 0x7F)
			return false;
	return i == n && !name[i];
}

/* Length of the field at `at`, up to a tab or the end of the row. */
static size_t field_length(const char *at)
{
	return strcspn(at, "\t");
}

static bool parse_line_number(const char *field, int64_t *line)
{
	char number[24];
	size_t n = field_length(field);

	if (n >= sizeof(number))
		return false;
	memcpy(number, field, n);
	number[n] = 0;
	return text_to_int(number, line);
}

/*
 * Walks over the rows of the ledger and the texts in parallel: each text has exactly pairs - kept
 * rows, with ascending lines.
 */
struct drop_cursor {
	const struct origins *o;
	size_t text;  /* index of the current text */
	int64_t row;  /* rows of that text so far */
	int64_t line; /* line of the last row */
};

/* Advance by one row. false: the row does not fit the texts. */
static bool drop_cursor_step(struct drop_cursor *w, const char *row)
{
	const struct origin_text *t;
	size_t n = field_length(row);
	int64_t last = w->line;

	while (w->text < w->o->n &&
	       w->row == w->o->texts[w->text].pairs - w->o->texts[w->text].kept) {
		w->text++;
		w->row = last = 0;
	}
	if (w->text == w->o->n || !row[n])
		return false;
	t = &w->o->texts[w->text];
	if (!is_named(row, n, t->name) || !parse_line_number(row + n + 1, &w->line) ||
	    w->line <= last || w->line > t->pairs)
		return false;
	w->row++;
	assert(w->row <= t->pairs - t->kept);
	return true;
}

static int open_drop_ledger_lines(const char *folder, struct lines *in, struct err *e)
{
	char *path = file_path(e, "%s/ledger.tsv", folder);
	int rc = path ? lines_open_file(in, path, e) : e->code;

	free(path);
	if (rc)
		return rc;
	in->repair = true; /* a file name need not be valid UTF-8 */
	if (lines_next(in, e) < 0) {
		lines_close(in);
		return e->code;
	}
	return 0;
}

static int ledger_mismatch_error(const char *folder, int64_t line, struct err *e)
{
	return err_set(e, ERR_DATA,
		       "%s/ledger.tsv:%lld: does not match stats.json: prepare the corpus again "
		       "with --force",
		       folder, (long long)line);
}

static int origins_load_ledger(struct origins *o, const char *folder, struct err *e)
{
	struct drop_cursor w = { .o = o };
	struct lines in;
	int got = open_drop_ledger_lines(folder, &in, e);

	if (got)
		return got;
	while ((got = lines_next(&in, e)) > 0) {
		struct origin_text *t;

		if (!drop_cursor_step(&w, in.text)) {
			got = ledger_mismatch_error(folder, in.number, e);
			break;
		}
		t = &o->texts[w.text];
		if (mem_grow(&t->dropped, &t->cap, (size_t)w.row, sizeof(*t->dropped), e)) {
			got = e->code;
			break;
		}
		t->dropped[w.row - 1] = w.line;
	}
	while (!got && w.text < o->n && w.row == o->texts[w.text].pairs - o->texts[w.text].kept) {
		w.text++;
		w.row = 0;
	}
	if (!got && w.text < o->n)
		got = ledger_mismatch_error(folder, in.number, e);
	lines_close(&in);
	return got;
}

int origins_load(struct origins *o, const char *folder, struct err *e)
{
	struct json *stats = origin_read_json(folder, "stats.json", e);
	struct json *manifest = stats ? origin_read_json(folder, "manifest.json", e) : NULL;
	int rc = manifest ? 0 : e->code;

	*o = (struct origins){ 0 };
	if (!rc)
		rc = origins_load_texts(o, stats, folder, e);
	if (!rc)
		rc = origins_load_ledger(o, folder, e);
	if (!rc)
		o->seed = json_integer(json_get(manifest, "seed"), 0);
	json_free(stats);
	json_free(manifest);
	if (rc)
		origins_free(o);
	return rc;
}

void origins_free(struct origins *o)
{
	size_t i;

	for (i = 0; i < o->n; i++) {
		free(o->texts[i].name);
		free(o->texts[i].dropped);
	}
	free(o->texts);
	*o = (struct origins){ 0 };
}

/* ---- both directions ---- */

/* Number of dropped lines <= line (binary search). */
static int64_t dropped_until(const struct origin_text *t, int64_t line)
{
	int64_t low = 0, high = t->pairs - t->kept;

	while (low < high) {
		int64_t middle = low + (high - low) / 2;

		if (t->dropped[middle] <= line)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

static struct shuffle origins_shuffle(const struct origins *o)
{
	return shuffle_make(o->kept, rng_key_make((uint64_t)o->seed, RNG_SHUFFLE, UINT32_MAX, 0));
}

struct origin origin_at_position(const struct origins *o, int64_t position)
{
	struct shuffle order = origins_shuffle(o);
	int64_t kept = shuffle_at(&order, position);
	struct origin from = { 0 };
	const struct origin_text *t;
	int64_t low, high;

	assert(position >= 0 && position < o->kept);
	while (from.text + 1 < o->n && kept >= o->texts[from.text + 1].first)
		from.text++;
	t = &o->texts[from.text];
	kept -= t->first;
	/* binary search for the first line with kept + 1 kept lines up to it */
	low = kept + 1;
	high = t->pairs;
	while (low < high) {
		int64_t middle = low + (high - low) / 2;

		if (middle - dropped_until(t, middle) > kept)
			high = middle;
		else
			low = middle + 1;
	}
	from.line = low;
	return from;
}

int64_t origin_find_position(const struct origins *o, struct origin from)
{
	const struct origin_text *t = &o->texts[from.text];
	int64_t before = dropped_until(t, from.line);
	struct shuffle order = origins_shuffle(o);

	assert(from.line >= 1 && from.line <= t->pairs);
	if (before && t->dropped[before - 1] == from.line)
		return -1;
	return shuffle_inverse_at(&order, t->first + from.line - 1 - before);
}

/* ---- FILE:LINE ---- */

static int origins_find_text(const struct origins *o, const char *name, size_t n, size_t *text,
			     struct err *e)
{
	size_t i, length, found = 0;

	for (i = 0; i < o->n; i++) {
		length = strlen(o->texts[i].name);
		if (length < n || memcmp(o->texts[i].name + length - n, name, n))
			continue;
		*text = i;
		if (length == n)
			return 0;
		found++;
	}
	if (found == 1)
		return 0;
	if (!n)
		return err_set(e, ERR_USAGE,
			       "the corpus has %zu texts: give FILE:LINE; the first text is %s",
			       o->n, o->texts[0].name);
	if (found)
		return err_set(e, ERR_USAGE,
			       "%.*s is the end of %zu names: give a longer end, as in %s", (int)n,
			       name, found, o->texts[*text].name);
	return err_set(e, ERR_USAGE,
		       "no text of the corpus is called %.*s; the first of %zu texts is %s", (int)n,
		       name, o->n, o->texts[0].name);
}

int origin_parse(const struct origins *o, const char *text, struct origin *from, struct err *e)
{
	const char *colon = strrchr(text, ':');
	const char *line = colon ? colon + 1 : text;

	if (!text_to_int(line, &from->line))
		return err_set(e, ERR_USAGE, "expected FILE:LINE, not '%s'", text);
	if (origins_find_text(o, text, colon ? (size_t)(colon - text) : 0, &from->text, e))
		return e->code;
	if (from->line < 1 || from->line > o->texts[from->text].pairs)
		return err_set(e, ERR_USAGE, "%s has no line %lld: it has lines 1 to %lld",
			       o->texts[from->text].name, (long long)from->line,
			       (long long)o->texts[from->text].pairs);
	return 0;
}

/* ---- a row of the ledger ---- */

static void origin_row_split(const char *row, struct origin_row *out)
{
	struct buf *const fields[] = { &out->rule, &out->source, &out->target };
	size_t i, n;

	for (i = 0; i < 2; i++) { /* FILE and LINE */
		row += field_length(row);
		row += *row == '\t';
	}
	for (i = 0; i < 3; i++) {
		n = field_length(row);
		buf_add(fields[i], row, n);
		row += n + (row[n] == '\t');
	}
}

int origin_read_row(const struct origins *o, const char *folder, struct origin from,
		    struct origin_row *row, struct err *e)
{
	struct drop_cursor w = { .o = o };
	struct lines in;
	int got = open_drop_ledger_lines(folder, &in, e);

	*row = (struct origin_row){ 0 };
	if (got)
		return got;
	while ((got = lines_next(&in, e)) > 0)
		if (!drop_cursor_step(&w, in.text) || (w.text == from.text && w.line == from.line))
			break;
	if (got > 0 && w.text == from.text && w.line == from.line) {
		origin_row_split(in.text, row);
		got = buf_check(&row->target, e);
	} else if (got >= 0) {
		got = ledger_mismatch_error(folder, in.number, e);
	}
	lines_close(&in);
	return got;
}

void origin_row_free(struct origin_row *row)
{
	buf_free(&row->rule);
	buf_free(&row->source);
	buf_free(&row->target);
}
