/* run_records.c - see run_records.h */
#include "train/trainer/run_records.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "share/base/clock.h"
#include "share/base/file.h"

int run_records_open(struct run_records *r, const char *folder, struct err *e)
{
	char *journal = file_path(e, "%s/journal.jsonl", folder),
	     *samples = file_path(e, "%s/samples.jsonl", folder);

	r->journal = journal && samples ? journal_open(journal, e) : NULL;
	r->samples = r->journal ? journal_open(samples, e) : NULL;
	/* the launcher forwards our standard error and sets the variable if its own is a terminal */
	r->is_terminal = isatty(STDERR_FILENO) == 1 || getenv("WERKBANK_TERMINAL");
	free(journal);
	free(samples);
	return r->samples ? 0 : e->code;
}

void run_records_close(struct run_records *r)
{
	metric_sinks_close(r->metric_sinks);
	journal_free(r->journal);
	journal_free(r->samples);
}

struct json_writer *run_records_begin(struct run_records *r, const char *kind)
{
	return journal_begin(r->journal, kind, *r->step);
}

int run_records_end(struct run_records *r)
{
	struct err e;

	if (!journal_end(r->journal, &e)) {
		r->journal_failed = false;
		return 0;
	}
	if (!r->journal_failed && !r->is_quiet) {
		run_records_end_line(r);
		fprintf(stderr, "warning: cannot write records to the journal: %s\n", e.text);
	}
	r->journal_failed = true;
	return 0;
}

void run_records_end_line(struct run_records *r)
{
	if (r->journal && r->is_terminal && r->shown_at > 0 && !r->is_quiet)
		fputc('\n', stderr);
	r->shown_at = 0;
}

/* sign: NULL, or that of a warning. */
static int write_level_event(struct run_records *r, const char *level, const char *sign,
			     const char *text)
{
	struct json_writer *w;

	w = run_records_begin(r, "event");
	json_put_str(w, "level", level);
	if (sign)
		json_put_str(w, "sign", sign);
	json_put_str(w, "text", text);
	return run_records_end(r);
}

static int put_level_event(struct run_records *r, const char *level, const char *sign,
			   const char *text)
{
	run_records_end_line(r);
	if (!r->is_quiet)
		fprintf(stderr, "%s: %s\n", level, text);
	return write_level_event(r, level, sign, text);
}

int run_records_failure(struct run_records *r, const char *text)
{
	run_records_end_line(r);
	return r->journal ? write_level_event(r, "error", NULL, text) : 0;
}

int run_records_event(struct run_records *r, const char *level, const char *fmt, ...)
{
	char text[600];
	va_list ap;

	if (!r->journal)
		return 0;
	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	return put_level_event(r, level, NULL, text);
}

int run_records_warning(struct run_records *r, const char *sign, const char *text)
{
	return r->journal ? put_level_event(r, "warning", sign, text) : 0;
}

int run_records_checkpoint(struct run_records *r, int64_t bytes, double seconds, bool is_alone)
{
	struct json_writer *w;
	char path[64];

	if (!r->journal)
		return 0;
	snprintf(path, sizeof(path), "checkpoints/%lld", (long long)*r->step);
	w = run_records_begin(r, "save");
	json_put_str(w, "path", path);
	json_put_int(w, "bytes", bytes);
	json_put_real(w, "seconds", seconds);
	if (is_alone)
		json_put_bool(w, "alone", true);
	run_records_end(r);
	/* after a power failure the records reach as far as the checkpoint */
	journal_sync(r->journal);
	journal_sync(r->samples);
	return 0;
}

const char *run_records_duration(char text[RECORDS_DURATION_BYTES], double s)
{
	if (s >= 5400)
		snprintf(text, RECORDS_DURATION_BYTES, "%d h %02d min", (int)(s / 3600),
			 (int)fmod(s / 60, 60));
	else if (s >= 90)
		snprintf(text, RECORDS_DURATION_BYTES, "%d min", (int)(s / 60 + 0.5));
	else
		snprintf(text, RECORDS_DURATION_BYTES, "%d s", (int)(s + 0.5));
	return text;
}

int run_records_evaluating(struct run_records *r, double expected_s)
{
	struct json_writer *w;
	char about[RECORDS_DURATION_BYTES] = "";

	if (!r->journal)
		return 0;
	w = run_records_begin(r, "evaluating");
	if (expected_s > 0) {
		json_put_real(w, "expected_s", expected_s);
		run_records_duration(about, expected_s);
	}
	if (r->is_terminal && !r->is_quiet) {
		fprintf(stderr, "evaluating step %lld%s%s", (long long)*r->step,
			*about ? ", about " : "", about);
		fflush(stderr);
		r->shown_at = clock_mono_s();
	}
	return run_records_end(r);
}
