/* prep_report.c - writer of recipe.ini and manifest.json (see prep.h) */
#include "data/prep/line_facts.h"
#include "data/prep/prep_report.h"
#include "data/prep/prep_verdicts.h"

#include <stdlib.h>
#include <string.h>

#include "data/source/corpus.h"
#include "data/source/manifest.h"
#include "share/base/clock.h"
#include "share/base/file.h"
#include "share/base/text.h"
#include "share/conf/text_facts.h"
#include "share/workspace/paths.h"

/* recipe.ini: the resolved recipe up to its [data] section, on which the corpus depends. */
static int write_corpus_recipe(struct prep *p, struct err *e)
{
	char *end;
	struct buf b = { 0 };
	int rc;

	conf_write_recipe(p->c, &b);
	rc = buf_check(&b, e);
	end = rc ? NULL : strstr(buf_text(&b), "\n[data]");
	end = end ? strstr(end + 1, "\n[") : NULL;
	if (end)
		buf_truncate(&b, (size_t)(end - b.data));
	if (!rc)
		rc = prep_write_buf(p, "recipe.ini", &b, e);
	buf_free(&b);
	return rc;
}

/* The size of a plain file; sizes of single members of archives are not known. */
static void manifest_add_bytes(struct json_writer *w, const struct texts *texts,
			       const struct source_text *t, const char *bytes_key)
{
	if (!t->member)
		json_put_int(w, bytes_key, file_size(texts->files[t->file].path));
}

static void manifest_add_sources(struct json_writer *w, const struct texts *t)
{
	size_t i;

	json_put_open(w, "sources", '[');
	for (i = 0; i < t->n; i++) {
		json_open(w, '{');
		json_put_str(w, "set", t->pairs[i].set);
		json_put_str(w, "name", t->pairs[i].name);
		if (t->pairs[i].source.tag)
			json_put_str(w, "tag", t->pairs[i].source.tag);
		manifest_add_bytes(w, t, &t->pairs[i].source, "source_bytes");
		manifest_add_bytes(w, t, &t->pairs[i].target, "target_bytes");
		json_close(w, '}');
	}
	json_close(w, ']');
	json_put_open(w, "archives", '[');
	for (i = 0; i < t->n_files; i++) {
		const struct text_file *f = &t->files[i];

		if (!f->archive)
			continue;
		json_open(w, '{');
		json_put_str(w, "name", f->archive);
		json_put_str(w, "url", f->url ? f->url : "");
		json_put_int(w, "bytes", f->bytes);
		json_put_str(w, "sha256", f->sha256);
		json_close(w, '}');
	}
	json_close(w, ']');
}

/* ---- numbers by set: train, dev and test always, then the further sets ---- */

static void manifest_add_by_set(struct json_writer *w, const struct prep *p, const int64_t *numbers,
				int first)
{
	static const char *const always[] = { "train", "dev", "test" };
	const int64_t *pairs = p->numbers.pairs;
	const struct texts *t = &p->texts;
	int i, set;

	for (i = first; i < (int)ARRAY_LEN(always); i++) {
		set = texts_find_set(t, always[i]);
		json_put_int(w, always[i], set < 0 ? 0 : numbers[set]);
	}
	/* a set without pairs was left out: a member is missing in its archive */
	for (i = 0; i < t->n_sets; i++)
		if (pairs[i] && manifest_set_is_extra(t->sets[i]))
			json_put_int(w, t->sets[i], numbers[i]);
}

static void manifest_add_tokens(struct json_writer *w, const struct prep *p)
{
	static const char *const always[] = { "train", "dev", "test" };
	const struct prep_numbers *n = &p->numbers;
	size_t i;
	int set;

	json_put_open(w, "tokens", '{');
	for (i = 0; i < ARRAY_LEN(always); i++) {
		set = texts_find_set(&p->texts, always[i]);
		json_put_open(w, always[i], '{');
		json_put_int(w, "source", set < 0 ? 0 : n->source_tokens[set]);
		json_put_int(w, "target", set < 0 ? 0 : n->target_tokens[set]);
		json_put_int(w, "unknown", set < 0 ? 0 : n->unknown_tokens[set]);
		json_close(w, '}');
	}
	json_close(w, '}');
}

static void manifest_add_counts(struct json_writer *w, const struct prep *p)
{
	const struct prep_numbers *n = &p->numbers;
	int rule;

	json_put_open(w, "pairs", '{');
	json_put_int(w, "read", n->read);
	manifest_add_by_set(w, p, n->pairs, 0);
	json_close(w, '}');
	json_put_open(w, "dropped", '{');
	for (rule = CLEAN_KEEP + 1; rule < CLEAN_N_RULES; rule++)
		json_put_int(w, clean_rule_name((enum clean_rule)rule), n->dropped[rule]);
	json_close(w, '}');
	json_put_open(w, "held_out_in_train", '{');
	manifest_add_by_set(w, p, n->in_train, 1);
	json_close(w, '}');
	json_put_int(w, "merges", n->merges);
	json_put_int(w, "vocabulary", n->vocabulary);
	prep_put_source_counts(w, p);
	manifest_add_tokens(w, p);
}

static int64_t bytes_written(const struct json *record)
{
	const struct json *files = json_get(record, "files");
	int64_t sum = 0;
	size_t i;

	for (i = 0; i < json_len(files); i++)
		sum += json_integer(json_get(json_at(files, i), "bytes"), 0);
	return sum;
}

static void manifest_add_stages(struct json_writer *w, const struct prep_plan *plan)
{
	int i;

	json_put_open(w, "stages", '[');
	for (i = 0; i < plan->n; i++) {
		const struct json *r = plan->steps[i].record;

		json_open(w, '{');
		json_put_str(w, "name", plan->stages[i].name);
		json_put_real(w, "seconds", json_number(json_get(r, "seconds"), 0));
		json_put_bool(w, "kept", !plan->steps[i].run);
		json_put_int(w, "pairs_in", json_integer(json_get(r, "pairs_in"), 0));
		json_put_int(w, "pairs_out", json_integer(json_get(r, "pairs_out"), 0));
		json_put_int(w, "bytes", bytes_written(r));
		json_close(w, '}');
	}
	json_close(w, ']');
}

/* "files": recipe.ini, then the files of all stages outside work/, hashed in their records. */
static int manifest_add_files(struct json_writer *w, struct prep *p, const struct prep_plan *plan,
			      struct err *e)
{
	struct prep_files files = { 0 };
	char hex[HASH_SHA256_HEX];
	const char *path = prep_path(p, e, "recipe.ini");
	size_t k;
	int i, rc = path ? hash_file(path, hex, e) : e->code;

	json_put_open(w, "files", '[');
	prep_put_file(w, "recipe.ini", rc ? -1 : file_size(path), rc ? "" : hex);
	for (i = 0; !rc && i < plan->n; i++)
		rc = prep_files_add_json(plan->steps[i].record, &files, e);
	for (k = 0; !rc && k < files.n; k++) {
		if (!strncmp(files.items[k].name, "work/", 5))
			continue;
		prep_put_file(w, files.items[k].name, files.items[k].bytes, files.items[k].sha256);
	}
	json_close(w, ']');
	prep_files_free(&files);
	return rc;
}

/* The absolute path of the recipe: the workbench, in any current folder, offers it for training. */
static int manifest_add_recipe(struct json_writer *w, const char *recipe, struct err *e)
{
	char *path = recipe ? paths_absolute(recipe + (text_starts_with(recipe, "./") ? 2 : 0), e)
			    : NULL;

	if (recipe && !path)
		return e->code;
	json_put_str(w, "recipe", path);
	free(path);
	return 0;
}

/* What the lines of the training text are, for translation. */
static int manifest_add_lines(struct json_writer *w, const struct prep *p, struct err *e)
{
	struct line_facts f;

	if (line_facts_read(&f, p->folder, p->c, e))
		return e->code;
	json_put_open(w, "source_lines", '{');
	json_put_int(w, "sampled", f.sampled);
	json_put_real(w, "several_sentences", f.several);
	json_put_int(w, "longest", f.longest);
	json_close(w, '}');
	return 0;
}

int prep_write_manifest(struct prep *p, const struct prep_plan *plan, const struct json *stats,
			const struct round_trip *round_trip, struct buf *manifest, struct err *e)
{
	struct json_writer w = { .out = manifest };
	int rc = write_corpus_recipe(p, e);

	json_open(&w, '{');
	format_put_version(&w, &text_corpus_format, NULL);
	json_put_str(&w, "name", p->c->corpus);
	if (!rc)
		rc = manifest_add_recipe(&w, p->c->recipe, e);
	json_put_real(&w, "time", clock_wall_s());
	json_put_int(&w, "seed", p->c->seed);
	json_put_str(&w, "source_language", p->c->source_language);
	json_put_str(&w, "target_language", p->c->target_language);
	manifest_add_sources(&w, &p->texts);
	manifest_add_counts(&w, p);
	if (!rc)
		rc = manifest_add_lines(&w, p, e);
	prep_put_manifest_verdicts(&w, stats);
	prep_put_manifest_round_trip(&w, round_trip);
	manifest_add_stages(&w, plan);
	if (!rc)
		rc = manifest_add_files(&w, p, plan, e);
	json_close(&w, '}');
	buf_add_char(manifest, '\n');
	return rc ? rc : prep_write_buf(p, "manifest.json", manifest, e);
}
