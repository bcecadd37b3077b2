/*
 * run_history.c - follows the files of a run; see run_history.h.
 *
 * Journal and samples are append-only: a journal_reader keeps the position and returns the
 * records added since the last call. When the journal's inode changes or the file shrinks, the
 * run was started anew under the same name: the history is reset and read from the start.
 * state.json and recipe.ini are replaced by rename: a change of inode, size or time means
 * "read again". The lock tells whether the launcher lives: state "running" without a held lock
 * is a lost run. run_history_records.c turns the records into series, lines and marks.
 */
#include "tui/run/run_history.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "share/base/clock.h"
#include "share/base/file.h"
#include "share/base/mem.h"
#include "share/base/text.h"
#include "share/base/util.h"
#include "share/conf/conf.h"
#include "share/workspace/journal.h"
#include "share/workspace/paths.h"
#include "share/workspace/run_lease.h"
#include "share/workspace/workspace_names.h"
#include "tui/run/run_history_internal.h"

#define LOCK_EVERY_S  2.0 /* interval between tests of the lock of a running run */
#define CONSOLE_LINES 8	  /* lines of console.log shown for a failed run */
#define CONSOLE_BYTES 8192

/* The version of a file read last: inode, size and modification time. */
struct version {
	ino_t inode;
	off_t size;
	struct timespec changed;
	bool known;
};

struct history_files {
	char *state_path, *recipe_path, *journal_path, *samples_path, *folder,
		*console_path; /* owned */
	struct version state, recipe, journal;
	struct journal_reader *records, *samples; /* owned */
	enum run_state launcher_state;		  /* state in state.json */
	double lock_tested;			  /* time of the last lock test; NaN: never */
	bool locked;				  /* the launcher held the lock at the last test */
	bool console_shown;
	bool derived_stale; /* the fleet has records that its derived numbers lack */
};

const char *run_state_name(enum run_state state)
{
	static const char *const names[] = {
		[RUN_UNKNOWN] = "unknown", [RUN_RUNNING] = "running", [RUN_FINISHED] = "finished",
		[RUN_STOPPED] = "stopped", [RUN_FAILED] = "failed",   [RUN_LOST] = "lost",
	};

	assert((size_t)state < ARRAY_LEN(names));
	return names[state];
}

static struct history_files *open_files(const char *folder, struct err *e)
{
	struct history_files *f = mem_alloc(1, sizeof(*f), e);

	if (!f)
		return NULL;
	f->lock_tested = NAN;
	if ((f->state_path = file_path(e, "%s/state.json", folder)) &&
	    (f->recipe_path = file_path(e, "%s/recipe.ini", folder)) &&
	    (f->journal_path = file_path(e, "%s/journal.jsonl", folder)) &&
	    (f->samples_path = file_path(e, "%s/samples.jsonl", folder)) &&
	    (f->folder = file_path(e, "%s", folder)) &&
	    (f->console_path = file_path(e, "%s/console.log", folder)))
		return f;
	free(f->state_path);
	free(f->recipe_path);
	free(f->journal_path);
	free(f->samples_path);
	free(f->folder);
	free(f);
	return NULL;
}

static void free_files(struct history_files *f)
{
	if (!f)
		return;
	journal_reader_free(f->records);
	journal_reader_free(f->samples);
	free(f->state_path);
	free(f->recipe_path);
	free(f->journal_path);
	free(f->samples_path);
	free(f->folder);
	free(f->console_path);
	free(f);
}

/* Set everything to unknown: at the start, and when the journal was replaced. */
static void reset_history(struct run_history *h)
{
	for (size_t i = 0; i < HISTORY_QUANTITIES; i++)
		series_free(history_series(h, i));
	fleet_free(&h->fleet);
	for (size_t i = 0; i < h->n_samples; i++) {
		free(h->samples[i].source);
		free(h->samples[i].reference);
		free(h->samples[i].hypothesis);
	}
	h->n_samples = h->first_line = h->n_lines = h->n_marks = h->n_ops = 0;
	h->imported = false;
	h->attempt = h->ranks = h->parameters = h->exit_status = h->step = h->best_step = -1;
	h->epoch = h->best_bleu = h->train_nll = h->first_t = h->attempt_t = h->last_t = NAN;
	h->earlier_attempts_s = 0;
	h->pace = (struct step_pace){ 0 };
	h->stop_state = RUN_UNKNOWN;
	h->end = (struct run_end){ 0 };
	h->evaluation = (struct eval_progress){ 0 };
	h->health = (struct run_health){ 0 };
	h->read_share = 1;
	*h->asked_by = *h->host = *h->precision = *h->backend = 0;
}

struct run_history *history_open(const char *workspace, const char *name, struct err *e)
{
	struct run_history *h;
	struct stat st;

	if (paths_check_name("run", name, e) || !(h = mem_alloc(1, sizeof(*h), e)))
		return NULL;
	reset_history(h);
	h->plan.steps = -1;
	if (!(h->name = mem_strdup(name, e)) ||
	    !(h->folder = file_path(e, "%s/runs/%s", workspace, name)) ||
	    !(h->lines = mem_alloc(HISTORY_LINES, sizeof(*h->lines), e)) ||
	    !(h->marks = mem_alloc(HISTORY_MARKS, sizeof(*h->marks), e)) ||
	    !(h->files = open_files(h->folder, e)))
		goto failed;
	if (stat(h->folder, &st) || !S_ISDIR(st.st_mode)) {
		workspace_unknown_run(workspace, name, e);
		goto failed;
	}
	return h;
failed:
	history_free(h);
	return NULL;
}

void history_free(struct run_history *h)
{
	if (!h)
		return;
	reset_history(h);
	free_files(h->files);
	free(h->lines);
	free(h->marks);
	free(h->folder);
	free(h->name);
	free(h);
}

/* True if the file changed since the last call; false if it is missing. */
static bool has_file_changed(const char *path, struct version *v)
{
	struct stat st;
	struct version now;

	if (stat(path, &st))
		return false;
	now = (struct version){ st.st_ino, st.st_size, st.st_mtim, true };
	if (v->known && v->inode == now.inode && v->size == now.size &&
	    v->changed.tv_sec == now.changed.tv_sec && v->changed.tv_nsec == now.changed.tv_nsec)
		return false;
	*v = now;
	return true;
}

enum run_state run_state_by_name(const char *name)
{
	static const char *const under_way[] = { "queued", "starting", "restarting", "stopping" };

	for (size_t i = 0; i < ARRAY_LEN(under_way); i++)
		if (!strcmp(name, under_way[i]))
			return RUN_RUNNING;
	for (enum run_state s = RUN_RUNNING; s <= RUN_LOST; s++)
		if (!strcmp(run_state_name(s), name))
			return s;
	return RUN_UNKNOWN;
}

enum run_state run_state_by_reason(const char *reason)
{
	return !strcmp(reason, "finished")				 ? RUN_FINISHED
	       : !strcmp(reason, "asked") || !strcmp(reason, "diverged") ? RUN_STOPPED
									 : RUN_FAILED;
}

static int read_state_file(struct run_history *h, struct err *e)
{
	struct buf text = { 0 };
	struct json *state = NULL;

	if (file_read_all(h->files->state_path, 1 << 20, &text, e) ||
	    !(state = json_parse(buf_text(&text), text.len, e))) {
		buf_free(&text);
		return err_prefix(e, "%s", h->files->state_path);
	}
	h->files->launcher_state = run_state_by_name(json_text(json_get(state, "state"), ""));
	h->attempt = json_integer(json_get(state, "attempt"), h->attempt);
	h->exit_status = json_integer(json_get(state, "exit"), -1);
	RECORD_COPY(h->asked_by, state, "asked_by");
	if (!*h->host)
		RECORD_COPY(h->host, state, "host");
	json_free(state);
	buf_free(&text);
	return 0;
}

void history_read_plan(struct run_limits *plan, const char *recipe)
{
	struct conf c;
	struct err ignored;

	if (!conf_init(&c, &ignored) && !conf_load_recipe(&c, recipe, &ignored))
		*plan = (struct run_limits){ .steps = c.steps,
					     .minutes = c.max_minutes,
					     .patience = c.patience,
					     .loss_decides = c.stop_metric == BEST_LOSS };
	conf_free(&c);
}

static void derive_run_state(struct run_history *h, double now)
{
	struct history_files *f = h->files;

	if (f->launcher_state == RUN_RUNNING && !(fabs(now - f->lock_tested) < LOCK_EVERY_S)) {
		/* unknown, of another user and host: what state.json says */
		f->locked = run_lease_state(f->folder) != LOCK_FREE;
		f->lock_tested = now;
	}
	if (f->launcher_state == RUN_UNKNOWN)
		h->state = h->stop_state; /* without state.json the stop record decides */
	else
		h->state = f->launcher_state == RUN_RUNNING && !f->locked ? RUN_LOST
									  : f->launcher_state;
}

/* Append the last lines of console.log to the log: often only they name the cause of a failure. */
static void show_console(struct run_history *h)
{
	int64_t size = file_size(h->files->console_path);
	FILE *in = size > 0 ? file_open_stream(h->files->console_path, &(struct err){ 0 }) : NULL;
	char *line = NULL;
	size_t cap = 0;
	ssize_t n;
	char last[CONSOLE_LINES][HISTORY_TEXT];
	int count = 0;

	h->files->console_shown = true;
	if (!in)
		return;
	if (size > CONSOLE_BYTES &&
	    (fseeko(in, size - CONSOLE_BYTES, SEEK_SET) || getline(&line, &cap, in) < 0))
		size = 0;
	while (size && (n = getline(&line, &cap, in)) > 0) {
		line[strcspn(line, "\n")] = 0;
		if (*line)
			record_copy_text(last[count++ % CONSOLE_LINES], HISTORY_TEXT, line);
	}
	for (int i = MAX(count - CONSOLE_LINES, 0); i < count; i++)
		record_copy_text(history_add_line(h, LINE_CONSOLE, NAN, -1)->text, HISTORY_TEXT,
				 last[i % CONSOLE_LINES]);
	free(line);
	fclose(in);
}

/*
 * Open the readers. A journal with another inode, or a smaller size, belongs to a new run of the
 * same name: start over.
 */
static int reopen_when_replaced(struct run_history *h, struct err *e)
{
	struct history_files *f = h->files;
	struct version before = f->journal;

	if (has_file_changed(f->journal_path, &f->journal) && before.known &&
	    (before.inode != f->journal.inode || before.size > f->journal.size)) {
		journal_reader_free(f->records);
		journal_reader_free(f->samples);
		f->records = f->samples = NULL;
		reset_history(h);
		f->state.known = f->recipe.known = f->console_shown = false;
	}
	if (!f->records && !(f->records = journal_reader_open(f->journal_path, e)))
		return e->code;
	if (!f->samples && !(f->samples = journal_reader_open(f->samples_path, e)))
		return e->code;
	return 0;
}

/* Read new records. Returns HISTORY_CHANGED, HISTORY_SAME, or HISTORY_MORE at the time limit. */
static int read_records(struct run_history *h, double until, struct err *e)
{
	const struct json *record;
	int got, changed = HISTORY_SAME;

	for (int n = 0; (got = journal_next(h->files->records, &record, e)) > 0; n++) {
		if (history_add_record(h, record, e))
			return e->code;
		changed = HISTORY_CHANGED;
		h->files->derived_stale = true;
		if (n % 64 == 63 && clock_mono_s() > until)
			return HISTORY_MORE;
	}
	if (got < 0)
		return got;
	/* An earlier call may have read the last record and stopped at its time limit. */
	if (h->files->derived_stale) {
		fleet_update_derived(&h->fleet);
		h->files->derived_stale = false;
		changed = HISTORY_CHANGED;
	}
	for (int n = 0; (got = journal_next(h->files->samples, &record, e)) > 0; n++) {
		if (history_add_sample(h, record, e))
			return e->code;
		changed = HISTORY_CHANGED;
		if (n % 64 == 63 && clock_mono_s() > until)
			return HISTORY_MORE;
	}
	return got < 0 ? got : changed;
}

/* True: the verdict about the run is new. */
static bool judge_history(struct run_history *h, double now)
{
	char *workspace =
		strndup(h->folder, strlen(h->folder) - strlen("/runs/") - strlen(h->name));
	bool is_new = workspace && run_health_update(&h->health, workspace, h->name, now);

	free(workspace);
	return is_new;
}

int history_update(struct run_history *h, double now, double budget_s, struct err *e)
{
	struct history_files *f = h->files;
	double until = clock_mono_s() + budget_s;
	enum run_state before = h->state;
	int status, changed = HISTORY_SAME;
	const bool is_gone = access(h->folder, F_OK) && errno == ENOENT;

	if (is_gone != h->is_gone)
		changed = HISTORY_CHANGED;
	h->is_gone = is_gone;
	if (is_gone)
		return changed;
	if (reopen_when_replaced(h, e))
		return e->code;
	if (has_file_changed(f->recipe_path, &f->recipe)) {
		history_read_plan(&h->plan, f->recipe_path);
		changed = HISTORY_CHANGED;
	}
	if ((status = read_records(h, until, e)) < 0)
		return status;
	changed = MAX(changed, status);
	h->read_share = status == HISTORY_MORE ? journal_read_share(f->records) : 1;
	/* After the records, because state.json is newer than they are. */
	if (has_file_changed(f->state_path, &f->state)) {
		f->lock_tested = NAN;
		if (read_state_file(h, e))
			return e->code;
		changed = MAX(changed, HISTORY_CHANGED);
	}
	derive_run_state(h, now);
	if (h->state == RUN_RUNNING)
		f->console_shown = false;
	if ((h->state == RUN_FAILED || h->state == RUN_LOST) && !f->console_shown &&
	    status != HISTORY_MORE)
		show_console(h);
	h->bad_lines = journal_bad_lines(f->records);
	if (status != HISTORY_MORE && judge_history(h, now))
		changed = MAX(changed, HISTORY_CHANGED);
	return h->state != before ? MAX(changed, HISTORY_CHANGED) : changed;
}

struct run_end history_get_end(const struct run_history *h)
{
	struct run_limits limits = h->plan;
	struct run_end end = h->end;

	limits.step = h->step;
	limits.exit = h->exit_status;
	run_end_complete(&end, run_state_name(h->state), h->asked_by, &limits);
	return end;
}

double history_elapsed(const struct run_history *h, double now)
{
	double end = h->state == RUN_RUNNING && now > h->last_t ? now : h->last_t;

	/* the comparison is false for NaN, so NaN stays NaN */
	return h->earlier_attempts_s + (end < h->attempt_t ? 0 : end - h->attempt_t);
}

double history_progress(const struct run_history *h, double elapsed, const char **of)
{
	double by_steps =
		h->plan.steps > 0 && h->step >= 0 ? (double)h->step / (double)h->plan.steps : NAN;
	double by_time = h->plan.minutes > 0 ? elapsed / (h->plan.minutes * 60) : NAN;
	bool time_ends = by_time > by_steps || isnan(by_steps);

	*of = "";
	if (h->state == RUN_FINISHED && !(by_steps < 1))
		return 1;
	if (h->state == RUN_FINISHED)
		time_ends = history_get_end(h).why == RUN_END_MINUTES;
	if (isfinite(by_time) && isfinite(by_steps))
		*of = time_ends ? " of time" : " of steps";
	if (h->state == RUN_FINISHED && time_ends)
		return 1;
	return time_ends ? by_time : by_steps;
}

double history_remaining(const struct run_history *h, double now)
{
	if (h->state != RUN_RUNNING)
		return NAN;
	return step_pace_left(step_pace_seconds(&h->pace), (double)(h->plan.steps - h->step),
			      h->plan.minutes, history_elapsed(h, now));
}

bool history_is_ending(const struct run_history *h, double now)
{
	if (h->state == RUN_RUNNING && h->evaluation.since > 0)
		return true;
	return history_remaining(h, now) < 0.5; /* false for NaN */
}

const struct series *history_train_nll(const struct run_history *h)
{
	return h->nll.n || !h->loss.n ? &h->nll : &h->loss;
}

const struct history_line *history_line(const struct run_history *h, size_t i)
{
	return i < h->n_lines ? &h->lines[(h->first_line + i) % HISTORY_LINES] : NULL;
}
