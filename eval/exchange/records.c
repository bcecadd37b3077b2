/* records.c - see records.h */
#include "eval/exchange/records.h"

#include <ctype.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "data/words/intern.h"
#include "eval/exchange/model_export.h"
#include "share/base/file.h"
#include "share/base/journal.h"
#include "share/base/mem.h"
#include "share/base/paths.h"
#include "share/base/text.h"
#include "share/base/util.h"
#include "train/record/prometheus.h"
#include "train/record/scalars.h"
#include "train/record/tensorboard.h"

struct point {
	int32_t tag; /* in tags */
	int64_t step;
	double t, value;
	size_t order; /* as they came */
};

struct records {
	const char *run, *to;	 /* borrowed; to: NULL for standard output */
	char *journal, *samples; /* owned paths */
	struct intern tags;
	struct point *points; /* owned */
	size_t n, cap;
	int64_t step; /* of the last record that told one */
	double t;
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
		/* what a killed attempt did beyond this step is done again */
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

/* Where text goes: a file that is there when it is complete, or standard output. */
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

/* Write what is in b, and empty it. */
static void record_output_put(struct record_output *s, struct buf *b)
{
	(void)!fwrite(buf_text(b), 1, b->len, s->stream);
	buf_clear(b);
}

static int record_output_close(struct record_output *s, struct buf *b, int code, struct err *e)
{
	if (!code)
		code = buf_check(b, e);
	buf_free(b);
	if (!s->is_file)
		return code || fflush(stdout) == 0
			       ? code
			       : err_set_errno(e, ERR_IO, "standard output cannot be written");
	if (!code)
		return outfile_commit(&s->file, e);
	outfile_abandon(&s->file);
	return code;
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

/* A field of RFC 4180. */
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

/* "train/loss" is a path of its own; what else is odd in a tag, as a host's name, becomes %XX. */
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
	int code;

	buf_printf(&path, "%s/", folder);
	add_tag_path(&path, text, n);
	code = buf_check(&path, e);
	slash = code ? NULL : strrchr(path.data, '/');
	if (slash) {
		*slash = 0;
		code = file_make_folders(path.data, e);
		*slash = '/';
	}
	buf_add_str(&path, ".csv");
	if (!code)
		code = buf_check(&path, e);
	if (!code)
		code = record_output_open(s, path.data, e);
	buf_free(&path);
	return code;
}

static int write_tags(struct records *r, const char *folder, struct err *e)
{
	struct buf line = { 0 };
	struct record_output s;
	int code = 0;

	if (r->n)
		qsort(r->points, r->n, sizeof(*r->points), by_tag);
	for (size_t i = 0; i < r->n && !code;) {
		const int32_t tag = r->points[i].tag;

		code = make_tag_file(r, folder, tag, &s, e);
		if (code)
			break;
		buf_add_str(&line, "Wall time,Step,Value\n");
		for (; i < r->n && r->points[i].tag == tag; i++) {
			append_real(&line, r->points[i].t);
			buf_printf(&line, ",%lld,", (long long)r->points[i].step);
			append_real(&line, r->points[i].value);
			buf_add_char(&line, '\n');
		}
		record_output_put(&s, &line);
		code = record_output_close(&s, &line, 0, e);
	}
	return code;
}

/* ---- event files ------------------------------------------------------- */

/* Samples have no attempts of their own: those up to this time go before the next record. */
struct samples {
	struct journal_reader *reader;
	const struct json *next; /* NULL: none any more */
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

/* A new attempt is a new file, which makes TensorBoard forget what is done again. */
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

/* A folder that is complete or not there. */
static int write_record_folder(struct records *r, fill_fn *fill, struct err *e)
{
	char *temporary;
	size_t n;
	int code;

	if (!r->to)
		return err_set(e, ERR_USAGE, "export to where? give --output FOLDER");
	n = strlen(r->to);
	while (n > 1 && r->to[n - 1] == '/')
		n--;
	temporary = file_path(e, "%.*s.%ld.tmp", (int)n, r->to, (long)getpid());
	code = temporary ? file_make_folders(temporary, e) : e->code;
	if (!code)
		code = fill(r, temporary, e);
	if (!code)
		code = model_export_commit(temporary, r->to, e);
	if (code && temporary)
		file_remove_tree(temporary, &(struct err){ 0 });
	free(temporary);
	return code;
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
	int code = p ? prometheus_journal(p, r->journal, e) : e->code;

	if (!code && r->to)
		code = prometheus_write(p, r->to, e);
	else if (!code && !(code = record_output_open(&s, NULL, e))) {
		prometheus_page(p, &page);
		record_output_put(&s, &page);
		code = record_output_close(&s, &page, 0, e);
	}
	prometheus_free(p);
	return code;
}

static const struct {
	const char *name;
	int (*export)(struct records *r, struct err *e);
} formats[] = {
	{ "tensorboard", export_tensorboard },
	{ "csv", export_csv },
	{ "jsonl", export_jsonl },
	{ "prometheus", export_prometheus },
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
	int code = ERR_INTERNAL;

	if (!c->run)
		return err_set(e, ERR_USAGE, "export which run's records? give --run NAME");
	if (paths_check_name("run", c->run, e))
		return e->code;
	workspace = paths_workspace(c->workspace, e);
	if (workspace) {
		r.journal = file_path(e, "%s/runs/%s/journal.jsonl", workspace, c->run);
		r.samples = file_path(e, "%s/runs/%s/samples.jsonl", workspace, c->run);
	}
	if (!r.journal || !r.samples)
		code = e->code;
	else if (!file_exists(r.journal))
		code = err_set(e, ERR_NOINPUT,
			       "%s is not there: no run \"%s\" has recorded anything", r.journal,
			       c->run);
	else
		for (size_t i = 0; i < ARRAY_LEN(formats); i++)
			if (!strcmp(formats[i].name, c->format))
				code = formats[i].export(&r, e);
	free(workspace);
	free(r.journal);
	free(r.samples);
	free(r.points);
	intern_free(&r.tags);
	return code;
}
