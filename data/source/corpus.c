/* corpus.c - the folder of a prepared corpus, and whether it is ready (see corpus.h) */
#include "data/source/corpus.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "share/base/file.h"
#include "share/conf/text_facts.h"
#include "share/format/json.h"
#include "share/workspace/paths.h"

char *corpus_folder(const struct conf *c, struct err *e)
{
	char *workspace, *folder;

	if (!c->corpus) {
		err_set(e, ERR_USAGE,
			"the name of the corpus is missing: give a recipe or --corpus NAME");
		return NULL;
	}
	if (paths_check_name("corpus", c->corpus, e))
		return NULL;
	workspace = paths_workspace(c->workspace, e);
	folder = workspace ? file_path(e, "%s/corpora/%s", workspace, c->corpus) : NULL;
	free(workspace);
	return folder;
}

/* Does every file listed in manifest.json exist with the recorded size? */
static bool has_files(const char *folder, const struct json *manifest)
{
	const struct json *files = json_get(manifest, "files"), *f;
	struct err ignored;
	char *path;
	bool good = json_len(files) > 0;
	size_t i;

	for (i = 0; good && i < json_len(files); i++) {
		f = json_at(files, i);
		path = file_path(&ignored, "%s/%s", folder, json_text(json_get(f, "name"), "?"));
		good = path && file_size(path) == json_integer(json_get(f, "bytes"), -1);
		free(path);
	}
	return good;
}

/* ERR_CONFIG, which names the first fact of text that differs. */
static int compare_options(const struct conf *now, const struct conf *then, const char *folder,
			   struct err *e)
{
	struct buf a = { 0 }, b = { 0 };
	const struct text_fact *f;
	size_t i;
	int rc = 0;

	for (i = 0; !rc && (f = text_fact_at(i)); i++) {
		const char *name = f->option;

		if (f->use == TEXT_FACT_INPUT ||
		    (!text_fact_counts(then, f) && !text_fact_counts(now, f)))
			continue;
		buf_clear(&a);
		buf_clear(&b);
		conf_value(now, name, &a);
		conf_value(then, name, &b);
		if (buf_check(&a, e) || buf_check(&b, e))
			rc = e->code;
		else if (strcmp(buf_text(&a), buf_text(&b)))
			rc = err_set(
				e, ERR_CONFIG,
				"%s: was prepared with %s = %s, but this recipe has '%s': "
				"give --force, which repeats only the stages that depend on it "
				"(--dry-run lists them), or another --corpus NAME",
				folder, name, b.len ? buf_text(&b) : "(none)", buf_text(&a));
	}
	buf_free(&a);
	buf_free(&b);
	return rc;
}

static int check_seed(const struct conf *c, const char *folder, const struct json *manifest,
		      struct err *e)
{
	int64_t seed = json_integer(json_get(manifest, "seed"), -1);

	if (seed == c->seed)
		return 0;
	return err_set(e, ERR_CONFIG,
		       "%s: was prepared with seed %lld, but this recipe has %lld: give --force, "
		       "which repeats only the stages that depend on it, or another --corpus NAME",
		       folder, (long long)seed, (long long)c->seed);
}

static int corpus_check_recipe(const struct conf *c, const char *folder, struct err *e)
{
	struct conf then;
	char *path = file_path(e, "%s/recipe.ini", folder);
	int rc;

	if (!path)
		return e->code;
	rc = conf_init(&then, e);
	if (!rc) {
		rc = conf_load_recipe(&then, path, e);
		if (!rc)
			rc = compare_options(c, &then, folder, e);
		conf_free(&then);
	}
	free(path);
	return rc;
}

int corpus_is_ready(const struct conf *c, bool *ready, struct err *e)
{
	char *folder = corpus_folder(c, e);
	struct json *manifest = NULL;
	int rc = folder ? text_corpus_manifest(&manifest, folder, e) : e->code;

	*ready = false;
	/* no manifest, an older version or a missing file: the corpus counts as not prepared */
	if (!rc && json_integer(json_get(manifest, "v"), 0) == text_corpus_format.version &&
	    has_files(folder, manifest)) {
		rc = corpus_check_recipe(c, folder, e);
		if (!rc)
			rc = check_seed(c, folder, manifest, e);
		*ready = !rc;
	}
	json_free(manifest);
	free(folder);
	return rc;
}

/* ---- the source files ---- */

/* Does the manifest list this pair of files with these sizes? */
static bool has_recorded_sizes(const struct json *manifest, const char *set, const char *source,
			       int64_t source_bytes, int64_t target_bytes)
{
	const struct json *sources = json_get(manifest, "sources"), *s;

	for (size_t i = 0; i < json_len(sources); i++) {
		s = json_at(sources, i);
		if (!strcmp(json_text(json_get(s, "set"), ""), set) &&
		    !strcmp(json_text(json_get(s, "name"), ""), source) &&
		    json_integer(json_get(s, "source_bytes"), -1) == source_bytes &&
		    json_integer(json_get(s, "target_bytes"), -1) == target_bytes)
			return true;
	}
	return false;
}

static bool is_file_newer(const struct stat *a, const struct stat *b)
{
	return a->st_mtim.tv_sec > b->st_mtim.tv_sec ||
	       (a->st_mtim.tv_sec == b->st_mtim.tv_sec && a->st_mtim.tv_nsec > b->st_mtim.tv_nsec);
}

/* Is a pair of files newer than the manifest (`made`), or of other sizes? */
static bool is_set_changed(const struct json *manifest, const struct stat *made, const char *set,
			   const struct conf_list *source, const struct conf_list *target)
{
	struct stat from, to;

	for (size_t i = 0; i < source->n && i < target->n; i++) {
		if (stat(source->items[i], &from) || stat(target->items[i], &to))
			continue; /* a prepared corpus does not need its sources */
		if (is_file_newer(&from, made) || is_file_newer(&to, made) ||
		    !has_recorded_sizes(manifest, set, source->items[i], from.st_size, to.st_size))
			return true;
	}
	return false;
}

int corpus_sources_changed(const struct conf *c, const char *folder, bool *changed, struct err *e)
{
	char *path = file_path(e, "%s/manifest.json", folder);
	struct json *manifest = NULL;
	struct stat made;
	int rc = path ? text_corpus_manifest(&manifest, folder, e) : e->code;

	if (!rc && stat(path, &made))
		rc = err_set_errno(e, ERR_IO, "%s: cannot be read", path);
	*changed =
		!rc &&
		(is_set_changed(manifest, &made, "train", &c->train_source, &c->train_target) ||
		 is_set_changed(manifest, &made, "train", &c->train_pairs, &c->train_pairs) ||
		 is_set_changed(manifest, &made, "dev", &c->dev_source, &c->dev_target) ||
		 is_set_changed(manifest, &made, "dev", &c->dev_pairs, &c->dev_pairs) ||
		 is_set_changed(manifest, &made, "test", &c->test_source, &c->test_target) ||
		 is_set_changed(manifest, &made, "test", &c->test_pairs, &c->test_pairs) ||
		 is_set_changed(manifest, &made, "train", &c->general_source, &c->general_target) ||
		 is_set_changed(manifest, &made, "general", &c->general_test_source,
				&c->general_test_target));
	json_free(manifest);
	free(path);
	return rc;
}
