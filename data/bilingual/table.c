/*
 * table.c - tables of columns: CSV and TSV
 *
 * The separator is a tab, or , or ; (the more frequent one in the first row; one before a blank is
 * punctuation). With , and ; a cell may be quoted as in RFC 4180; between tabs a quote is a quote, as in
 * the corpora of the field. The first row is a header if it names both sides: by the languages ("en" or
 * "English"), by "source" and "target", or by the names of pair_columns. A table of two columns needs no header.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "data/bilingual/bilingual_internal.h"
#include "data/bilingual/language_tag.h"
#include "share/base/mem.h"
#include "share/base/text.h"
#include "share/base/util.h"
#include "share/format/language_name.h"

#define MAX_COLUMNS 1000

struct table_cell {
	size_t at, n; /* in table.text */
};

struct table {
	struct bilingual *b;
	struct lines in;
	char separator;	  /* 0: not known yet */
	struct buf first; /* text of the first row, as far as it was read to find the separator */
	bool has_columns;
	size_t columns[2]; /* of source and target, from 0 */
	/* the current row */
	struct buf text;
	struct table_cell *cells; /* owned */
	size_t n, cap;
	int64_t row_line; /* in which it begins */
};

static const char *table_name(const struct table *t)
{
	return bilingual_opened_with(t->b)->name;
}

/* ---- the separator ---- */

/* Excel writes "sep=;" as the first line: true, and the separator is known. */
static bool is_separator_line(struct table *t, const char *line)
{
	if (strncasecmp(line, "sep=", 4) || !line[4] || line[5])
		return false;
	t->separator = line[4];
	return true;
}

/* What the first row has outside of quotes, which open at the beginning of a cell. */
struct row_scan {
	size_t commas, semicolons;
	/* without those before a blank, which may be punctuation */
	size_t tight_commas, tight_semicolons;
	bool is_quoted;
};

static void scan_row_line(struct row_scan *s, const char *line)
{
	for (const char *c = line; *c; c++) {
		if (s->is_quoted) {
			s->is_quoted = *c != '"';
			continue;
		}
		/* after a closing quote: "" is a quote in the text */
		s->is_quoted = *c == '"' && (c == line || strchr(",;\"", c[-1]));
		s->commas += *c == ',';
		s->semicolons += *c == ';';
		s->tight_commas += *c == ',' && c[1] != ' ';
		s->tight_semicolons += *c == ';' && c[1] != ' ';
	}
}

/* The separator that is more frequent; 0: both are equally frequent. */
static char frequent_separator(const struct row_scan *s)
{
	const bool has_tight = s->tight_commas + s->tight_semicolons > 0;
	const size_t commas = has_tight ? s->tight_commas : s->commas,
		     semicolons = has_tight ? s->tight_semicolons : s->semicolons;

	return commas > semicolons ? ',' : commas < semicolons ? ';' : '\0';
}

/* The first row begins with `line`; its further lines are added to t->first if a cell in quotes has several. */
static int find_separator(struct table *t, const char *line, struct err *e)
{
	const bool has_tab = strchr(line, '\t') != NULL;
	struct row_scan s = { .commas = 0 };
	int got = 1;

	buf_add_str(&t->first, line);
	scan_row_line(&s, line);
	while (s.is_quoted && !s.commas && !s.semicolons && !has_tab && got > 0 &&
	       t->first.len < BILINGUAL_MAX_BYTES) {
		got = lines_next(&t->in, e);
		if (got < 0)
			return got;
		if (!got)
			break;
		buf_add_char(&t->first, '\n');
		buf_add_str(&t->first, t->in.text);
		scan_row_line(&s, t->in.text);
	}
	if (has_tab && !(text_ends_with(table_name(t), ".csv") && s.commas + s.semicolons))
		t->separator = '\t';
	else
		t->separator = frequent_separator(&s);
	if (!t->separator && s.commas)
		return err_set(e, ERR_CONFIG,
			       "%s: its first row has as many , as ; so that the separator is not "
			       "clear: write sep=; or sep=, as the first line",
			       table_name(t));
	if (!t->separator)
		return err_set(e, ERR_DATA,
			       "%s: is no TMX, XLIFF or PO file, and its first row has no columns: "
			       "neither tab nor , nor ; separates cells",
			       table_name(t));
	return buf_check(&t->first, e);
}

/* ---- rows ---- */

static int begin_cell(struct table *t, struct err *e)
{
	if (t->n == MAX_COLUMNS)
		return err_set(e, ERR_DATA, "%s:%lld: a row has more than %d columns",
			       table_name(t), (long long)t->row_line, MAX_COLUMNS);
	if (mem_grow(&t->cells, &t->cap, t->n + 1, sizeof(*t->cells), e))
		return e->code;
	t->cells[t->n++] = (struct table_cell){ t->text.len, 0 };
	return 0;
}

static void end_cell(struct table *t)
{
	t->cells[t->n - 1].n = t->text.len - t->cells[t->n - 1].at;
}

/* The quoted text goes on in the next line. Returns the beginning of this line; NULL: failure. */
static const char *next_quoted_line(struct table *t, struct err *e)
{
	const int got = t->text.len > BILINGUAL_MAX_BYTES ? 0 : lines_next(&t->in, e);

	if (got > 0) {
		buf_add_char(&t->text, '\n');
		return t->in.text;
	}
	if (!got)
		err_set(e, ERR_DATA,
			"%s:%lld: a quote opens a cell in this row and is not closed%s",
			table_name(t), (long long)t->row_line,
			t->text.len > BILINGUAL_MAX_BYTES ? " within 16 MiB"
							  : " before the end of the file");
	return NULL;
}

/* Text up to the closing quote, with "" for a quote. Returns the place after it; NULL: failure. */
static const char *read_quoted(struct table *t, const char *at, struct err *e)
{
	for (;;) {
		const size_t n = strcspn(at, "\"");

		buf_add(&t->text, at, n);
		at += n;
		if (!*at) {
			at = next_quoted_line(t, e);
			if (!at)
				return NULL;
		} else if (at[1] == '"') {
			buf_add_char(&t->text, '"');
			at += 2;
		} else {
			return at + 1;
		}
	}
}

/* The cells of the row that begins in the current line. */
static int read_row(struct table *t, const char *at, struct err *e)
{
	const char separators[2] = { t->separator, '\0' };

	buf_clear(&t->text);
	t->n = 0;
	t->row_line = t->in.number;
	for (;; at++) {
		size_t n;

		if (begin_cell(t, e))
			return e->code;
		if (t->separator != '\t' && *at == '"' && !(at = read_quoted(t, at + 1, e)))
			return e->code;
		n = strcspn(at, separators);
		buf_add(&t->text, at, n);
		end_cell(t);
		at += n;
		if (!*at)
			return buf_check(&t->text, e);
	}
}

static struct text_span span_of_cell(const struct table *t, size_t column)
{
	const char *text = buf_text(&t->text);

	if (column >= t->n)
		return (struct text_span){ "", 0 };
	return (struct text_span){ text + t->cells[column].at, t->cells[column].n };
}

/* ---- columns ---- */

/* Is the cell, without blanks at its ends, this text? */
static bool is_cell_named(struct text_span cell, const char *name, size_t n)
{
	while (cell.n && *cell.text == ' ') {
		cell.text++;
		cell.n--;
	}
	while (cell.n && cell.text[cell.n - 1] == ' ')
		cell.n--;
	return cell.n == n && !strncasecmp(cell.text, name, n);
}

/* How well a cell of a header names a side; 0: it does not. */
static int cell_fit(struct text_span cell, const char *language, const char *side)
{
	char tag[24];

	const char *name = language_name_of(language);

	if (is_cell_named(cell, side, strlen(side)))
		return 4;
	if (is_cell_named(cell, name, strlen(name)))
		return 3;
	if (!cell.n || cell.n >= sizeof(tag))
		return 0;
	snprintf(tag, sizeof(tag), "%.*s", (int)cell.n, cell.text);
	return language_tag_fit(language, tag);
}

/* Find both sides in the first row. Are they there? */
static bool find_named_columns(struct table *t)
{
	const struct bilingual_options *o = bilingual_opened_with(t->b);
	const char *const languages[] = { o->source_language, o->target_language };
	static const char *const sides[] = { "source", "target" };
	int best[2] = { 0, 0 };

	for (size_t side = 0; side < 2; side++)
		for (size_t i = 0; i < t->n; i++) {
			const int fit = cell_fit(span_of_cell(t, i), languages[side], sides[side]);

			if (fit <= best[side])
				continue;
			best[side] = fit;
			t->columns[side] = i;
		}
	return best[0] && best[1] && t->columns[0] != t->columns[1];
}

/* One part of pair_columns: a number, or a name in the first row (then *is_header). */
static int find_asked_column(struct table *t, const char *name, size_t n, size_t *column,
			     bool *is_header, struct err *e)
{
	char *end;
	const long number = strtol(name, &end, 10);

	if (n && end == name + n) {
		*column = (size_t)number - 1;
		if (number >= 1 && (size_t)number <= t->n)
			return 0;
		return err_set(
			e, ERR_CONFIG,
			"%s: has no column %ld (pair_columns): its first row has %zu column%s",
			table_name(t), number, t->n, text_plural((double)t->n));
	}
	for (size_t i = 0; i < t->n; i++)
		if (is_cell_named(span_of_cell(t, i), name, n)) {
			*column = i;
			*is_header = true;
			return 0;
		}
	return err_set(e, ERR_CONFIG,
		       "%s: no column of its first row is called %.*s (pair_columns)",
		       table_name(t), (int)n, name);
}

static int find_asked_columns(struct table *t, const char *asked, bool *is_header, struct err *e)
{
	const char *comma = strchr(asked, ',');
	struct table_cell *cells = t->cells;

	if (!comma || !comma[1] || comma == asked)
		return err_set(
			e, ERR_CONFIG,
			"pair_columns: expected SOURCE,TARGET, such as 1,2 or English,German, "
			"not '%s'",
			asked);
	if (find_asked_column(t, asked, (size_t)(comma - asked), &t->columns[0], is_header, e) ||
	    find_asked_column(t, comma + 1, strlen(comma + 1), &t->columns[1], is_header, e))
		return e->code;
	if (t->columns[0] == t->columns[1])
		return err_set(e, ERR_CONFIG, "pair_columns: both sides are column %zu",
			       t->columns[0] + 1);
	if (!*is_header) { /* numbers: a header may be there all the same */
		const struct bilingual_options *o = bilingual_opened_with(t->b);

		*is_header =
			cells &&
			cell_fit(span_of_cell(t, t->columns[0]), o->source_language, "source") &&
			cell_fit(span_of_cell(t, t->columns[1]), o->target_language, "target");
	}
	return 0;
}

/* From the first row, which is in t. */
static int find_columns(struct table *t, bool *is_header, struct err *e)
{
	const char *asked = bilingual_opened_with(t->b)->columns;

	t->has_columns = true;
	*is_header = false;
	if (asked)
		return find_asked_columns(t, asked, is_header, e);
	*is_header = find_named_columns(t);
	if (*is_header)
		return 0;
	t->columns[0] = 0;
	t->columns[1] = 1;
	if (t->n == 2)
		return 0;
	return err_set(e, ERR_CONFIG,
		       "%s: its first row has %zu column%s and does not name the columns of %s and "
		       "%s: give pair_columns, for example 1,2",
		       table_name(t), t->n, text_plural((double)t->n),
		       bilingual_opened_with(t->b)->source_language,
		       bilingual_opened_with(t->b)->target_language);
}

/* ---- the format ---- */

static void close_table(void *reader)
{
	struct table *t = reader;

	lines_close(&t->in);
	buf_free(&t->first);
	buf_free(&t->text);
	free(t->cells);
	free(t);
}

static void *open_table(struct bilingual *b, struct err *e)
{
	struct table *t = mem_alloc(1, sizeof(*t), e);

	if (!t)
		return NULL;
	*t = (struct table){ .b = b };
	if (lines_open_reader(&t->in, table_name(t), bilingual_read_text, b, e)) {
		free(t);
		return NULL;
	}
	t->in.repair = bilingual_opened_with(b)->repair;
	t->in.has_encoding = true;
	t->in.drops_mark = true;
	return t;
}

/* The row that begins with this line, which is not empty. */
static int add_row(struct table *t, const char *line, struct err *e)
{
	bool is_header = false;

	if (!t->separator) {
		if (find_separator(t, line, e))
			return e->code;
		line = buf_text(&t->first);
	}
	if (read_row(t, line, e) || (!t->has_columns && find_columns(t, &is_header, e)))
		return e->code;
	return is_header ? 0
			 : bilingual_add(t->b, BILINGUAL_PAIR, span_of_cell(t, t->columns[0]),
					 span_of_cell(t, t->columns[1]), e);
}

/* One row. */
static int step_table(void *reader, struct err *e)
{
	struct table *t = reader;
	const int got = lines_next(&t->in, e);
	const char *line = t->in.text;

	if (got <= 0)
		return got;
	if (bilingual_check_line(&t->in, table_name(t), e))
		return e->code;
	if (t->in.number == 1 && is_separator_line(t, line))
		return 1;
	if (!*line)
		return 1;
	return add_row(t, line, e) ? e->code : 1;
}

const struct bilingual_format bilingual_table = { open_table, step_table, close_table };
