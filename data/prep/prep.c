/* prep.c - the command "werkbank prep": table of stages, lock, resume, dry run (see prep.h) */
#include "data/prep/prep.h"

#include <assert.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <unistd.h>

#include "data/pipeline/line_tags.h"
#include "data/prep/prep_report.h"
#include "data/prep/prep_verdicts.h"
#include "data/prep/round_trip.h"
#include "data/source/corpus.h"
#include "data/text/tokenize.h"
#include "share/base/clock.h"
#include "share/base/file.h"
#include "share/base/flow.h"
#include "share/base/number_format.h"
#include "share/base/text.h"
#include "share/conf/recipe_pairs.h"
#include "share/workspace/lock_file.h"
#include "share/workspace/paths.h"
#include "share/workspace/workspace_names.h"

/* name, function, version, texts, options, inputs, outputs: see struct prep_stage */
static const struct prep_stage stages[] = {
	{ "read", prep_read, 3, PREP_TEXTS_CONTENTS, "", "",
	  "work/words work/side-%K.source work/side-%K.target %H.%S %H.%T" },
	{ "judge", prep_filter_pairs, 1, PREP_TEXTS_NONE, "", "read", "work/verdicts work/counts" },
	{ "learn", prep_learn_pieces, 1, PREP_TEXTS_PIECES, "", "judge", "%M work/%L" },
	{ "encode", prep_encode, 1, PREP_TEXTS_NONE, "", "judge learn",
	  "%V work/%I work/verdicts.final" },
	{ "pack", prep_pack_shards, 1, PREP_TEXTS_NONE, "seed", "encode", "%P.shard" },
	{ "ledger", prep_write_ledger, 1, PREP_TEXTS_NAMES, "", "pack", "ledger.tsv stats.json" },
};

/* ---- the folder ---- */

/* Lock the corpus for one preparation. The lock is held while *fd is open. */
static int prep_lock_folder(struct prep *p, int *fd, struct err *e)
{
	const char *path = prep_path(p, e, "lock");

	if (!path)
		return e->code;
	if (lock_file_open(fd, path, e))
		return e->code;
	if (!flock(*fd, LOCK_EX | LOCK_NB))
		return 0;
	if (errno == EWOULDBLOCK)
		return err_set(
			e, ERR_TEMPFAIL,
			"%s: another preparation of this corpus is running: wait until it ends",
			p->folder);
	return err_set_errno(e, ERR_IO, "%s: cannot be locked", path);
}

/* Is there no folder, or an empty one? */
static bool is_folder_unused(const char *folder)
{
	DIR *d = opendir(folder);
	struct dirent *entry;
	bool is_empty = d || errno == ENOENT;

	while (d && is_empty && (entry = readdir(d)) != NULL)
		is_empty = !strcmp(entry->d_name, ".") || !strcmp(entry->d_name, "..");
	if (d)
		closedir(d);
	return is_empty;
}

/*
 * After a failure: remove a folder that this call began, unless a later call could go on from a finished
 * stage. In the sandbox the folder itself stays, empty.
 */
static void remove_failed_corpus(struct prep *p)
{
	struct err ignored = { 0 };
	const char *record = prep_path(p, &ignored, "work/%s.json", stages[0].name);

	if (record && !file_exists(record))
		file_remove_tree(p->folder, &ignored);
}

/* Remove temporary files of a killed preparation. The lock guarantees that no one writes them. */
static void prep_remove_leftovers(const char *folder, bool (*is_leftover)(const char *name))
{
	DIR *d = opendir(folder);
	struct dirent *entry;

	while (d && (entry = readdir(d)) != NULL)
		if (is_leftover(entry->d_name))
			unlinkat(dirfd(d), entry->d_name, 0);
	if (d)
		closedir(d);
}

/* Files are written as NAME.HEX.tmp and renamed. */
static bool is_temporary(const char *name)
{
	return text_ends_with(name, ".tmp");
}

/* Buckets of the external shuffle are unlinked as soon as they are open. */
static bool is_scratch_file(const char *name)
{
	return is_temporary(name) || text_starts_with(name, "bucket.");
}

/*
 * Remove files of an earlier preparation that this one will not overwrite: of a set that the recipe
 * no longer has, or of the other segmentation. old: the former manifest.json.
 */
static int remove_stale(struct prep *p, const struct json *old, struct err *e)
{
	struct prep_files known = { 0 }, files = { 0 };
	size_t i;
	int rc = prep_files_add_json(old, &files, e);

	for (i = 0; !rc && i < ARRAY_LEN(stages); i++)
		rc = prep_files_add_stage(p, &stages[i], true, &known, e);
	for (i = 0; !rc && i < files.n; i++)
		if (!prep_files_has(&known, files.items[i].name))
			rc = prep_remove_file(p, e, "%s", files.items[i].name);
	prep_files_free(&known);
	prep_files_free(&files);
	return rc;
}

/*
 * Move manifest.json to work/manifest.old, so that the corpus no longer counts as ready, then
 * remove stale files. manifest.old stays until they are removed: a killed preparation repeats this.
 */
static int withdraw_manifest(struct prep *p, struct err *e)
{
	char *manifest = file_path(e, "%s/manifest.json", p->folder);
	char *old = manifest ? file_path(e, "%s/manifest.old", p->work) : NULL;
	struct json *root = NULL;
	int rc = old ? 0 : e->code;

	if (!rc && rename(manifest, old) && errno != ENOENT)
		rc = err_set_errno(e, ERR_CANTCREAT, "%s: cannot be removed", manifest);
	if (!rc && file_exists(old)) {
		/* a damaged manifest lists no files to remove */
		rc = json_read_optional(&root, old, 0, e);
		if (!rc)
			rc = remove_stale(p, root, e);
		if (!rc)
			unlink(old);
	}
	json_free(root);
	free(manifest);
	free(old);
	return rc;
}

/* ---- output ---- */

static void prep_print_stage_plan(struct prep *p, const struct prep_plan *plan,
				  const struct prep_resources *n)
{
	struct buf kept = { 0 }, needs = { 0 };
	int i;

	for (i = 0; i < plan->n; i++)
		if (!plan->steps[i].run)
			buf_printf(&kept, " %s", plan->stages[i].name);
	if (kept.len)
		progress_print_line(&p->progress, "done already and kept:%s", buf_text(&kept));
	prep_needs_text(&needs, n);
	if (prep_plan_n_to_run(plan))
		progress_print_line(&p->progress, "%s", buf_text(&needs));
	buf_free(&kept);
	buf_free(&needs);
}

static int64_t prep_pairs_of_set(const struct prep *p, const char *set)
{
	int i = texts_find_set(&p->texts, set);

	return i < 0 ? 0 : p->numbers.pairs[i];
}

static void prep_print_summary(struct prep *p, double seconds)
{
	const struct prep_numbers *n = &p->numbers;
	char vocabulary[128];

	if (n->source_vocabulary)
		snprintf(vocabulary, sizeof(vocabulary), "vocabularies of %s and %s",
			 COUNT_TEXT(n->source_vocabulary), COUNT_TEXT(n->vocabulary));
	else
		snprintf(vocabulary, sizeof(vocabulary), "vocabulary of %s",
			 COUNT_TEXT(n->vocabulary));
	progress_print_line(&p->progress,
			    "%s is ready in %s: %s training pair%s of %s read, %s dev, %s test, "
			    "%s (%.1f s)",
			    p->c->corpus, p->folder, COUNT_TEXT(n->pairs[0]),
			    text_plural(n->pairs[0]), COUNT_TEXT(n->read),
			    COUNT_TEXT(prep_pairs_of_set(p, "dev")),
			    COUNT_TEXT(prep_pairs_of_set(p, "test")), vocabulary, seconds);
}

/* The recipe to train with: that of the preparation, unless another shipped one is for corpora of this size; a line then says so. */
static const char *recipe_for_training(struct prep *p)
{
	const char *given = p->c->arguments[0];
	const char *suited = recipe_suited(given, p->numbers.pairs[0]);
	const bool is_larger = p->numbers.pairs[0] > recipe_pairs_limit(given);

	if (strcmp(suited, given) != 0)
		progress_print_line(
			&p->progress, "recipe %s is for %s %s training pairs; recipe %s has a %s",
			given, is_larger ? "at most" : "more than",
			COUNT_TEXT(recipe_pairs_limit(is_larger ? given : suited)), suited,
			is_larger ? "larger model and takes more time"
				  : "smaller model and takes less time");
	return suited;
}

/* The command that trains on the corpus: the recipe again, and names where they differ from its own. */
static void prep_print_next(struct prep *p)
{
	const struct conf *c = p->c;
	const char *training;
	char recipe[256], *program = conf_typed_program(c);
	struct buf line = { 0 };

	if (!strcmp(conf_origin(c, "pieces_from"), "tune")) { /* a recipe of tune, which goes on */
		free(program);
		return;
	}
	training = recipe_for_training(p);
	buf_add_str(&line, "next: ");
	text_quote_shell(&line, program ? program : "werkbank");
	free(program);
	buf_add_str(&line, " train ");
	if (c->workspace) {
		buf_add_str(&line, "-C ");
		text_quote_shell(&line, c->workspace);
		buf_add_char(&line, ' ');
	}
	text_quote_shell(&line, training);
	conf_recipe_name(training, recipe, sizeof(recipe));
	if (strcmp(recipe, c->corpus)) /* paths_check_name(): needs no quotes */
		buf_printf(&line, " --corpus %s --run %s", c->corpus, c->corpus);
	if (!buf_check(&line, &(struct err){ 0 }))
		progress_print_line(&p->progress, "%s", buf_text(&line));
	buf_free(&line);
}

/* ---- preparation ---- */

static int run_stages(struct prep *p, struct prep_plan *plan, struct buf *manifest, struct err *e)
{
	struct prep_resources needs = prep_estimate_resources(p, plan);

	prep_print_stage_plan(p, plan, &needs);
	struct json *stats = NULL;
	struct round_trip round_trip;
	int rc = prep_check_disk_space(p, &needs, e);

	if (rc || withdraw_manifest(p, e) || prep_plan_run(plan, p, e) ||
	    (p->c->keep_text && prep_export_text(p, e)))
		return e->code;
	rc = prep_report_verdicts(p, &stats, e);
	if (!rc)
		rc = prep_measure_round_trip(p, &round_trip, e);
	if (!rc)
		rc = prep_write_manifest(p, plan, stats, &round_trip, manifest, e);
	json_free(stats);
	return rc || p->c->keep_work ? rc : file_remove_tree(p->work, e);
}

static bool is_any_missing(const struct texts *t)
{
	size_t i;

	for (i = 0; i < t->n_files; i++)
		if (!t->files[i].path)
			return true;
	return false;
}

/* Find the texts by texts_find() or texts_find_offline(), then make the plan. */
static int find_plan(struct prep *p, struct prep_plan *plan, typeof(texts_find) find, struct err *e)
{
	assert(ARRAY_LEN(stages) <= PREP_MAX_STAGES);
	*plan = (struct prep_plan){ .stages = stages, .n = ARRAY_LEN(stages) };
	if (line_tags_check_texts(p->c, e) || find(&p->texts, p->c, p->work, &p->progress, e))
		return e->code;
	return prep_plan_compare(plan, p, e);
}

/* Download archives only if the stage "read" (step 0) must run. */
static int find_plan_and_fetch(struct prep *p, struct prep_plan *plan, struct err *e)
{
	int rc = find_plan(p, plan, texts_find_offline, e);

	if (rc || !plan->steps[0].run || !is_any_missing(&p->texts))
		return rc;
	prep_plan_free(plan);
	texts_free(&p->texts);
	return find_plan(p, plan, texts_find, e);
}

/* ERR_DATA: both sides are one text, so that a model would learn to copy. */
static int refuse_one_text(const struct texts *t, const struct text_pair *p, struct err *e)
{
	const struct text_file *from = &t->files[p->source.file], *to = &t->files[p->target.file];

	if (!from->bytes || strcmp(from->sha256, to->sha256) != 0)
		return 0;
	if (p->source.file == p->target.file)
		return err_set(e, ERR_DATA,
			       "%s: is given as source and as target: the target must be its "
			       "translation",
			       from->path);
	return err_set(e, ERR_DATA,
		       "%s and %s: have the same text: the target must be the translation of the "
		       "source",
		       from->path, to->path);
}

static int refuse_equal_sides(const struct prep *p, struct err *e)
{
	int rc = 0;

	for (size_t i = 0; !rc && i < p->texts.n; i++)
		if (!p->texts.pairs[i].source.member && !p->texts.pairs[i].target.member &&
		    !p->texts.pairs[i].is_bilingual)
			rc = refuse_one_text(&p->texts, &p->texts.pairs[i], e);
	return rc;
}

/* Is a live run trained on this corpus? */
static bool is_trained_on(const struct prep *p, const char *workspace, const char *run)
{
	struct err ignored = { 0 };
	char *lock = file_path(&ignored, "%s/runs/%s/lock", workspace, run);
	char *recipe = lock ? file_path(&ignored, "%s/runs/%s/recipe.ini", workspace, run) : NULL;
	struct conf of_run = { 0 };
	const bool uses = recipe && lock_file_state(lock) == LOCK_HELD &&
			  !conf_init(&of_run, &ignored) &&
			  !conf_load_recipe(&of_run, recipe, &ignored) && of_run.corpus &&
			  !strcmp(of_run.corpus, p->c->corpus);

	conf_free(&of_run);
	free(recipe);
	free(lock);
	return uses;
}

/* ERR_TEMPFAIL: a run would lose the text that it is trained and evaluated on. */
static int refuse_corpus_in_use(const struct prep *p, struct err *e)
{
	struct workspace_names runs;
	char *workspace = paths_workspace(p->c->workspace, e);
	int rc = workspace ? workspace_run_names(&runs, workspace, e) : e->code;

	if (rc) {
		free(workspace);
		return rc;
	}
	for (size_t i = 0; !rc && i < runs.n; i++)
		if (is_trained_on(p, workspace, runs.items[i]))
			rc = err_set(
				e, ERR_TEMPFAIL,
				"the run %s is being trained on the corpus %s: wait until it ends, "
				"stop it with werkbank stop %s, or prepare another --corpus NAME",
				runs.items[i], p->c->corpus, runs.items[i]);
	workspace_names_free(&runs);
	free(workspace);
	return rc;
}

/* All archives are here: from now on foreign texts are read, without network. */
static void prep_enter_sandbox(struct prep *p, struct conf *c)
{
	struct sandbox s;

	if (!conf_begin_sandbox(c, NULL, &s))
		return;
	for (size_t i = 0; i < p->texts.n_files; i++)
		sandbox_allow_read(&s, p->texts.files[i].path);
	sandbox_allow_write(&s, p->folder);
	conf_enter_sandbox(c, &s);
}

/* The caller holds the lock of the folder. */
static int prep_run_locked(struct prep *p, struct conf *c, struct err *e)
{
	struct prep_plan plan = { 0 };
	double began = clock_mono_s();
	struct buf manifest = { 0 };
	int rc = file_make_folders(p->work, e);

	prep_remove_leftovers(p->folder, is_temporary);
	prep_remove_leftovers(p->work, is_scratch_file);
	if (!rc)
		rc = find_plan_and_fetch(p, &plan, e);
	if (!rc)
		rc = refuse_equal_sides(p, e);
	if (!rc)
		rc = refuse_corpus_in_use(p, e);
	if (!rc) {
		prep_enter_sandbox(p, c);
		rc = run_stages(p, &plan, &manifest, e);
	}
	if (!rc) {
		prep_print_summary(p, clock_mono_s() - began);
		prep_print_next(p);
		if (p->c->json)
			rc = file_put_stdout(&manifest, e);
	}
	prep_plan_free(&plan);
	buf_free(&manifest);
	return rc;
}

/*
 * Is the corpus ready, with the same options, and are its source files those it was made of? A source
 * file that seems to have changed leaves the decision to the plan, which compares contents.
 */
static int prep_is_current(const struct prep *p, bool *ready, struct err *e)
{
	bool changed = false;

	*ready = false;
	if (p->c->force)
		return 0;
	if (corpus_is_ready(p->c, ready, e))
		return e->code;
	if (*ready && corpus_sources_changed(p->c, p->folder, &changed, e))
		return e->code;
	*ready = *ready && !changed;
	return 0;
}

/* --dry-run: change nothing on the disk, download nothing. */
static int prep_dry_run(struct prep *p, struct err *e)
{
	struct prep_plan plan = { 0 };
	struct prep_resources needs;
	struct err ignored = { 0 };
	bool ready = false;
	int rc = find_plan(p, &plan, texts_find_offline, e);

	/* other options are no failure here: the plan shows which stages are kept */
	if (prep_is_current(p, &ready, &ignored))
		ready = false;
	if (!rc) {
		needs = prep_estimate_resources(p, &plan);
		rc = prep_print_plan(p, &plan, &needs, ready, e);
	}
	prep_plan_free(&plan);
	return rc;
}

static void prep_free(struct prep *p)
{
	texts_free(&p->texts);
	intern_free(&p->words);
	free(p->work);
	free(p->folder);
}

/* Print manifest.json of a corpus that is ready. */
static int print_ready_manifest(struct prep *p, struct err *e)
{
	struct buf text = { 0 };
	const char *path = prep_path(p, e, "manifest.json");
	int rc = path ? file_read_all(path, 0, &text, e) : e->code;

	if (!rc)
		rc = file_put_stdout(&text, e);
	buf_free(&text);
	return rc;
}

static int prepare_unless_ready(struct prep *p, struct conf *c, struct err *e)
{
	bool ready = false;
	struct json *stats = NULL;
	struct round_trip round_trip;
	int rc;

	if (prep_is_current(p, &ready, e))
		return e->code;
	/* --keep-text exports the texts of a ready corpus, too; no stage runs again */
	if (!ready || p->c->keep_text)
		return prep_run_locked(p, c, e);
	progress_print_line(
		&p->progress,
		"%s is ready in %s already, with the same options; --force verifies every file",
		p->c->corpus, p->folder);
	rc = prep_report_verdicts(p, &stats, e);
	json_free(stats);
	if (!rc)
		rc = prep_measure_round_trip(p, &round_trip, e);
	if (rc)
		return rc;
	prep_print_next(p);
	return p->c->json ? print_ready_manifest(p, e) : 0;
}

static void warn_general_rules(struct prep *p, const struct pair_languages *l)
{
	const char *const languages[] = { l->source, l->target };
	struct buf note = { 0 };

	for (size_t i = 0; i < ARRAY_LEN(languages); i++) {
		if (!text_is_tokenized(p->c, (int)i))
			continue;
		buf_clear(&note);
		tokenizer_note_language(languages[i], &note);
		if (note.len)
			progress_print_line(&p->progress, "note: %s", buf_text(&note));
	}
	buf_free(&note);
}

/* Say for which languages of all pairs the tools have no rules. */
static void warn_all_languages(struct prep *p)
{
	struct pair_languages l = line_tag_languages(p->c, NULL);

	warn_general_rules(p, &l);
	for (size_t i = 0; i < p->c->tag_languages.n; i++) {
		struct err ignored = { 0 };
		const char *tag;

		if (!line_tag_read(p->c, i, &tag, &l, &ignored))
			warn_general_rules(p, &l);
	}
}

/* overlap = drop removes the pairs that hold_out takes, and their repeats, from the training text. */
static int prep_hold_out(struct conf *c, struct err *e)
{
	if (!c->hold_out || c->overlap == OVERLAP_DROP)
		return 0;
	if (conf_is_given(c, "overlap"))
		return err_set(e, ERR_CONFIG,
			       "hold_out takes held-out sets from the training text, so overlap "
			       "must be drop: omit overlap");
	return conf_set(c, "overlap", "drop", "hold_out", e);
}

int prep_command_run(struct conf *c, struct err *e)
{
	struct prep p = { .c = c, .threads = flow_threads((int)c->threads) };
	int rc = -1, lock = -1;
	char *progress = NULL;
	bool is_new;

	if (c->n_arguments != 1)
		return err_set(e, ERR_USAGE, "prep needs one argument: the RECIPE");
	if (conf_load_named_recipe(c, c->arguments[0], e) || text_sides_check(c, e) ||
	    prep_hold_out(c, e))
		return e->code;
	progress_init(&p.progress, c->quiet);
	warn_all_languages(&p);
	p.folder = corpus_folder(c, e);
	p.work = p.folder ? file_path(e, "%s/work", p.folder) : NULL;
	is_new = p.folder && is_folder_unused(p.folder);
	if (p.work && c->dry_run)
		rc = prep_dry_run(&p, e);
	else if (p.work && !file_make_folders(p.folder, e) && !prep_lock_folder(&p, &lock, e)) {
		/* after a failure of a later stage than the first, progress.json shows the last state */
		progress = file_path(e, "%s/progress.json", p.folder);
		p.progress.path = progress;
		if (progress) /* until the first stage begins */
			progress_begin(&p.progress, "texts", 0, "files");
		rc = progress ? prepare_unless_ready(&p, c, e) : e->code;
		if (!rc)
			unlink(progress);
		else if (is_new)
			remove_failed_corpus(&p);
	}
	if (lock >= 0)
		close(lock);
	free(progress);
	prep_free(&p);
	return rc ? e->code : 0;
}
