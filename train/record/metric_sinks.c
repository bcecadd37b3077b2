/* metric_sinks.c - writes records to TensorBoard and Prometheus; see metric_sinks.h */
#include "train/record/metric_sinks.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "share/base/clock.h"
#include "share/base/file.h"
#include "share/base/mem.h"
#include "share/base/util.h"
#include "train/record/prometheus.h"
#include "train/record/tensorboard.h"

#define REWRITE_S 1.0

enum { TO_TENSORBOARD, TO_PROMETHEUS, N_SINKS };

struct metric_sinks {
	struct journal *journal, *samples; /* borrowed */
	struct tensorboard *board;	   /* owned; NULL: not wanted, or failed to open */
	struct prometheus *metrics;	   /* owned; NULL: the same */
	const char *page;		   /* borrowed: path of the .prom file */
	double written;			   /* clock_mono_s() of the last page */
	bool stale;			   /* a record came after the last page */
	bool failed[N_SINKS];		   /* at least once */
	struct err trouble[N_SINKS];	   /* first failure, not reported yet; code 0: none */
};

static void sinks_note_failure(struct metric_sinks *o, int which, const struct err *e)
{
	assert(which >= 0 && which < N_SINKS && e->code);
	if (!o->failed[which])
		o->trouble[which] = *e;
	o->failed[which] = true;
}

static void write_page(struct metric_sinks *o)
{
	struct err e = { 0 };

	o->stale = false;
	o->written = clock_mono_s();
	if (prometheus_write(o->metrics, o->page, &e))
		sinks_note_failure(o, TO_PROMETHEUS, &e);
}

/* After these records a page is written at once: the next record may come much later. */
static bool is_urgent(const struct json *record)
{
	static const char *const kinds[] = { "start", "eval", "save", "stop" };
	const char *kind = json_text(json_get(record, "kind"), "");

	for (size_t i = 0; i < ARRAY_LEN(kinds); i++)
		if (!strcmp(kinds[i], kind))
			return true;
	return false;
}

static void sinks_write_record(void *arg, const char *line, size_t n)
{
	struct metric_sinks *o = arg;
	struct err e = { 0 };
	struct json *record = json_parse(line, n, &e);

	if (record && o->board && tensorboard_record(o->board, record, &e))
		sinks_note_failure(o, TO_TENSORBOARD, &e);
	if (record && o->metrics) {
		if (prometheus_record(o->metrics, record, &e))
			sinks_note_failure(o, TO_PROMETHEUS, &e);
		o->stale = true;
		if (is_urgent(record) || clock_mono_s() - o->written >= REWRITE_S)
			write_page(o);
	}
	json_free(record);
}

static void open_board(struct metric_sinks *o, const char *folder, int64_t first_step)
{
	struct err e = { 0 };
	char *path = file_path(&e, "%s/tensorboard", folder);

	if (path)
		o->board = tensorboard_open(path, first_step, clock_wall_s(), &e);
	if (!o->board)
		sinks_note_failure(o, TO_TENSORBOARD, &e);
	free(path);
}

/* Read the records of earlier attempts first, so that counters go on. */
static void open_metrics(struct metric_sinks *o, const char *folder, const char *run)
{
	struct err e = { 0 };
	char *path = file_path(&e, "%s/journal.jsonl", folder);

	o->metrics = path ? prometheus_new(run, &e) : NULL;
	if (!o->metrics || prometheus_journal(o->metrics, path, &e))
		sinks_note_failure(o, TO_PROMETHEUS, &e);
	free(path);
}

struct metric_sinks *metric_sinks_open(const struct conf *c, const char *folder, int64_t first_step,
				       struct journal *journal, struct journal *samples,
				       struct err *e)
{
	struct metric_sinks *o = mem_alloc(1, sizeof(*o), e);

	if (!o)
		return NULL;
	o->journal = journal;
	o->samples = samples;
	o->page = c->prometheus;
	o->written = -REWRITE_S;
	if (c->tensorboard)
		open_board(o, folder, first_step);
	if (c->prometheus)
		open_metrics(o, folder, c->run);
	if (journal && (o->board || o->metrics))
		journal_listen(journal, sinks_write_record, o);
	if (samples && o->board)
		journal_listen(samples, sinks_write_record, o);
	return o;
}

bool metric_sinks_failure(struct metric_sinks *o, struct err *e)
{
	for (int i = 0; o && i < N_SINKS; i++)
		if (o->trouble[i].code) {
			*e = o->trouble[i];
			o->trouble[i].code = 0;
			return true;
		}
	return false;
}

void metric_sinks_close(struct metric_sinks *o)
{
	if (!o)
		return;
	if (o->journal)
		journal_listen(o->journal, NULL, NULL);
	if (o->samples)
		journal_listen(o->samples, NULL, NULL);
	if (o->metrics && o->stale)
		write_page(o);
	prometheus_free(o->metrics);
	tensorboard_free(o->board);
	free(o);
}
