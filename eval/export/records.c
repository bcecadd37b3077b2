/* records.c - reads the scalars of a journal and writes them in other formats; see records.h */
#include "eval/export/records.h"

#include <assert.h>
#include <ctype.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "data/words/intern.h"
#include "eval/export/model_export.h"
#include "eval/export/records_svg.h"
#include "share/base/file.h"
#include "share/base/mem.h"
#include "share/base/text.h"
#include "share/base/util.h"
#include "share/workspace/journal.h"
#include "share/workspace/paths.h"
#include "train/record/prometheus.h"
#include "train/record/scalars.h"
#include "train/record/tensorboard.h"

struct point {
	int32_t tag; /* in tags */
	int64_t step;
	double t, value;
	size_t order; /* number in the journal */
};

struct records {
	const char *run, *to;	 /* borrowed; to: NULL for standard output */
	char *journal, *samples; /* owned paths */
	struct intern tags;
	struct point *points; /* owned */
	size_t n, cap;
	int64_t step; /* of the last record that has a step */
	double t;     /* of the last record that has a time */
};

/* ---- reading ----------------------------------------------------------- */

static int add_scalar_point(void *arg, const char *tag, double value, struct err *e)
{
	struct records *r = arg;
	struct point *p;
	int32_t index;

	if (!isfinite(value))
		return 0;
	if (intern_add(&r->tags, tag, strlen(tag), &index, e) ||
	    mem_grow(&r->points, &r->cap, r->n + 1, sizeof(*r->points), e))
		return e->code;
	p = &r->points[r->n];
	*p = (struct point){ index, r->step, r->t, value, r->n };
	r->n++;
	return 0;
}

static int read_points(struct records *r, struct err *e)
{
	struct journal_reader *in = journal_reader_open(r->journal, e);
	const struct json *record;
	int got = in ? 0 : e->code;

	while (in && (got = journal_next(in, &record, e)) > 0) {
		r->step = json_integer(json_get(record, "step"), r->step);
		r->t = json_number(json_get(record, "t"), r->t);
		/* an attempt starts at this step and repeats the steps after it */
		if (!strcmp(json_text(json_get(record, "kind"), ""), "start"))
			while (r->n && r->points[r->n - 1].step > r->step)
				r->n--;
		if (scalars_each(record, add_scalar_point, r, e)) {
			got = e->code;
			break;
		}
	}
	journal_reader_free(in);
	return got;
}

/* ---- text -------------------------------------------------------------- */

static void append_real(struct buf *b, double v)
{
	struct json_writer w = { .out = b };

	json_real(&w, v);
}

/* A file that appears when it is complete, or standard output. */
struct record_output {
	struct outfile file;
	FILE *stream;
	bool is_file;
};

static int record_output_open(struct record_output *s, const char *path, struct err *e)
{
	*s = (struct record_output){ .stream = stdout, .is_file = path != NULL };
	if (path && outfile_open(&s->file, path, e))
		return e->code;
	if (path)
		s->stream = s->file.stream;
	return 0;
}

/* Writes the content of b and clears b. */
static void record_output_put(struct record_output *s, struct buf *b)
{
	(void)!fwrite(buf_text(b), 1, b->len, s->stream);
	buf_clear(b);
}

/* Commits the file, or removes it if rc or writing says failure. Frees b. */
static int record_output_close(struct record_output *s, struct buf *b, int rc, struct err *e)
{
	if (!rc)
		rc = buf_check(b, e);
	buf_free(b);
	if (!s->is_file)
		return rc ? rc : file_flush_stdout(e);
	return outfile_finish(&s->file, rc, e);
}

static int write_jsonl(struct records *r, struct err *e)
{
	struct buf line = { 0 };
	struct record_output s;

	if (record_output_open(&s, r->to, e))
		return e->code;
	for (size_t i = 0; i < r->n; i++) {
		const struct point *p = &r->points[i];
		struct json_writer w = { .out = &line };
		size_t n;
		const char *tag = intern_text(&r->tags, p->tag, &n);

		json_open(&w, '{');
		json_put_str(&w, "run", r->run);
		json_put_real(&w, "t", p->t);
		json_put_int(&w, "step", p->step);
		json_put_strn(&w, "tag", tag, n);
		json_put_real(&w, "value", p->value);
		json_close(&w, '}');
		buf_add_char(&line, '\n');
		record_output_put(&s, &line);
	}
	return record_output_close(&s, &line, 0, e);
}

/* A CSV field by RFC 4180: quoted if needed. */
static void add_field(struct buf *b, const char *text, size_t n)
{
	bool plain = true;

	for (size_t i = 0; i < n; i++)
		plain = plain && !strchr(",\"\r\n", text[i]);
	if (!plain)
		buf_add_char(b, '"');
	for (size_t i = 0; i < n; i++) {
		if (text[i] == '"')
			buf_add_char(b, '"');
		buf_add_char(b, text[i]);
	}
	if (!plain)
		buf_add_char(b, '"');
}

static int by_step(const void *a, const void *b)
{
	const struct point *x = a, *y = b;

	if (x->step != y->step)
		return x->step < y->step ? -1 : 1;
	return x->order < y->order ? -1 : x->order > y->order;
}

static int by_tag(const void *a, const void *b)
{
	const struct point *x = a, *y = b;

	if (x->tag != y->tag)
		return x->tag < y->tag ? -1 : 1;
	return x->order < y->order ? -1 : x->order > y->order;
}

static void add_header(const struct records *r, struct buf *line)
{
	buf_add_str(line, "step,wall_time");
	for (int32_t i = 0; i < r->tags.n; i++) {
		size_t n;
		const char *tag = intern_text(&r->tags, i, &n);

		buf_add_char(line, ',');
		add_field(line, tag, n);
	}
	buf_add_char(line, '\n');
}

static int write_table(struct records *r, struct err *e)
{
	size_t columns = (size_t)r->tags.n;
	double *row = mem_alloc(columns + 1, sizeof(*row), e);
	struct buf line = { 0 };
	struct record_output s;

	if (!row || record_output_open(&s, r->to, e)) {
		free(row);
		return e->code;
	}
	if (r->n)
		qsort(r->points, r->n, sizeof(*r->points), by_step);
	add_header(r, &line);
	record_output_put(&s, &line);
	for (size_t i = 0; i < r->n;) {
		const int64_t step = r->points[i].step;
		double t = r->points[i].t;

		for (size_t k = 0; k < columns; k++)
			row[k] = NAN;
		for (; i < r->n && r->points[i].step == step; i++) {
			assert(r->points[i].tag >= 0 && (size_t)r->points[i].tag < columns);
			row[r->points[i].tag] = r->points[i].value;
			t = fmax(t, r->points[i].t);
		}
		buf_printf(&line, "%lld,", (long long)step);
		append_real(&line, t);
		for (size_t k = 0; k < columns; k++) {
			buf_add_char(&line, ',');
			if (!isnan(row[k]))
				append_real(&line, row[k]);
		}
		buf_add_char(&line, '\n');
		record_output_put(&s, &line);
	}
	free(row);
	return record_output_close(&s, &line, 0, e);
}

/* The tag as a relative path. Unsafe characters, such as those in a host's name, become %XX. */
static void add_tag_path(struct buf *b, const char *tag, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		unsigned char c = (unsigned char)tag[i];
		bool first = i == 0 || tag[i - 1] == '/';

		if (isalnum(c) || strchr("_-", c) || (c == '.' && !first) || (c == '/' && !first))
			buf_add_char(b, (char)c);
		else
			buf_printf(b, "%%%02X", c);
	}
}

static int make_tag_file(const struct records *r, const char *folder, int32_t tag,
			 struct record_output *s, struct err *e)
{
	struct buf path = { 0 };
	char *slash;
	size_t n;
	const char *text = intern_text(&r->tags, tag, &n);
	int rc;

	buf_printf(&path, "%s/", folder);
	add_tag_path(&path, text, n);
	rc = buf_check(&path, e);
	slash = rc ? NULL : strrchr(path.data, '/');
	if (slash) {
		*slash = 0;
		rc = file_make_folders(path.data, e);
		*slash = '/';
	}
	buf_add_str(&path, ".csv");
	if (!rc)
		rc = buf_check(&path, e);
	if (!rc)
		rc = record_output_open(s, path.data, e);
	buf_free(&path);
	return rc;
}

static int write_tags(struct records *r, const char *folder, struct err *e)
{
	struct buf line = { 0 };
	struct record_output s;
	int rc = 0;

	if (r->n)
		qsort(r->points, r->n, sizeof(*r->points), by_tag);
	for (size_t i = 0; i < r->n && !rc;) {
		const int32_t tag = r->points[i].tag;

		rc = make_tag_file(r, folder, tag, &s, e);
		if (rc)
			break;
		buf_add_str(&line, "Wall time,Step,Value\n");
		for (; i < r->n && r->points[i].tag == tag; i++) {
			append_real(&line, r->points[i].t);
			buf_printf(&line, ",%lld,", (long long)r->points[i].step);
			append_real(&line, r->points[i].value);
			buf_add_char(&line, '\n');
		}
		record_output_put(&s, &line);
		rc = record_output_close(&s, &line, 0, e);
	}
	return rc;
}

/* ---- event files ------------------------------------------------------- */

/* Samples have times but no attempts: write those up to the time of a record before the record. */
struct samples {
	struct journal_reader *reader;
	const struct json *next; /* NULL: no sample is left */
};

static int next_sample(struct samples *s, struct err *e)
{
	int got = journal_next(s->reader, &s->next, e);

	if (got <= 0)
		s->next = NULL;
	return got < 0 ? e->code : 0;
}

static int put_samples(struct tensorboard *t, struct samples *s, double until, struct err *e)
{
	while (s->next && !(json_number(json_get(s->next, "t"), 0) > until))
		if (tensorboard_record(t, s->next, e) || next_sample(s, e))
			return e->code;
	return 0;
}

/* A new attempt opens a new file: TensorBoard then drops the steps that the attempt repeats. */
static int put_event_record(struct tensorboard **t, const char *folder, const struct json *record,
			    struct err *e)
{
	bool start = !strcmp(json_text(json_get(record, "kind"), ""), "start");

	if (!*t || start) {
		tensorboard_free(*t);
		*t = tensorboard_open(folder, json_integer(json_get(record, "step"), 0) + start,
				      json_number(json_get(record, "t"), 0), e);
	}
	return *t ? tensorboard_record(*t, record, e) : e->code;
}

static int write_events(struct records *r, const char *folder, struct err *e)
{
	struct samples s = { .reader = journal_reader_open(r->samples, e) };
	struct journal_reader *in = s.reader ? journal_reader_open(r->journal, e) : NULL;
	struct tensorboard *t = NULL;
	const struct json *record;
	int got = in ? next_sample(&s, e) : e->code;

	while (in && !got && (got = journal_next(in, &record, e)) > 0) {
		got = t ? put_samples(t, &s, json_number(json_get(record, "t"), 0), e) : 0;
		if (!got)
			got = put_event_record(&t, folder, record, e);
	}
	if (!got && t)
		got = put_samples(t, &s, HUGE_VAL, e);
	tensorboard_free(t);
	journal_reader_free(in);
	journal_reader_free(s.reader);
	return got;
}

/* ---- formats ----------------------------------------------------------- */

typedef int fill_fn(struct records *r, const char *folder, struct err *e);

/* Fills a temporary folder and renames it when it is complete. */
static int write_record_folder(struct records *r, fill_fn *fill, struct err *e)
{
	struct outfolder out;
	int rc;

	if (!r->to)
		return err_set(e, ERR_USAGE, "this format makes a folder: give --output FOLDER");
	rc = outfolder_open(&out, r->to, NULL, e);
	if (!rc)
		rc = fill(r, out.temporary, e);
	if (!rc)
		rc = outfolder_commit(&out, e);
	outfolder_abandon(&out);
	return rc;
}

static int export_tensorboard(struct records *r, struct err *e)
{
	return write_record_folder(r, write_events, e);
}

static int export_csv(struct records *r, struct err *e)
{
	if (read_points(r, e))
		return e->code;
	return !r->to || text_ends_with(r->to, ".csv") ? write_table(r, e)
						       : write_record_folder(r, write_tags, e);
}

static int export_jsonl(struct records *r, struct err *e)
{
	return read_points(r, e) ? e->code : write_jsonl(r, e);
}

static int export_prometheus(struct records *r, struct err *e)
{
	struct prometheus *p = prometheus_new(r->run, e);
	struct buf page = { 0 };
	struct record_output s;
	int rc = p ? prometheus_journal(p, r->journal, e) : e->code;

	if (!rc && r->to)
		rc = prometheus_write(p, r->to, e);
	else if (!rc && !(rc = record_output_open(&s, NULL, e))) {
		prometheus_page(p, &page);
		record_output_put(&s, &page);
		rc = record_output_close(&s, &page, 0, e);
	}
	prometheus_free(p);
	return rc;
}

static int export_svg(struct records *r, struct err *e)
{
	struct buf page = { 0 };
	struct record_output s;
	int rc = records_svg_page(r->run, r->journal, &page, e);

	/* no output file is touched before the page is complete */
	if (!rc)
		rc = buf_check(&page, e);
	if (rc || record_output_open(&s, r->to, e)) {
		buf_free(&page);
		return e->code;
	}
	record_output_put(&s, &page);
	return record_output_close(&s, &page, 0, e);
}

static const struct {
	const char *name;
	int (*export)(struct records *r, struct err *e);
} formats[] = {
	{ "tensorboard", export_tensorboard }, { "csv", export_csv }, { "jsonl", export_jsonl },
	{ "prometheus", export_prometheus },   { "svg", export_svg },
};

bool records_knows(const char *format)
{
	for (size_t i = 0; i < ARRAY_LEN(formats); i++)
		if (!strcmp(formats[i].name, format))
			return true;
	return false;
}

int records_export(const struct conf *c, struct err *e)
{
	struct records r = { .run = c->run, .to = c->output };
	char *workspace = NULL;
	int rc = ERR_INTERNAL;

	if (!c->run)
		return err_set(e, ERR_USAGE,
			       "export needs the run whose records it exports: give --run NAME");
	if (paths_check_name("run", c->run, e))
		return e->code;
	workspace = paths_workspace(c->workspace, e);
	if (workspace) {
		r.journal = file_path(e, "%s/runs/%s/journal.jsonl", workspace, c->run);
		r.samples = file_path(e, "%s/runs/%s/samples.jsonl", workspace, c->run);
	}
	if (!r.journal || !r.samples)
		rc = e->code;
	else if (!file_exists(r.journal))
		rc = err_set(e, ERR_NOINPUT,
			     "%s does not exist: there is no run \"%s\" with records", r.journal,
			     c->run);
	else
		for (size_t i = 0; i < ARRAY_LEN(formats); i++)
			if (!strcmp(formats[i].name, c->format))
				rc = formats[i].export(&r, e);
	free(workspace);
	free(r.journal);
	free(r.samples);
	free(r.points);
	intern_free(&r.tags);
	return rc;
}
