/* prep.c - see prep.h: the order of the stages, and what surrounds them */
#include "data/prep.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <unistd.h>

#include "data/corpus.h"
#include "data/prep_internal.h"
#include "share/base/clock.h"
#include "share/base/json.h"
#include "share/base/text.h"

/* ---- shared by the stages ---- */

int outputs_open(struct outputs *o, const char *source, const char *target, struct err *e)
{
	*o = (struct outputs){ 0 };
	if (outfile_open(&o->source, source, e))
		return e->code;
	if (outfile_open(&o->target, target, e)) {
		outfile_abandon(&o->source);
		return e->code;
	}
	return 0;
}

static int put_line(struct outfile *o, const char *text, size_t n, struct err *e)
{
	if ((n && fwrite(text, 1, n, o->stream) != n) || putc('\n', o->stream) == EOF)
		return err_set_errno(e, ERR_IO, "%s: cannot be written", o->path);
	return 0;
}

int outputs_put(struct outputs *o, const char *source, size_t n_source, const char *target,
		size_t n_target, struct err *e)
{
	int rc = put_line(&o->source, source, n_source, e);

	return rc ? rc : put_line(&o->target, target, n_target, e);
}

int outputs_commit(struct outputs *o, struct err *e)
{
	int rc = outfile_commit(&o->source, e);

	return rc ? rc : outfile_commit(&o->target, e);
}

void outputs_abandon(struct outputs *o)
{
	outfile_abandon(&o->source);
	outfile_abandon(&o->target);
}

char *prep_side_path(const struct prep *p, const char *folder, const char *stem, bool target,
		     struct err *e)
{
	return file_path(e, "%s/%s.%s", folder, stem,
			 target ? p->c->target_language : p->c->source_language);
}

/* ---- the folder ---- */

/* One preparation of a corpus at a time. *fd stays open as long as the lock is held. */
static int lock_folder(const struct prep *p, int *fd, struct err *e)
{
	char *path = file_path(e, "%s/lock", p->folder);
	int rc = 0;

	if (!path)
		return e->code;
	*fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0666);
	if (*fd < 0)
		rc = err_set_errno(e, ERR_CANTCREAT, "%s: cannot be made", path);
	else if (flock(*fd, LOCK_EX | LOCK_NB) && errno == EWOULDBLOCK)
		rc = err_set(e, ERR_TEMPFAIL, "%s: another preparation is at work on this corpus",
			     p->folder);
	else if (flock(*fd, LOCK_EX | LOCK_NB))
		rc = err_set_errno(e, ERR_IO, "%s: cannot be locked", path);
	free(path);
	return rc;
}

/*
 * A killed preparation leaves what it was writing as NAME.PID.tmp; with the lock held nobody else
 * writes here.
 */
static void remove_leftovers(const struct prep *p)
{
	DIR *d = opendir(p->folder);
	struct dirent *entry;

	while (d && (entry = readdir(d)) != NULL)
		if (text_ends_with(entry->d_name, ".tmp"))
			unlinkat(dirfd(d), entry->d_name, 0);
	if (d)
		closedir(d);
}

/* Nothing of an earlier preparation counts from here on. */
static int clear_folder(const struct prep *p, struct err *e)
{
	char *manifest = file_path(e, "%s/manifest.json", p->folder);
	int rc = manifest ? 0 : e->code;

	if (manifest && unlink(manifest) && errno != ENOENT)
		rc = err_set_errno(e, ERR_CANTCREAT, "%s: cannot be removed", manifest);
	free(manifest);
	remove_leftovers(p);
	if (!rc)
		rc = file_remove_tree(p->work, e);
	return rc ? rc : file_make_folders(p->work, e);
}

/* ---- the order ---- */

static int find_sources(struct prep *p, struct err *e)
{
	progress_begin(&p->progress, "sources", 0, "");
	return sources_find(&p->sources, p->c, p->folder, p->work, &p->progress, e);
}

static const struct {
	const char *name;
	int (*run)(struct prep *p, struct err *e);
} stages[] = {
	{ "sources", find_sources },
	{ "hold out", prep_hold_out },
	{ "clean", prep_clean },
	{ "learn", prep_learn },
	{ "apply", prep_apply },
	{ "pack", prep_pack },
};

static int run_stages(struct prep *p, struct err *e)
{
	double began;
	size_t i;

	for (i = 0; i < ARRAY_LEN(stages); i++) {
		began = clock_mono_s();
		if (stages[i].run(p, e))
			return e->code;
		p->stages[p->n_stages].name = stages[i].name;
		p->stages[p->n_stages++].seconds = clock_mono_s() - began;
	}
	return 0;
}

static void say_summary(const struct prep *p, double seconds)
{
	struct progress progress = p->progress;

	progress_note(&progress,
		      "%s is ready in %s: %lld training pairs of %lld read, %lld dev, %lld test, "
		      "vocabulary of %d (%.1f s)",
		      p->c->corpus, p->folder, (long long)p->pairs[SET_TRAIN], (long long)p->read,
		      (long long)p->pairs[SET_DEV], (long long)p->pairs[SET_TEST],
		      (int)p->vocabulary, seconds);
}

static int print_manifest(const struct buf *manifest, struct err *e)
{
	if (fwrite(manifest->data, 1, manifest->len, stdout) != manifest->len || fflush(stdout))
		return err_set_errno(e, ERR_IO, "standard output: cannot be written");
	return 0;
}

/* With the folder locked. */
static int prepare(struct prep *p, struct err *e)
{
	double began = clock_mono_s();
	struct buf manifest = { 0 };
	int rc = clear_folder(p, e);

	if (!rc)
		rc = run_stages(p, e);
	if (!rc)
		rc = prep_report(p, &manifest, e);
	if (!rc)
		rc = file_remove_tree(p->work, e);
	if (!rc) {
		say_summary(p, clock_mono_s() - began);
		if (p->c->json)
			rc = print_manifest(&manifest, e);
	}
	buf_free(&manifest);
	return rc;
}

static void prep_free(struct prep *p)
{
	enum corpus_set set;

	ledger_cancel(p->ledger);
	sources_free(&p->sources);
	for (set = SET_TRAIN; set < N_SETS; set++)
		free(p->held_out[set].keys);
	free(p->work);
	free(p->folder);
}

/* Read manifest.json of a corpus that is there. */
static int read_manifest(const char *folder, struct buf *text, struct err *e)
{
	char *path = file_path(e, "%s/manifest.json", folder);
	int rc = path ? file_read_all(path, 0, text, e) : e->code;

	free(path);
	return rc;
}

/* There already, with the same options and the same seed? */
static int find_ready(const struct prep *p, bool *ready, struct err *e)
{
	struct buf text = { 0 };
	struct json *manifest = NULL;
	int64_t seed;
	int rc = 0;

	*ready = false;
	if (p->c->force)
		return 0;
	rc = corpus_is_ready(p->c, ready, e);
	if (rc || !*ready)
		return rc;
	rc = read_manifest(p->folder, &text, e);
	manifest = rc ? NULL : json_parse(buf_text(&text), text.len, e);
	seed = json_integer(json_get(manifest, "seed"), -1);
	if (!manifest)
		rc = e->code;
	else if (seed != p->c->seed)
		rc = err_set(e, ERR_CONFIG,
			     "%s: was prepared with seed %lld, now asked for is %lld: prepare it "
			     "again with "
			     "--force",
			     p->folder, (long long)seed, (long long)p->c->seed);
	else if (p->c->json)
		rc = print_manifest(&text, e);
	json_free(manifest);
	buf_free(&text);
	return rc;
}

int prep_run(struct conf *c, struct err *e)
{
	struct prep p = { .c = c };
	bool ready = false;
	int rc = -1, lock = -1;

	if (c->n_arguments != 1)
		return err_set(e, ERR_USAGE, "prep needs one argument: the RECIPE");
	if (conf_load_recipe(c, c->arguments[0], e))
		return e->code;
	progress_init(&p.progress, c->quiet);
	p.folder = corpus_folder(c, e);
	p.work = p.folder ? file_path(e, "%s/work", p.folder) : NULL;
	if (!p.work || file_make_folders(p.folder, e) || lock_folder(&p, &lock, e) ||
	    find_ready(&p, &ready, e))
		goto out;
	if (ready)
		progress_note(&p.progress,
			      "%s is ready in %s already, with the same options; --force prepares "
			      "it again",
			      c->corpus, p.folder);
	rc = ready ? 0 : prepare(&p, e);
out:
	if (lock >= 0)
		close(lock);
	prep_free(&p);
	return rc ? e->code : 0;
}
