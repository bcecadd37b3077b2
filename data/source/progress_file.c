/* progress_file.c - progress of a long command in a file, for watching programs (see progress.h) */
#include <unistd.h>

#include "data/source/progress.h"
#include "share/base/clock.h"
#include "share/base/file.h"
#include "share/format/json.h"

#define WRITE_S 0.25 /* seconds between two writes */

static void progress_begin_json(const struct progress *p, struct json_writer *w, const char *stage)
{
	char host[256] = "";
	double ago = clock_mono_s() - p->began_s, now = clock_wall_s();

	gethostname(host, sizeof(host) - 1);
	json_open(w, '{');
	json_put_int(w, "v", 1);
	json_put_int(w, "pid", getpid());
	json_put_str(w, "host", host);
	json_put_real(w, "t", now);
	json_put_real(w, "began", now - ago);
	json_put_str(w, "stage", stage);
}

static void progress_put_amount(struct json_writer *w, int64_t done, int64_t total, double rate)
{
	json_put_int(w, "done", done);
	json_put_int(w, "total", total);
	json_put_real(w, "rate", rate);
}

static void progress_finish_json(struct progress *p, struct json_writer *w)
{
	struct err ignored;

	json_close(w, '}');
	buf_add_char(w->out, '\n');
	(void)file_write_volatile(p->path, w->out, &ignored); /* the next one comes soon */
	buf_free(w->out);
}

static bool is_write_due(struct progress *p, bool now)
{
	double t = clock_mono_s();

	if (!p->path || (!now && t - p->written_s < WRITE_S))
		return false;
	p->written_s = t;
	return true;
}

void progress_write_file(struct progress *p, int64_t done, bool now)
{
	struct buf b = { 0 };
	struct json_writer w = { .out = &b };
	double seconds = clock_mono_s() - p->began_s;

	if (!is_write_due(p, now))
		return;
	progress_begin_json(p, &w, p->stage);
	json_put_str(&w, "unit", p->unit);
	progress_put_amount(&w, done, p->total, seconds > 0 ? (double)done / seconds : 0);
	progress_finish_json(p, &w);
}

void progress_write_archives(struct progress *p, const struct progress_archive *archives, size_t n)
{
	struct buf b = { 0 };
	struct json_writer w = { .out = &b };
	int64_t done = 0, total = 0;
	double rate = 0;

	if (!is_write_due(p, false))
		return;
	progress_begin_json(p, &w, "fetch");
	json_put_str(&w, "unit", "bytes");
	json_put_open(&w, "archives", '[');
	for (size_t i = 0; i < n; i++) {
		done += archives[i].done;
		total = total < 0 || archives[i].total <= 0 ? -1 : total + archives[i].total;
		rate += archives[i].rate;
		json_open(&w, '{');
		json_put_str(&w, "name", archives[i].name);
		progress_put_amount(&w, archives[i].done, archives[i].total, archives[i].rate);
		if (archives[i].status)
			json_put_str(&w, "words", archives[i].status);
		json_close(&w, '}');
	}
	json_close(&w, ']');
	progress_put_amount(&w, done, total > 0 ? total : 0, rate);
	progress_finish_json(p, &w);
}
