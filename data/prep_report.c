/* prep_report.c - see prep.h: recipe.ini and manifest.json */
#include <stdlib.h>
#include <string.h>

#include "data/prep_internal.h"
#include "share/base/clock.h"
#include "share/base/hash.h"
#include "share/base/json.h"

/* The [data] section of the resolved recipe: what the corpus depends on. */
static int write_recipe(const struct prep *p, struct err *e)
{
	char *path = file_path(e, "%s/recipe.ini", p->folder), *end;
	struct buf b = { 0 };
	int rc = path ? 0 : e->code;

	conf_write_recipe(p->c, &b);
	if (!rc)
		rc = buf_check(&b, e);
	end = rc ? NULL : strstr(buf_text(&b), "\n[data]");
	end = end ? strstr(end + 1, "\n[") : NULL;
	if (end)
		buf_truncate(&b, (size_t)(end - b.data));
	if (!rc)
		rc = file_write_all(path, b.data, b.len, e);
	buf_free(&b);
	free(path);
	return rc;
}

static void add_int(struct json_writer *w, const char *key, int64_t value)
{
	json_key(w, key);
	json_int(w, value);
}

static void add_text(struct json_writer *w, const char *key, const char *value)
{
	json_key(w, key);
	json_str(w, value);
}

static void add_sources(struct json_writer *w, const struct sources *s)
{
	size_t i;

	json_key(w, "sources");
	json_open(w, '[');
	for (i = 0; i < s->n; i++) {
		json_open(w, '{');
		add_text(w, "set", corpus_set_name(s->pairs[i].set));
		add_text(w, "name", s->pairs[i].name);
		add_int(w, "source_bytes", file_size(s->pairs[i].source));
		add_int(w, "target_bytes", file_size(s->pairs[i].target));
		json_close(w, '}');
	}
	json_close(w, ']');
	json_key(w, "archives");
	json_open(w, '[');
	for (i = 0; i < s->n_archives; i++) {
		json_open(w, '{');
		add_text(w, "name", s->archives[i].name);
		add_text(w, "url", s->archives[i].from.url);
		add_int(w, "bytes", s->archives[i].from.bytes);
		add_text(w, "sha256", s->archives[i].from.sha256);
		json_close(w, '}');
	}
	json_close(w, ']');
}

static void add_counts(struct json_writer *w, const struct prep *p)
{
	enum corpus_set set;
	int rule;

	json_key(w, "pairs");
	json_open(w, '{');
	add_int(w, "read", p->read);
	for (set = SET_TRAIN; set < N_SETS; set++)
		add_int(w, corpus_set_name(set), p->pairs[set]);
	json_close(w, '}');
	json_key(w, "dropped");
	json_open(w, '{');
	for (rule = CLEAN_KEEP + 1; rule < CLEAN_N_RULES; rule++)
		add_int(w, clean_rule_name((enum clean_rule)rule), p->dropped[rule]);
	json_close(w, '}');
	json_key(w, "held_out_in_train");
	json_open(w, '{');
	add_int(w, "dev", p->held_out[SET_DEV].in_train);
	add_int(w, "test", p->held_out[SET_TEST].in_train);
	json_close(w, '}');
	add_int(w, "merges", p->merges);
	add_int(w, "vocabulary", p->vocabulary);
	json_key(w, "tokens");
	json_open(w, '{');
	for (set = SET_TRAIN; set < N_SETS; set++) {
		json_key(w, corpus_set_name(set));
		json_open(w, '{');
		add_int(w, "source", p->source_tokens[set]);
		add_int(w, "target", p->target_tokens[set]);
		json_close(w, '}');
	}
	json_close(w, '}');
}

static int add_file(struct json_writer *w, const struct prep *p, const char *name, struct err *e)
{
	char hex[HASH_SHA256_HEX], *path = file_path(e, "%s/%s", p->folder, name);
	int rc = path ? hash_file(path, hex, e) : e->code;

	if (!rc) {
		json_open(w, '{');
		add_text(w, "name", name);
		add_int(w, "bytes", file_size(path));
		add_text(w, "sha256", hex);
		json_close(w, '}');
	}
	free(path);
	return rc;
}

static int add_set_files(struct json_writer *w, const struct prep *p, enum corpus_set set,
			 struct err *e)
{
	const char *languages[2] = { p->c->source_language, p->c->target_language };
	char *name;
	int i, rc = 0;

	if (set != SET_TRAIN && !p->held_out[set].n)
		return 0;
	for (i = 0; !rc && i < 3; i++) {
		if (i < 2 && set == SET_TRAIN)
			continue;
		name = file_path(e, "%s.%s", corpus_set_name(set), i < 2 ? languages[i] : "shard");
		rc = name ? add_file(w, p, name, e) : e->code;
		free(name);
	}
	return rc;
}

static int add_files(struct json_writer *w, const struct prep *p, struct err *e)
{
	static const char *const always[] = {"bpe.codes", "vocab.tsv", "ledger.tsv", "recipe.ini"};
	enum corpus_set set;
	size_t i;
	int rc = 0;

	json_key(w, "files");
	json_open(w, '[');
	for (i = 0; !rc && i < ARRAY_LEN(always); i++)
		rc = add_file(w, p, always[i], e);
	for (set = SET_TRAIN; !rc && set < N_SETS; set++)
		rc = add_set_files(w, p, set, e);
	json_close(w, ']');
	return rc;
}

int prep_report(struct prep *p, struct buf *manifest, struct err *e)
{
	struct json_writer w = { .out = manifest };
	char *path = file_path(e, "%s/manifest.json", p->folder);
	int i, rc = path ? write_recipe(p, e) : e->code;

	json_open(&w, '{');
	add_int(&w, "v", 1);
	add_text(&w, "name", p->c->corpus);
	add_text(&w, "recipe", p->c->recipe);
	json_key(&w, "time");
	json_real(&w, clock_wall_s());
	add_int(&w, "seed", p->c->seed);
	add_text(&w, "source_language", p->c->source_language);
	add_text(&w, "target_language", p->c->target_language);
	add_sources(&w, &p->sources);
	add_counts(&w, p);
	json_key(&w, "stages");
	json_open(&w, '[');
	for (i = 0; i < p->n_stages; i++) {
		json_open(&w, '{');
		add_text(&w, "name", p->stages[i].name);
		json_key(&w, "seconds");
		json_real(&w, p->stages[i].seconds);
		json_close(&w, '}');
	}
	json_close(&w, ']');
	if (!rc)
		rc = add_files(&w, p, e);
	json_close(&w, '}');
	buf_add_char(manifest, '\n');
	if (!rc)
		rc = buf_check(manifest, e);
	if (!rc)
		rc = file_write_all(path, manifest->data, manifest->len, e);
	free(path);
	return rc;
}
