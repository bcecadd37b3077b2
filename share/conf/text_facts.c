/* text_facts.c - see text_facts.h */
#include "share/conf/text_facts.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "share/base/file.h"
#include "share/base/text.h"
#include "share/conf/conf_internal.h"
#include "share/workspace/paths.h"

#define ORIGIN	     "corpus " /* before the name of the corpus */
#define MODEL_ORIGIN "model "

/* clang-format off */
#define CONTRADICTS \
	"the corpus %s has %s = %s, but %s%s says %s: leave it out, because the corpus says what " \
	"its text is, or prepare another --corpus NAME with --%s %s"
#define CONTRADICTS_MODEL \
	"the model %s has %s = %s, but %s%s says %s: leave it out, because the text must be that " \
	"of the model, or train a new model with --%s %s"
#define CHANGED \
	"the corpus %s has %s = %s, but the model was trained with %s: the corpus was prepared " \
	"again; prepare it as it was, or translate and score files with translate and bleu"
#define CHANGED_SINCE \
	"the corpus %s was prepared again since the training began: %s was %s, is %s"
/* clang-format on */

static const struct text_fact text_facts[] = {
#define TEXT_FACT(option, use, stage, condition) { #option, TEXT_FACT_##use, stage, condition },
#include "share/conf/text_facts.def"
#undef TEXT_FACT
};

#define MANIFEST_LIMIT (16u << 20) /* bytes */

const struct file_format text_corpus_format = { .what = "corpus", .version = 2 };

int text_corpus_manifest(struct json **root, const char *folder, struct err *e)
{
	char *path = file_path(e, "%s/manifest.json", folder);
	struct buf text = { 0 };
	int rc = path ? 0 : e->code;

	*root = NULL;
	if (!rc && file_exists(path)) {
		rc = file_read_all(path, MANIFEST_LIMIT, &text, e);
		*root = rc ? NULL : json_parse(buf_text(&text), text.len, e);
		if (!rc && !*root)
			rc = err_prefix(e, "%s: damaged, prepare the corpus again with --force",
					path);
		if (!rc)
			rc = format_check_version(*root, &text_corpus_format, path, e);
	}
	if (rc) {
		json_free(*root);
		*root = NULL;
	}
	buf_free(&text);
	free(path);
	return rc;
}

int text_corpus_clear_verdicts(const struct json *manifest)
{
	const struct json *verdicts = json_get(manifest, "verdicts");
	int n = verdicts ? 0 : -1;

	for (size_t i = 0; i < json_len(verdicts); i++)
		n += !strcmp(json_text(json_get(json_at(verdicts, i), "confidence"), ""), "clear");
	return n;
}

const struct text_fact *text_fact_at(size_t i)
{
	return i < ARRAY_LEN(text_facts) ? &text_facts[i] : NULL;
}

const struct text_fact *text_fact_find(const char *option)
{
	for (size_t i = 0; i < ARRAY_LEN(text_facts); i++)
		if (!strcmp(text_facts[i].option, option))
			return &text_facts[i];
	return NULL;
}

/*
 * Is the value of option o the n bytes at wanted? Without a buffer: lack of memory must not change what
 * counts. Of numbers only 0 occurs.
 */
static bool has_option_value(const struct conf *c, const struct conf_option *o, const char *wanted,
			     size_t n)
{
	const char *choice;
	size_t len;

	if (o->kind == CONF_INT)
		return *(const int64_t *)conf_slot(c, o) == 0;
	if (o->kind == CONF_STR) {
		const char *text = *(char *const *)conf_slot(c, o);

		return n == strlen(text ? text : "") && (!n || !memcmp(text, wanted, n));
	}
	if (o->kind == CONF_REAL)
		return *(const double *)conf_slot(c, o) == 0;
	if (o->kind == CONF_BOOL)
		return *(const bool *)conf_slot(c, o) == (*wanted == 'y');
	assert(o->kind == CONF_ENUM);
	choice = conf_choice(o->detail, *(const int *)conf_slot(c, o), &len);
	return n == len && !memcmp(choice, wanted, len);
}

bool text_fact_counts(const struct conf *c, const struct text_fact *f)
{
	const char *at = f->condition;
	bool counts = !*at;

	while (!counts && *at) {
		const size_t n = strcspn(at, "=!"), n_value = strcspn(at + n + 1, "|");
		const struct conf_option *o;
		char name[CONF_NAME_MAX];

		snprintf(name, sizeof(name), "%.*s", (int)n, at);
		o = conf_find_option(name);
		assert(o);
		counts = has_option_value(c, o, at + n + 1, n_value) == (at[n] == '=');
		at += n + 1 + n_value;
		at += *at == '|';
	}
	return counts;
}

/* ---- comparing --------------------------------------------------------- */

/* Do two paths name one file, as far as their text says? A recipe loses its folder when the file is gone. */
static bool is_same_path(const char *a, const char *b)
{
	const size_t n = strlen(a), k = strlen(b);

	if (n < k)
		return is_same_path(b, a);
	return !strcmp(a + (n - k), b) && (n == k || (*b != '/' && a[n - k - 1] == '/'));
}

static bool has_same_paths(const struct conf_list *a, const struct conf_list *b)
{
	bool same = a->n == b->n;

	for (size_t i = 0; same && i < a->n; i++)
		same = is_same_path(a->items[i], b->items[i]);
	return same;
}

static bool is_path(const struct conf_option *o)
{
	return (o->kind == CONF_STR || o->kind == CONF_LIST) && !strcmp(o->detail, "FILE");
}

/* *differ, and the values as text. ERR_NOMEM. */
static int compare_fact(const struct conf *now, const struct conf *then, const char *name,
			bool *differ, struct buf *is, struct buf *was, struct err *e)
{
	const struct conf_option *o = conf_find_option(name);

	buf_clear(is);
	buf_clear(was);
	conf_value(now, name, is);
	conf_value(then, name, was);
	*differ = strcmp(buf_text(is), buf_text(was)) != 0;
	if (*differ && o->kind == CONF_LIST && is_path(o))
		*differ = !has_same_paths(conf_slot(now, o), conf_slot(then, o));
	else if (*differ && o->kind == CONF_STR && !strcmp(o->detail, "FILE") && is->len &&
		 was->len)
		*differ = !is_same_path(buf_text(is), buf_text(was));
	return buf_check(is, e) ? e->code : buf_check(was, e);
}

/* The folder of the user's recipe, owned by the caller; NULL: none. */
static char *folder_of_recipe(const struct conf *c)
{
	struct err ignored;
	const char *slash = c->recipe ? strrchr(c->recipe, '/') : NULL;
	char *folder = slash ? file_path(&ignored, "%.*s", (int)(slash - c->recipe + 1), c->recipe)
			     : file_path(&ignored, ".");
	char *real = folder && c->recipe ? realpath(folder, NULL) : NULL;

	free(folder);
	return real;
}

/*
 * Has the user moved the recipe and its files to another folder? True if each new path lies in the
 * folder of the recipe, and its part below that folder agrees with the end of the old path.
 * conf_recipe.c has made a path absolute if the file exists beside the recipe.
 */
static bool has_moved_with_recipe(const struct conf *c, const struct conf *corpus,
				  const struct conf_option *o)
{
	const struct conf_list *was = conf_slot(corpus, o), *is = conf_slot(c, o);
	struct conf_list one_was = { conf_slot(corpus, o), 1 }, one_is = { conf_slot(c, o), 1 };
	char *folder = folder_of_recipe(c);
	const size_t n = folder ? strlen(folder) : 0;
	bool same;

	if (o->kind != CONF_LIST) {
		was = &one_was;
		is = &one_is;
	}
	same = folder && was->n == is->n;
	for (size_t i = 0; same && i < is->n; i++) {
		const char *item = is->items[i], *old = was->items[i];

		same = item && old && text_starts_with(item, folder) && item[n] == '/' &&
		       is_same_path(item + n + 1, old);
	}
	free(folder);
	return same;
}

static const char *text_or_none(const struct buf *value)
{
	return value->len ? buf_text(value) : "(none)";
}

/* ---- adopting ---------------------------------------------------------- */

/* kind: ORIGIN or MODEL_ORIGIN, whose name is `name`. */
static int adopt_fact(struct conf *c, const struct conf *corpus, const char *kind, const char *name,
		      const struct text_fact *f, struct err *e)
{
	const bool is_model = !strcmp(kind, MODEL_ORIGIN);
	struct buf is = { 0 }, was = { 0 };
	char origin[160], dashed[CONF_NAME_MAX];
	const struct conf_option *o = conf_find_option(f->option);
	const char *from = conf_origin(c, f->option);
	bool differ;
	int rc = compare_fact(c, corpus, f->option, &differ, &is, &was, e);

	if (!rc && differ && is_path(o) && strcmp(from, "command line") != 0)
		differ = !has_moved_with_recipe(c, corpus, o);
	if (!rc && differ && conf_is_given(c, f->option) &&
	    (text_fact_counts(corpus, f) || text_fact_counts(c, f)))
		rc = err_set(e, ERR_CONFIG, is_model ? CONTRADICTS_MODEL : CONTRADICTS, name,
			     f->option, text_or_none(&was),
			     strcmp(from, "command line") ? "" : "the ", from, text_or_none(&is),
			     conf_dashed(f->option, dashed), text_or_none(&is));
	snprintf(origin, sizeof(origin), "%s%.120s", kind, name);
	if (!rc)
		rc = conf_set(c, f->option, buf_text(&was), origin, e);
	buf_free(&is);
	buf_free(&was);
	return rc;
}

static int load_corpus_recipe(struct conf *corpus, const char *recipe, struct err *e)
{
	int rc = conf_init(corpus, e);

	return rc ? rc : conf_load_recipe(corpus, recipe, e);
}

int text_facts_adopt(struct conf *c, const char *corpus, const char *recipe, struct err *e)
{
	struct conf told;
	int rc = load_corpus_recipe(&told, recipe, e);

	for (size_t i = 0; !rc && i < ARRAY_LEN(text_facts); i++)
		if (text_facts[i].use != TEXT_FACT_INPUT)
			rc = adopt_fact(c, &told, ORIGIN, corpus, &text_facts[i], e);
	conf_free(&told);
	return rc;
}

int text_facts_adopt_model(struct conf *c, const char *model, const char *folder, struct err *e)
{
	char *recipe = file_path(e, "%s/recipe.ini", folder);
	struct conf told = { 0 };
	int rc = recipe ? load_corpus_recipe(&told, recipe, e) : e->code;

	for (size_t i = 0; !rc && i < ARRAY_LEN(text_facts); i++)
		if (text_facts[i].use == TEXT_FACT_SIDE || text_facts[i].use == TEXT_FACT_FORM)
			rc = adopt_fact(c, &told, MODEL_ORIGIN, model, &text_facts[i], e);
	conf_free(&told);
	free(recipe);
	return rc;
}

int text_facts_adopt_prepared(struct conf *c, struct err *e)
{
	char *workspace = NULL, *recipe = NULL;
	int rc = c->corpus ? paths_check_name("corpus", c->corpus, e) : 0;

	if (rc || !c->corpus)
		return rc;
	workspace = paths_workspace(c->workspace, e);
	if (workspace)
		recipe = file_path(e, "%s/corpora/%s/recipe.ini", workspace, c->corpus);
	if (!recipe)
		rc = e->code;
	else if (file_exists(recipe))
		rc = text_facts_adopt(c, c->corpus, recipe, e);
	free(recipe);
	free(workspace);
	return rc;
}

bool text_facts_are_adopted(const struct conf *c)
{
	return text_starts_with(conf_origin(c, "source_language"), ORIGIN);
}

const char *text_facts_corpus(const struct conf *c)
{
	return text_facts_are_adopted(c) ? conf_origin(c, "source_language") + strlen(ORIGIN)
					 : NULL;
}

int text_facts_check_run(const struct conf *c, const char *recipe, struct buf *note, struct err *e)
{
	struct buf is = { 0 }, was = { 0 };
	const struct text_fact *f;
	struct conf now;
	bool differ;
	int rc;

	if (!file_exists(recipe))
		return 0;
	rc = load_corpus_recipe(&now, recipe, e);
	for (size_t i = 0; !rc && (f = text_fact_at(i)) != NULL; i++) {
		if (f->use == TEXT_FACT_INPUT)
			continue;
		rc = compare_fact(&now, c, f->option, &differ, &is, &was, e);
		if (!rc && differ && f->use == TEXT_FACT_SIDE)
			rc = err_set(e, ERR_DATA, CHANGED, c->corpus, f->option, buf_text(&is),
				     buf_text(&was));
		else if (!rc && differ && !note->len && text_facts_are_adopted(c))
			buf_printf(note, CHANGED_SINCE, c->corpus, f->option, text_or_none(&was),
				   text_or_none(&is));
	}
	buf_free(&is);
	buf_free(&was);
	conf_free(&now);
	return rc;
}

/* ---- models ------------------------------------------------------------ */

static int load_model_recipe(struct conf *c, const char *folder, bool *is_known, struct err *e)
{
	char *recipe = file_path(e, "%s/recipe.ini", folder);
	int rc = recipe ? conf_init(c, e) : e->code;

	*is_known = !rc && file_exists(recipe);
	if (*is_known)
		rc = conf_load_recipe(c, recipe, e);
	free(recipe);
	/* an imported model names no corpus */
	*is_known &= !rc && (!c->corpus || text_facts_are_adopted(c));
	return rc;
}

static int compare_models(const struct conf *a, const struct conf *b, const char *folder,
			  const char *other, struct err *e)
{
	struct buf is = { 0 }, was = { 0 };
	const struct text_fact *f;
	bool differ;
	int rc = 0;

	for (size_t i = 0; !rc && (f = text_fact_at(i)) != NULL; i++) {
		if ((f->use != TEXT_FACT_SIDE && f->use != TEXT_FACT_FORM) ||
		    !text_fact_counts(a, f) || !text_fact_counts(b, f))
			continue;
		rc = compare_fact(a, b, f->option, &differ, &is, &was, e);
		if (!rc && differ)
			rc = err_set(
				e, ERR_DATA,
				"%s has %s = %s, but %s has %s: models can only be combined if "
				"they translate the same text",
				folder, f->option, text_or_none(&is), other, text_or_none(&was));
	}
	buf_free(&is);
	buf_free(&was);
	return rc;
}

int text_facts_check_models(const char *folder, const char *other, struct err *e)
{
	struct conf a = { 0 }, b = { 0 };
	bool knows_a, knows_b;
	int rc = load_model_recipe(&a, folder, &knows_a, e);

	if (!rc)
		rc = load_model_recipe(&b, other, &knows_b, e);
	if (!rc && knows_a && knows_b)
		rc = compare_models(&a, &b, folder, other, e);
	conf_free(&a);
	conf_free(&b);
	return rc;
}
