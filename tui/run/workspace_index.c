/* workspace_index.c - lists and follows corpora and runs; see workspace_index.h. */
#include "tui/run/workspace_index.h"

#include <assert.h>
#include <errno.h>
#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "share/base/clock.h"
#include "share/base/file.h"
#include "share/base/mem.h"
#include "share/base/util.h"
#include "share/conf/text_facts.h"
#include "share/workspace/journal.h"
#include "share/workspace/paths.h"
#include "share/workspace/workspace_names.h"
#include "tui/run/record_fields.h"

#define LIST_EVERY_S	2.0
#define CHECK_EVERY_S	1.0 /* interval between reads of state.json and the lock of a running run */
#define RECHECK_EVERY_S 30.0 /* the same for a run that has ended */
#define STALE_S		15.0 /* age from which a progress file of another host is dead */
#define JSON_LIMIT	(64u << 20)

const char *corpus_state_name(enum corpus_state state)
{
	static const char *const names[] = { "ready", "being prepared", "not finished" };

	assert((size_t)state < ARRAY_LEN(names));
	return names[state];
}

/* ---- progress.json ---- */

/* Whether the writer lives: on this host by its pid, on another host by the age of the file. */
static bool is_alive(const struct json *root, double t, double now)
{
	char here[256] = "";
	int64_t pid = json_integer(json_get(root, "pid"), -1);

	gethostname(here, sizeof(here) - 1);
	if (strcmp(json_text(json_get(root, "host"), ""), here))
		return now - t < STALE_S;
	return pid > 1 && pid < INT32_MAX && (!kill((pid_t)pid, 0) || errno == EPERM);
}

void prep_progress_read(struct prep_progress *p, const char *path, double now)
{
	struct json *root = record_read_file(path, 1u << 20);
	const struct json *list = json_get(root, "archives");

	*p = (struct prep_progress){ .exists = json_integer(json_get(root, "v"), 0) == 1 };
	p->t = json_number(json_get(root, "t"), NAN);
	p->began = json_number(json_get(root, "began"), NAN);
	p->done = json_integer(json_get(root, "done"), -1);
	p->total = json_integer(json_get(root, "total"), 0);
	p->rate = json_number(json_get(root, "rate"), NAN);
	RECORD_COPY(p->stage, root, "stage");
	RECORD_COPY(p->unit, root, "unit");
	p->alive = p->exists && is_alive(root, p->t, now);
	for (size_t i = 0; i < json_len(list) && i < INDEX_ARCHIVES; i++) {
		const struct json *a = json_at(list, i);

		RECORD_COPY(p->archives[i].name, a, "name");
		RECORD_COPY(p->archives[i].words, a, "words");
		p->archives[i].done = json_integer(json_get(a, "done"), -1);
		p->archives[i].total = json_integer(json_get(a, "total"), -1);
		p->archives[i].rate = json_number(json_get(a, "rate"), NAN);
		p->n_archives = i + 1;
	}
	json_free(root);
}

double prep_progress_share(const struct prep_progress *p)
{
	return p->total > 0 && p->done >= 0 ? MIN((double)p->done / (double)p->total, 1) : NAN;
}

double prep_progress_left(const struct prep_progress *p)
{
	return p->total > 0 && p->rate > 0 && p->alive
		       ? (double)MAX(p->total - p->done, 0) / p->rate
		       : NAN;
}

/* ---- corpora ---- */

static double file_changed_at(const char *path)
{
	struct stat st;

	return stat(path, &st) ? NAN
			       : (double)st.st_mtim.tv_sec + (double)st.st_mtim.tv_nsec * 1e-9;
}

static void read_corpus(struct indexed_corpus *c, const char *manifest)
{
	struct json *root = record_read_file(manifest, JSON_LIMIT);
	const struct json *pairs = json_get(root, "pairs");

	c->read = json_integer(json_get(pairs, "read"), -1);
	c->train = json_integer(json_get(pairs, "train"), -1);
	c->dev = json_integer(json_get(pairs, "dev"), -1);
	c->test = json_integer(json_get(pairs, "test"), -1);
	c->vocabulary = json_integer(json_get(root, "vocabulary"), -1);
	c->clear_verdicts = text_corpus_clear_verdicts(root);
	RECORD_COPY(c->source, root, "source_language");
	RECORD_COPY(c->target, root, "target_language");
	json_free(root);
}

/* manifest.json is written last: it marks a complete corpus. */
static bool read_corpus_folder(struct indexed_corpus *c, const char *folder, double now)
{
	struct err ignored;
	char *manifest = file_path(&ignored, "%s/manifest.json", folder);
	char *progress = file_path(&ignored, "%s/progress.json", folder);
	double seen = manifest ? file_changed_at(manifest) : NAN;
	struct indexed_corpus before = *c;

	if (progress)
		prep_progress_read(&c->progress, progress, now);
	if (isfinite(seen) && seen != c->manifest_mtime)
		read_corpus(c, manifest);
	c->manifest_mtime = seen;
	c->state = isfinite(seen) && !c->progress.alive ? CORPUS_READY
		   : c->progress.alive			? CORPUS_WORKING
							: CORPUS_UNFINISHED;
	c->changed = isfinite(seen) ? seen : file_changed_at(folder);
	free(manifest);
	free(progress);
	return memcmp(&before, c, sizeof(before)) != 0;
}

static int compare_corpus_name(const void *name, const void *corpus)
{
	return strcmp(name, ((const struct indexed_corpus *)corpus)->name);
}

const struct indexed_corpus *workspace_index_corpus(const struct workspace_index *p,
						    const char *name)
{
	return p->n_corpora ? bsearch(name, p->corpora, p->n_corpora, sizeof(*p->corpora),
				      compare_corpus_name)
			    : NULL;
}

/* ---- runs ---- */

static void free_indexed_run(struct indexed_run *r)
{
	journal_reader_free(r->journal);
	series_free(&r->loss);
	free(r->folder);
}

/* When state.json of the run changed; NAN: there is none. */
static double state_changed_at(const struct indexed_run *r)
{
	struct err ignored;
	char *path = file_path(&ignored, "%s/state.json", r->folder);
	double at = path ? file_changed_at(path) : NAN;

	free(path);
	return at;
}

static bool is_same_time(double a, double b)
{
	return a == b || (isnan(a) && isnan(b));
}

/*
 * Whether to read the run again. An ended run changes only with its state.json, but is checked now
 * and then.
 */
static bool has_run_changed(struct indexed_run *r, double now)
{
	double seen = state_changed_at(r);
	bool same = is_same_time(seen, r->state_mtime);

	r->state_mtime = seen;
	return !same || r->status.alive || fabs(now - r->checked_at) >= RECHECK_EVERY_S;
}

/* Steps that are repeated after a restart replace the earlier ones. */
static void add_loss(struct indexed_run *r, const struct json *record)
{
	double step = (double)json_integer(json_get(record, "step"), -1);
	const struct json *nll = json_get(record, "nll");
	struct err ignored;

	if (step < 0 || strcmp(json_text(json_get(record, "kind"), ""), "train"))
		return;
	if (r->loss.n && step <= r->loss.points[r->loss.n - 1].last)
		series_truncate(&r->loss, step);
	series_add(&r->loss, step, json_number(nll ? nll : json_get(record, "loss"), NAN),
		   &ignored);
}

/*
 * Whether a run needs no look now: it has ended, and its journal and its state.json are as old as
 * when they were read. Thousands of such runs must not open their files twice a second.
 */
static bool is_at_rest(const struct indexed_run *r, double now)
{
	return r->is_fully_read && !r->status.alive && r->read_mtime == r->changed &&
	       is_same_time(state_changed_at(r), r->state_mtime) &&
	       fabs(now - r->checked_at) < RECHECK_EVERY_S;
}

static int read_run(struct indexed_run *r, double now, double until, struct err *e)
{
	const struct json *record;
	int got, changed = INDEX_UNCHANGED;

	for (int n = 0; (got = journal_next(r->journal, &record, e)) > 0; n++) {
		status_add_record(&r->status, record);
		add_loss(r, record);
		changed = INDEX_CHANGED;
		r->is_fully_read = false;
		if (n % 64 == 63 && clock_mono_s() > until)
			return INDEX_MORE;
	}
	changed = r->is_fully_read ? changed : INDEX_CHANGED;
	r->is_fully_read = true;
	r->read_mtime = r->changed;
	if (fabs(now - r->checked_at) < CHECK_EVERY_S || !has_run_changed(r, now))
		return changed;
	r->checked_at = now;
	/* unreadable files leave the status unknown */
	if (status_read_files(&r->status, r->folder, e))
		return e->code;
	if (!r->status.alive)
		journal_reader_rest(r->journal); /* files that are open are few on many systems */
	return INDEX_CHANGED;
}

static int open_indexed_run(struct indexed_run *r, const char *folder, const char *name,
			    struct err *e)
{
	char *path = file_path(e, "%s/journal.jsonl", folder);

	*r = (struct indexed_run){ .state_mtime = NAN, .read_mtime = NAN };
	status_init(&r->status, name);
	series_init_small(&r->loss, INDEX_POINTS);
	r->folder = path ? mem_strdup(folder, e) : NULL;
	if (r->folder)
		r->journal = journal_reader_open(path, e);
	r->checked_at = -1e9;
	free(path);
	if (r->journal)
		return 0;
	free_indexed_run(r);
	return e->code;
}

static int compare_by_activity(const void *left, const void *right)
{
	const struct indexed_run *a = left, *b = right;

	if (a->status.alive != b->status.alive)
		return a->status.alive ? -1 : 1;
	if (a->changed != b->changed)
		return a->changed > b->changed ? -1 : 1;
	return strcmp(a->status.name, b->status.name);
}

/* ---- both ---- */

static int list_corpora(struct workspace_index *p, const char *workspace, struct err *e)
{
	struct indexed_corpus *list;
	struct workspace_names found;

	if (workspace_begun_corpora(&found, workspace, e))
		return e->code;
	if (!(list = mem_alloc(found.n + 1, sizeof(*list), e))) {
		workspace_names_free(&found);
		return e->code;
	}
	for (size_t i = 0; i < found.n; i++) {
		const struct indexed_corpus *known = workspace_index_corpus(p, found.items[i]);

		list[i] = known ? *known
				: (struct indexed_corpus){ .read = -1,
							   .train = -1,
							   .dev = -1,
							   .test = -1,
							   .vocabulary = -1,
							   .clear_verdicts = -1,
							   .manifest_mtime = NAN };
		snprintf(list[i].name, sizeof(list[i].name), "%s", found.items[i]);
	}
	free(p->corpora);
	p->corpora = list;
	p->n_corpora = found.n;
	workspace_names_free(&found);
	return 0;
}

static int compare_run_names(const void *left, const void *right)
{
	const struct indexed_run *const *a = left, *const *b = right;

	return strcmp((*a)->status.name, (*b)->status.name);
}

static int compare_run_name(const void *name, const void *run)
{
	return strcmp(name, (*(const struct indexed_run *const *)run)->status.name);
}

/* The runs by name, for bsearch(): there can be a hundred thousand. Owned by the caller. */
static struct indexed_run **sort_by_name(const struct workspace_index *p, struct err *e)
{
	struct indexed_run **all = mem_alloc(p->n_runs + 1, sizeof(struct indexed_run *), e);

	for (size_t i = 0; all && i < p->n_runs; i++)
		all[i] = &p->runs[i];
	if (all && p->n_runs)
		qsort(all, p->n_runs, sizeof(struct indexed_run *), compare_run_names);
	return all;
}

static bool reuse_indexed_run(struct indexed_run **by_name, size_t n, const char *name,
			      struct indexed_run *to)
{
	struct indexed_run **found =
		n ? bsearch(name, by_name, n, sizeof(struct indexed_run *), compare_run_name)
		  : NULL;

	if (!found || !(*found)->journal)
		return false;
	*to = **found;
	(*found)->journal = NULL;
	(*found)->folder = NULL;
	series_init_small(&(*found)->loss, INDEX_POINTS);
	return true;
}

/* Fill the entry of a run. A journal that cannot be opened is tried again at the next listing. */
static bool place_run(struct indexed_run **by_name, size_t n, const char *workspace,
		      const char *name, struct indexed_run *to)
{
	struct err ignored;
	char *folder = file_path(&ignored, "%s/runs/%s", workspace, name);
	char *journal = folder ? file_path(&ignored, "%s/journal.jsonl", folder) : NULL;
	bool placed = journal && (reuse_indexed_run(by_name, n, name, to) ||
				  !open_indexed_run(to, folder, name, &ignored));

	if (placed)
		to->changed = file_changed_at(file_exists(journal) ? journal : folder);
	free(journal);
	free(folder);
	return placed;
}

static void sort_runs(struct workspace_index *p)
{
	if (p->n_runs)
		qsort(p->runs, p->n_runs, sizeof(*p->runs), compare_by_activity);
}

/* Read the runs in turn, the latest first, until the time is over; at least one of them. */
static int read_runs(struct workspace_index *p, double now, double until, struct err *e)
{
	int changed = INDEX_UNCHANGED, got;
	size_t i = 0;

	if (p->next_run >= p->n_runs)
		p->next_run = 0;
	for (; i < p->n_runs && (!i || clock_mono_s() < until); i++) {
		struct indexed_run *r = &p->runs[(p->next_run + i) % p->n_runs];

		if (is_at_rest(r, now))
			continue;
		got = read_run(r, now, until, e);
		changed = MAX(changed, got);
	}
	/* runs that were not reached and have never been read are waited for */
	for (size_t k = i; k < p->n_runs; k++)
		if (!p->runs[(p->next_run + k) % p->n_runs].is_fully_read)
			changed = INDEX_MORE;
	p->next_run = i < p->n_runs ? (p->next_run + i) % p->n_runs : 0;
	if (changed == INDEX_CHANGED)
		sort_runs(p);
	return changed;
}

/* Judge the runs that have been read, until the time is over; at least one of them. */
static int judge_runs(struct workspace_index *p, const char *workspace, double now, double until)
{
	int changed = INDEX_UNCHANGED;

	for (size_t i = 0; i < p->n_runs; i++) {
		struct run_status *s = &p->runs[i].status;

		if (!p->runs[i].is_fully_read ||
		    !run_health_update(&s->health, workspace, s->name, now))
			continue;
		changed = INDEX_CHANGED;
		if (clock_mono_s() > until)
			return INDEX_MORE;
	}
	return changed;
}

static int list_runs(struct workspace_index *p, const char *workspace, struct err *e)
{
	struct indexed_run *list, **by_name = NULL;
	struct workspace_names found;
	size_t kept = 0;

	if (workspace_run_names(&found, workspace, e))
		return e->code;
	list = mem_alloc(found.n + 1, sizeof(*list), e);
	if (!list || !(by_name = sort_by_name(p, e))) {
		free(list);
		workspace_names_free(&found);
		return e->code;
	}
	for (size_t i = 0; i < found.n; i++)
		kept += place_run(by_name, p->n_runs, workspace, found.items[i], &list[kept]);
	free(by_name);
	assert(kept <= found.n);
	for (size_t i = 0; i < p->n_runs; i++)
		free_indexed_run(&p->runs[i]);
	free(p->runs);
	p->runs = list;
	p->n_runs = kept;
	sort_runs(p);
	workspace_names_free(&found);
	return 0;
}

int workspace_index_update(struct workspace_index *p, const char *workspace, double now,
			   double budget_s, struct err *e)
{
	double until = clock_mono_s() + budget_s;
	int changed = INDEX_UNCHANGED, got;

	assert(now > 0); /* else all folders would be listed at each call */
	if (!p->listed_at || fabs(now - p->listed_at) >= LIST_EVERY_S) {
		p->corpora_trouble = p->runs_trouble = (struct err){ 0 };
		list_corpora(p, workspace, &p->corpora_trouble);
		if (!p->no_runs)
			list_runs(p, workspace, &p->runs_trouble);
		p->listed_at = now;
		changed = INDEX_CHANGED;
	}
	for (size_t i = 0; i < p->n_corpora; i++) {
		char *folder = file_path(e, "%s/corpora/%s", workspace, p->corpora[i].name);

		if (folder && read_corpus_folder(&p->corpora[i], folder, now))
			changed = INDEX_CHANGED;
		free(folder);
	}
	got = read_runs(p, now, until, e);
	if (got >= 0 && p->judges_runs)
		changed = MAX(changed, judge_runs(p, workspace, now, until));
	return got < 0 ? got : MAX(changed, got);
}

void workspace_index_free(struct workspace_index *p)
{
	for (size_t i = 0; i < p->n_runs; i++)
		free_indexed_run(&p->runs[i]);
	free(p->runs);
	free(p->corpora);
	*p = (struct workspace_index){ 0 };
}
