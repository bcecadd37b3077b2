/* tensorboard.c - writes event files for TensorBoard; see tensorboard.h */
#include "train/record/tensorboard.h"

#include <dirent.h>
#include <fcntl.h>
#include <float.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "share/base/buf.h"
#include "share/base/crc32c.h"
#include "share/base/file.h"
#include "share/base/mem.h"
#include "share/base/util.h"
#include "share/format/proto.h"
#include "train/record/scalars.h"

struct tensorboard {
	char *path; /* owned */
	int fd;
	off_t size;		  /* bytes of whole events */
	struct buf event, record; /* reused */
};

/* ---- TFRecord ---------------------------------------------------------- */

static void add_masked_crc(struct buf *b, const void *bytes, size_t n)
{
	proto_put_le(b, crc32c_masked(bytes, n), 4);
}

/* Append t->event; after a failure (full disk) cut the file to whole events. */
static int put_event(struct tensorboard *t, struct err *e)
{
	struct buf *r = &t->record;

	buf_restart(r);
	proto_put_le(r, t->event.len, 8);
	add_masked_crc(r, r->data, r->len);
	buf_add(r, t->event.data, t->event.len);
	add_masked_crc(r, t->event.data, t->event.len);
	if (buf_check(&t->event, e) || buf_check(r, e))
		return e->code;
	if (!file_write_fd(t->fd, r->data, r->len)) {
		t->size += (int64_t)r->len;
		return 0;
	}
	err_set_errno(e, ERR_IO, "%s: cannot write the file", t->path);
	if (ftruncate(t->fd, t->size))
		return e->code; /* readers stop at the incomplete event */
	return e->code;
}

/* ---- events ------------------------------------------------------------ */

/* Field numbers of event.proto, summary.proto, tensor.proto, plugin_data.proto. */
enum { EVENT_WALL = 1, EVENT_STEP, EVENT_VERSION, EVENT_SUMMARY = 5, EVENT_SESSION = 7 };
enum { SESSION_STATUS = 1, SESSION_START = 1 };
enum { SUMMARY_VALUE = 1 };
enum { VALUE_TAG = 1, VALUE_SIMPLE, VALUE_TENSOR = 8, VALUE_METADATA };
enum { METADATA_PLUGIN = 1 };
enum { PLUGIN_NAME = 1, PLUGIN_CONTENT };
enum { TENSOR_DTYPE = 1, TENSOR_SHAPE, TENSOR_FLOATS = 5, TENSOR_STRINGS = 8 };
enum { SHAPE_DIM = 2, DIM_SIZE = 1 };
enum { DT_FLOAT = 1, DT_STRING = 7 };
enum { HPARAMS_START = 3, HPARAMS_END };
enum { START_HPARAMS = 1, START_TIME = 5, END_STATUS = 1, END_TIME };
enum { STATUS_SUCCESS = 1, STATUS_FAILURE };
enum { STRUCT_NUMBER = 2, STRUCT_STRING };

static void begin_event(struct tensorboard *t, double wall, int64_t step)
{
	buf_restart(&t->event);
	proto_put_double(&t->event, EVENT_WALL, wall);
	if (step > 0)
		proto_put_varint(&t->event, EVENT_STEP, (uint64_t)step);
}

static int add_scalar(void *arg, const char *tag, double v, struct err *e)
{
	struct buf *summary = arg, value = { 0 };

	(void)e; /* the buffer itself records a failed allocation */

	proto_put_text(&value, VALUE_TAG, tag);
	if (fabs(v) > FLT_MAX)
		v = copysign(INFINITY, v);
	proto_put_float(&value, VALUE_SIMPLE, (float)v);
	proto_put_message(summary, SUMMARY_VALUE, &value);
	return 0;
}

/* Add a value for a plugin of TensorBoard. Frees tensor. */
static void add_plugin_value(struct buf *summary, const char *tag, struct buf *tensor,
			     const char *plugin, struct buf *content)
{
	struct buf value = { 0 }, metadata = { 0 }, data = { 0 };

	proto_put_text(&data, PLUGIN_NAME, plugin);
	if (content)
		proto_put_message(&data, PLUGIN_CONTENT, content);
	proto_put_message(&metadata, METADATA_PLUGIN, &data);
	proto_put_text(&value, VALUE_TAG, tag);
	proto_put_message(&value, VALUE_TENSOR, tensor);
	proto_put_message(&value, VALUE_METADATA, &metadata);
	proto_put_message(summary, SUMMARY_VALUE, &value);
}

/* ---- records of the journal -------------------------------------------- */

/* Add a row with one cell to a Markdown table; escape special characters. */
static void markdown_add_cell(struct buf *text, const char *row, const char *cell)
{
	buf_printf(text, "| %s | ", row);
	for (; *cell; cell++) {
		if (strchr("|\\`*_<>[]#", *cell))
			buf_add_char(text, '\\');
		buf_add_char(text, *cell == '\n' ? ' ' : *cell);
	}
	buf_add_str(text, " |\n");
}

static void add_sample_summary(struct buf *summary, const struct json *record)
{
	static const char *const rows[] = { "source", "reference", "hypothesis" };
	struct buf tensor = { 0 }, shape = { 0 }, dim = { 0 }, text = { 0 };
	char tag[64];

	snprintf(tag, sizeof(tag), "samples/%lld",
		 (long long)json_integer(json_get(record, "id"), -1));
	buf_add_str(&text, "| | |\n|---|---|\n");
	for (size_t i = 0; i < ARRAY_LEN(rows); i++)
		markdown_add_cell(&text, rows[i], json_text(json_get(record, rows[i]), ""));
	proto_put_varint(&tensor, TENSOR_DTYPE, DT_STRING);
	proto_put_varint(&dim, DIM_SIZE, 1);
	proto_put_message(&shape, SHAPE_DIM, &dim);
	proto_put_message(&tensor, TENSOR_SHAPE, &shape);
	proto_put_message(&tensor, TENSOR_STRINGS, &text);
	add_plugin_value(summary, tag, &tensor, "text", NULL);
}

/* Add a scalar 0 whose metadata has the content for the hparams plugin. */
static void add_hparams(struct buf *summary, const char *tag, struct buf *content)
{
	struct buf tensor = { 0 }, floats = { 0 }, shape = { 0 };

	proto_put_le(&floats, 0, 4);
	proto_put_varint(&tensor, TENSOR_DTYPE, DT_FLOAT);
	proto_put_message(&tensor, TENSOR_SHAPE, &shape);
	proto_put_message(&tensor, TENSOR_FLOATS, &floats);
	add_plugin_value(summary, tag, &tensor, "hparams", content);
}

/* One entry of map<string, google.protobuf.Value>: a number if value is one, else a text. */
static void add_hparam_option(struct buf *start, const char *name, const char *text)
{
	struct buf entry = { 0 }, value = { 0 };
	char *end;
	double number = strtod(text, &end);

	if (end != text && !*end)
		proto_put_double(&value, STRUCT_NUMBER, number);
	else
		proto_put_text(&value, STRUCT_STRING, text);
	proto_put_text(&entry, 1, name);
	proto_put_message(&entry, 2, &value);
	proto_put_message(start, START_HPARAMS, &entry);
}

static void add_start(struct buf *summary, const struct json *record)
{
	static const char *const texts[] = { "precision", "backend" };
	static const char *const numbers[] = { "ranks", "parameters", "vocabulary" };
	const struct json *options = json_get(record, "options"), *v;
	struct buf start = { 0 }, content = { 0 };
	const char *name;
	char text[32];

	for (size_t i = 0; (name = json_member(options, i, &v)) != NULL; i++)
		add_hparam_option(&start, name, json_text(v, ""));
	for (size_t i = 0; i < ARRAY_LEN(texts); i++)
		if ((v = json_get(record, texts[i])) != NULL)
			add_hparam_option(&start, texts[i], json_text(v, ""));
	for (size_t i = 0; i < ARRAY_LEN(numbers); i++)
		if ((v = json_get(record, numbers[i])) != NULL) {
			snprintf(text, sizeof(text), "%lld", (long long)json_integer(v, 0));
			add_hparam_option(&start, numbers[i], text);
		}
	proto_put_double(&start, START_TIME, json_number(json_get(record, "t"), 0));
	proto_put_message(&content, HPARAMS_START, &start);
	add_hparams(summary, "_hparams_/session_start_info", &content);
}

static void add_stop(struct buf *summary, const struct json *record)
{
	bool good = strcmp(json_text(json_get(record, "reason"), ""), "failed") != 0;
	struct buf end = { 0 }, content = { 0 };

	proto_put_varint(&end, END_STATUS, good ? STATUS_SUCCESS : STATUS_FAILURE);
	proto_put_double(&end, END_TIME, json_number(json_get(record, "t"), 0));
	proto_put_message(&content, HPARAMS_END, &end);
	add_hparams(summary, "_hparams_/session_end_info", &content);
}

static const struct {
	const char *kind;
	void (*add)(struct buf *summary, const struct json *record);
} kinds[] = {
	{ "start", add_start },
	{ "stop", add_stop },
	{ "sample", add_sample_summary },
};

int tensorboard_record(struct tensorboard *t, const struct json *record, struct err *e)
{
	const char *kind = json_text(json_get(record, "kind"), "");
	struct buf summary = { 0 };
	int rc = 0;

	for (size_t i = 0; i < ARRAY_LEN(kinds); i++)
		if (!strcmp(kinds[i].kind, kind))
			kinds[i].add(&summary, record);
	if (strcmp(kind, "rank") != 0) /* no plots of ranks: there may be a thousand */
		(void)scalars_each(record, add_scalar, &summary, e);
	if (summary.len || summary.failed) {
		begin_event(t, json_number(json_get(record, "t"), 0),
			    json_integer(json_get(record, "step"), 0));
		proto_put_message(&t->event, EVENT_SUMMARY, &summary);
		rc = put_event(t, e);
	}
	buf_free(&summary);
	return rc;
}

/* ---- opening and closing ----------------------------------------------- */

static int begin_file(struct tensorboard *t, int64_t first_step, double wall, struct err *e)
{
	struct buf session = { 0 };

	begin_event(t, wall, 0);
	proto_put_text(&t->event, EVENT_VERSION, "brain.Event:2");
	if (put_event(t, e))
		return e->code;
	begin_event(t, wall, first_step);
	proto_put_varint(&session, SESSION_STATUS, SESSION_START);
	proto_put_message(&t->event, EVENT_SESSION, &session);
	return put_event(t, e);
}

/*
 * TensorBoard reads the files of a folder in the order of their names. The number of a new file is
 * larger than those of all older files, even if the clock went back or has not moved.
 */
static int64_t number_of_file(const char *folder, double wall)
{
	static const char prefix[] = "events.out.tfevents.";
	int64_t number = fabs(wall) < 1e15 ? (int64_t)wall : 0;
	struct dirent *entry;
	DIR *d = opendir(folder);

	while (d && (entry = readdir(d)) != NULL) {
		long long there;

		if (strncmp(entry->d_name, prefix, sizeof(prefix) - 1) != 0)
			continue;
		there = strtoll(entry->d_name + sizeof(prefix) - 1, NULL, 10);
		if (there >= number && there < (int64_t)1e15)
			number = there + 1;
	}
	if (d)
		closedir(d);
	return number;
}

static int open_event_file(struct tensorboard *t, const char *folder, double wall, struct err *e)
{
	char host[256] = "";

	gethostname(host, sizeof(host) - 1);
	t->path = file_path(e, "%s/events.out.tfevents.%010lld.%s.%ld.0", folder,
			    (long long)number_of_file(folder, wall), host, (long)getpid());
	if (!t->path)
		return e->code;
	t->fd = open(t->path, O_WRONLY | O_CREAT | O_EXCL | O_APPEND | O_CLOEXEC, 0666);
	return t->fd < 0 ? err_set_errno(e, ERR_CANTCREAT, "%s: cannot create the file", t->path)
			 : 0;
}

struct tensorboard *tensorboard_open(const char *folder, int64_t first_step, double wall,
				     struct err *e)
{
	struct tensorboard *t = mem_alloc(1, sizeof(*t), e);

	if (!t)
		return NULL;
	t->fd = -1;
	if (!file_make_folders(folder, e) && !open_event_file(t, folder, wall, e) &&
	    !begin_file(t, first_step, wall, e))
		return t;
	tensorboard_free(t);
	return NULL;
}

void tensorboard_free(struct tensorboard *t)
{
	if (!t)
		return;
	if (t->fd >= 0)
		close(t->fd);
	free(t->path);
	buf_free(&t->event);
	buf_free(&t->record);
	free(t);
}
