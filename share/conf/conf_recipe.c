/* conf_recipe.c - reading and writing of recipes; see conf.h */
#include "config.h"

#include "share/conf/conf.h"

#include <assert.h>
#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "share/base/file.h"
#include "share/base/mem.h"
#include "share/base/text.h"
#include "share/conf/alias.h"
#include "share/conf/conf_internal.h"
#include "share/conf/text_facts.h"
#include "share/workspace/paths.h"

#define RECIPE_MAX_BYTES (1u << 20)
#define RECIPE_MAX_DEPTH 8 /* of include */
#define RECIPE_MAX_FILES                                                                           \
	64 /* that one recipe includes, directly and indirectly, repeated ones too */
#define RECIPE_MAX_TOTAL (4u << 20) /* bytes of all of them */

/* The first line that conf_write_recipe() writes. In these files, comments are origins of values. */
#define RESOLVED_MARK "# werkbank recipe, resolved"

/* What one recipe has included so far: a few files that include each other multiply quickly. */
struct included {
	int files;
	size_t bytes;
};

/* A recipe file while it is read. */
struct recipe {
	struct conf *c;
	struct included *included; /* borrowed: shared by all files of one recipe */
	const char *path;	   /* borrowed */
	const char *base;	   /* last part of path, for origins */
	int line;
	int depth;
	bool expands;  /* ${NAME} is replaced: the user has named this recipe */
	bool resolved; /* comments are origins */
	bool shipped;  /* one of share/recipes */
	bool is_unset; /* a variable of the last value is not set */
	char section[16];
	int *seen; /* owned: (conf_n_options) line that set the option; 0: none yet */
};

static int load_file(struct conf *c, const char *path, const struct recipe *from, bool expands,
		     struct err *e);

static int recipe_error(const struct recipe *r, struct err *e, const char *text, const char *about)
{
	return err_set(e, ERR_CONFIG, "%s:%d: %s%s%s", r->path, r->line, about ? about : "",
		       about ? ": " : "", text);
}

/* ---- values: quotes, comments, ${VARIABLES} ---- */

/*
 * Cut off the comment of a line and return it; NULL: none. A comment begins with # or ; at the
 * start of the line or after a blank, outside quotes.
 */
static char *cut_comment(char *text)
{
	bool quoted = false;

	for (char *p = text; *p; p++) {
		if (*p == '\\' && quoted && p[1])
			p++;
		else if (*p == '"')
			quoted = !quoted;
		else if (!quoted && (*p == '#' || *p == ';') &&
			 (p == text || p[-1] == ' ' || p[-1] == '\t')) {
			*p = 0;
			return p + 1;
		}
	}
	return NULL;
}

/* Append the value of the ${NAME} at text, and " ${NAME}" to used; *end: the text after it. */
static int expand_variable(struct recipe *r, const char *text, const char **end, struct buf *out,
			   struct buf *used, struct err *e)
{
	const char *close = strchr(text, '}');
	char name[100];
	const char *value;

	assert(text[0] == '$' && text[1] == '{');
	if (!close || close == text + 2 || (size_t)(close - text - 2) >= sizeof(name))
		return recipe_error(r, e, "'${' is not followed by NAME}", NULL);
	snprintf(name, sizeof(name), "%.*s", (int)(close - text - 2), text + 2);
	if (!r->expands)
		return recipe_error(r, e,
				    "the environment is read only for a recipe that the command "
				    "names, not for one in the folder of a model, run or corpus",
				    name);
	value = getenv(name);
	r->is_unset = !value;
	if (!value)
		return recipe_error(r, e, "the environment variable is not set", name);
	buf_add_str(out, value);
	buf_printf(used, " ${%s}", name);
	*end = close + 1;
	return 0;
}

/*
 * Replace variables, and remove the double quotes around a value (with \" \\ \n \$ inside). The
 * quotes of a list stay: list_split() in conf.c reads them. In a list, \${ is a literal ${.
 * used gets the variables: " ${NAME}" for each.
 */
static int expand_value(struct recipe *r, const char *text, bool is_list, struct buf *out,
			struct buf *used, struct err *e)
{
	size_t n = strlen(text);
	bool quoted = !is_list && n >= 2 && text[0] == '"' && text[n - 1] == '"';
	const char *end = text + n - (quoted ? 1 : 0);
	int rc;

	for (const char *p = text + (quoted ? 1 : 0); p < end;) {
		if (p[0] == '$' && p[1] == '{') {
			rc = expand_variable(r, p, &p, out, used, e);
			if (rc)
				return rc;
		} else if (quoted && p[0] == '\\' && p + 1 < end) {
			buf_add_char(out, p[1] == 'n' ? '\n' : p[1]);
			p += 2;
		} else if (is_list && !strncmp(p, "\\${", 3)) {
			buf_add_str(out, "${");
			p += 3;
		} else {
			buf_add_char(out, *p++);
		}
	}
	return buf_check(out, e);
}

/* ---- relative paths ---- */

/* Make *path absolute if the file exists in the recipe's folder; else leave *path as it is. */
static int resolve_path(const struct recipe *r, char **path, struct err *e)
{
	char *folder = NULL, *full = NULL, *beside = NULL;
	int rc = 0;

	if (!*path || **path == '/' || !**path)
		return 0;
	folder = mem_strdup(r->path, e);
	if (!folder)
		return e->code;
	folder[r->base - r->path] = 0;
	full = realpath(*folder ? folder : ".", NULL);
	if (!full && errno == ENOMEM)
		rc = err_set_errno(e, ERR_NOMEM, "%s: the recipe's folder cannot be resolved",
				   r->path);
	if (full) {
		beside = file_path(e, "%s/%s", full, *path);
		if (!beside)
			rc = e->code;
		else if (file_exists(beside)) {
			free(*path);
			*path = beside;
			beside = NULL;
		}
	}
	free(beside);
	free(full);
	free(folder);
	return rc;
}

static int resolve_paths(const struct recipe *r, const struct conf_option *o, struct err *e)
{
	void *slot = conf_slot(r->c, o);
	int rc = 0;

	if (o->path != CONF_PATH_FILE)
		return 0;
	if (o->kind == CONF_STR)
		return resolve_path(r, slot, e);
	for (size_t i = 0; o->kind == CONF_LIST && !rc && i < ((struct conf_list *)slot)->n; i++)
		rc = resolve_path(r, &((struct conf_list *)slot)->items[i], e);
	return rc;
}

/* ---- lines ---- */

static int unknown_key(const struct recipe *r, const char *key, struct err *e)
{
	const struct conf_option *o = conf_find_option(key);
	const char *names[250], *near;
	char hint[TEXT_HINT_MAX];
	size_t n = 0;

	if (!strcmp(key, "include"))
		return err_set(e, ERR_CONFIG, "%s:%d: include belongs under [recipe], not [%s]",
			       r->path, r->line, r->section);
	if (o && !strcmp(o->section, "tool"))
		return err_set(e, ERR_CONFIG, "%s:%d: %s is for the command line only", r->path,
			       r->line, key);
	if (o)
		return err_set(e, ERR_CONFIG, "%s:%d: %s belongs under [%s], not [%s]", r->path,
			       r->line, key, o->section, r->section);
	for (size_t i = 0; i < conf_n_options; i++)
		if (strcmp(conf_options[i].section, "tool"))
			n = conf_add_names(&conf_options[i], names, n, ARRAY_LEN(names));
	if (r->resolved)
		return err_set(
			e, ERR_CONFIG,
			"%s:%d: this recipe has the option %s, which Werkbank " PACKAGE_VERSION
			" does not know: use the Werkbank that wrote it, or a newer one",
			r->path, r->line, key);
	near = text_nearest(key, names, n);
	return err_set(e, ERR_CONFIG, "%s:%d: no option is called '%s'%s", r->path, r->line, key,
		       text_hint(hint, near ? conf_find_option(near)->name : NULL));
}

/*
 * Where the text comes from is a matter of prep: for other commands the prepared corpus knows it, even if
 * the variables that prep had are no longer set.
 */
static bool is_left_to_corpus(const struct recipe *r, const struct conf_option *o)
{
	const struct text_fact *f = text_fact_find(o->name);

	return r->is_unset && f && f->use == TEXT_FACT_SOURCE && r->c->command &&
	       strcmp(r->c->command, "prep") != 0;
}

static int recipe_set_key(struct recipe *r, const char *key, const char *value, char *comment,
			  struct err *e)
{
	const struct conf_option *o = conf_find_option(key);
	const char *former;
	char label[300], origin[160];
	struct conf_source s = { RANK_RECIPE, origin, label, ERR_CONFIG, r->shipped || r->resolved,
				 NULL };
	struct buf text = { 0 }, used = { 0 };
	int rc;

	assert(r->section[0] && r->line > 0);
	if (!o || strcmp(o->section, r->section))
		return unknown_key(r, key, e);
	former = alias_old_name(ALIAS_OPTION, o->name, 0);
	if (r->seen[o - conf_options])
		return err_set(
			e, ERR_CONFIG, "%s:%d: %s is set twice, first in line %d%s%s%s", r->path,
			r->line, o->name, r->seen[o - conf_options],
			former ? "; its former name is " : "", former ? former : "",
			o->kind == CONF_LIST
				? ": write all of its values in one line, with blanks between them"
				: "");
	r->seen[o - conf_options] = r->line;
	snprintf(label, sizeof(label), "%s:%d: %s", r->path, r->line, key);
	r->is_unset = false;
	rc = expand_value(r, value, o->kind == CONF_LIST, &text, &used, e);
	if (rc && is_left_to_corpus(r, o)) {
		rc = 0;
		buf_clear(&text);
		s.is_ours = true; /* an empty value contradicts nothing */
	}
	snprintf(origin, sizeof(origin), "%s:%d%s", r->base, r->line, buf_text(&used));
	if (r->resolved && comment && *text_trim(comment))
		snprintf(origin, sizeof(origin), "%s", text_trim(comment));
	if (!rc && r->c->origins[o - conf_options].rank <= RANK_RECIPE) {
		rc = conf_assign(r->c, o, buf_text(&text), &s, e);
		if (!rc && !r->resolved) /* a record keeps paths as they were given */
			rc = resolve_paths(r, o, e);
	}
	buf_free(&used);
	buf_free(&text);
	return rc;
}

static int set_section(struct recipe *r, char *line, struct err *e)
{
	static const char *const known[] = { "recipe", "data", "model", "train", "decode" };
	char *end = strchr(line, ']');
	char hint[TEXT_HINT_MAX];
	const char *name;

	if (!end || end[1])
		return recipe_error(r, e, "expected [section]", NULL);
	*end = 0;
	name = text_trim(line + 1);
	for (size_t i = 0; i < ARRAY_LEN(known); i++)
		if (!strcmp(name, known[i])) {
			snprintf(r->section, sizeof(r->section), "%s", name);
			return 0;
		}
	return err_set(e, ERR_CONFIG, "%s:%d: no section is called [%s]%s", r->path, r->line, name,
		       text_hint(hint, text_nearest(name, known, ARRAY_LEN(known))));
}

static int name_to_path(const char *name, const struct recipe *from, char **path, struct err *e);

static int include_recipe(struct recipe *r, const char *name, struct err *e)
{
	char *path = NULL;
	int rc;

	if (r->depth >= RECIPE_MAX_DEPTH)
		return recipe_error(
			r, e, "recipes include each other in a cycle, or more than 8 deep", name);
	if (++r->included->files > RECIPE_MAX_FILES)
		return recipe_error(r, e, "a recipe may include at most 64 files in all", name);
	rc = name_to_path(name, r, &path, e);
	if (!rc)
		rc = load_file(r->c, path, r, r->expands, e);
	else
		err_prefix(e, "%s:%d", r->path, r->line);
	free(path);
	return rc;
}

/* includes: this pass only loads included recipes, so that all keys of this file override them. */
static int one_line(struct recipe *r, char *line, bool includes, struct err *e)
{
	char *comment = cut_comment(line), *equals, *key, *value;
	struct buf name = { 0 }, used = { 0 };
	int rc;

	line = text_trim(line);
	if (!*line)
		return 0;
	if (*line == '[')
		return set_section(r, line, e);
	equals = strchr(line, '=');
	if (!equals)
		return recipe_error(r, e, "expected key = value", NULL);
	*equals = 0;
	key = text_trim(line);
	value = text_trim(equals + 1);
	if (!r->section[0])
		return recipe_error(r, e, "expected a [section] before the first key", NULL);
	if (strcmp(r->section, "recipe"))
		return includes ? 0 : recipe_set_key(r, key, value, comment, e);
	if (!strcmp(key, "description"))
		return 0;
	if (strcmp(key, "include"))
		return recipe_error(r, e, "[recipe] knows only include and description", key);
	if (!includes)
		return 0;
	rc = expand_value(r, value, false, &name, &used, e);
	if (!rc)
		rc = include_recipe(r, buf_text(&name), e);
	buf_free(&used);
	buf_free(&name);
	return rc;
}

static int walk_lines(struct recipe *r, const char *text, size_t n, bool includes, struct err *e)
{
	struct buf line = { 0 };
	const char *end = text + n;
	int rc = 0;

	r->line = 0;
	r->section[0] = 0;
	while (!rc && text < end) {
		const char *stop = memchr(text, '\n', (size_t)(end - text));

		if (!stop)
			stop = end;
		r->line++;
		buf_clear(&line);
		buf_add(&line, text, (size_t)(stop - text));
		rc = buf_check(&line, e);
		if (!rc && (memchr(text, 0, (size_t)(stop - text)) ||
			    !utf8_valid(text, (size_t)(stop - text))))
			rc = recipe_error(r, e, "the line is not UTF-8 text", NULL);
		if (!rc)
			rc = one_line(r, line.data, includes, e);
		text = stop + 1;
	}
	buf_free(&line);
	return rc;
}

/* Is this path that of a recipe of share/recipes? base: its last part. */
static bool is_shipped_recipe(const char *path, const char *base)
{
	struct err ignored;
	char *name = file_path(&ignored, "recipes/%s", base);
	char *shipped = name ? paths_shipped(name, &ignored) : NULL;
	char *there = shipped ? realpath(shipped, NULL) : NULL;
	char *here = there ? realpath(path, NULL) : NULL;
	bool same = here && !strcmp(here, there);

	free(here);
	free(there);
	free(shipped);
	free(name);
	return same;
}

/* from: the recipe that includes this one; NULL: none does. */
static int load_text(struct conf *c, const char *path, const struct recipe *from, bool expands,
		     const char *text, size_t n, struct err *e)
{
	const char *slash = strrchr(path, '/');
	struct included none = { 0 };
	struct recipe r = { .c = c,
			    .included = from ? from->included : &none,
			    .path = path,
			    .base = slash ? slash + 1 : path,
			    .depth = from ? from->depth + 1 : 1,
			    .expands = expands };
	int rc;

	assert(r.depth <= RECIPE_MAX_DEPTH);
	r.seen = mem_alloc(conf_n_options, sizeof(*r.seen), e);
	if (!r.seen)
		return e->code;
	if (n >= 3 && !memcmp(text, "\xEF\xBB\xBF", 3)) {
		text += 3;
		n -= 3;
	}
	r.resolved =
		n >= strlen(RESOLVED_MARK) && !memcmp(text, RESOLVED_MARK, strlen(RESOLVED_MARK));
	r.shipped = !r.resolved && is_shipped_recipe(path, r.base);
	rc = walk_lines(&r, text, n, true, e);
	if (!rc)
		rc = walk_lines(&r, text, n, false, e);
	free(r.seen);
	return rc;
}

static int load_file(struct conf *c, const char *path, const struct recipe *from, bool expands,
		     struct err *e)
{
	struct buf bytes = { 0 };
	int rc = file_read_all(path, RECIPE_MAX_BYTES, &bytes, e);

	if (!rc && from && (from->included->bytes += bytes.len) > RECIPE_MAX_TOTAL)
		rc = recipe_error(from, e, "a recipe may include at most 4 MiB in all", path);
	if (!rc)
		rc = load_text(c, path, from, expands, buf_text(&bytes), bytes.len, e);
	buf_free(&bytes);
	return rc;
}

/* ---- names of recipes ---- */

#define SHIPPED_MAX 32
typedef char shipped_name[60];

static int compare_shipped(const void *a, const void *b)
{
	return strcmp(a, b);
}

/* Names of the shipped recipes in alphabetical order. Returns how many. */
static size_t list_shipped_recipes(shipped_name names[SHIPPED_MAX])
{
	struct err ignored;
	char *folder = paths_shipped("recipes", &ignored);
	DIR *d = folder ? opendir(folder) : NULL;
	size_t n = 0;

	for (struct dirent *f; d && n < SHIPPED_MAX && (f = readdir(d)) != NULL;)
		if (text_ends_with(f->d_name, ".ini") && strlen(f->d_name) < sizeof(names[0])) {
			snprintf(names[n], sizeof(names[n]), "%.*s", (int)strlen(f->d_name) - 4,
				 f->d_name);
			n++;
		}
	if (d)
		closedir(d);
	free(folder);
	qsort(names, n, sizeof(names[0]), compare_shipped);
	return n;
}

void conf_shipped_recipes(struct buf *out)
{
	shipped_name names[SHIPPED_MAX];
	const size_t n = list_shipped_recipes(names);

	for (size_t i = 0; i < n; i++)
		buf_printf(out, "%s%s", i ? ", " : "", names[i]);
}

/* Report an unknown recipe; the message lists the shipped recipes. */
static int unknown_recipe(const char *name, struct err *e)
{
	shipped_name names[SHIPPED_MAX];
	char hint[TEXT_HINT_MAX];
	const char *list[SHIPPED_MAX];
	struct buf all = { 0 };
	const size_t n = list_shipped_recipes(names);

	for (size_t i = 0; i < n; i++)
		list[i] = names[i];
	conf_shipped_recipes(&all);
	err_set(e, ERR_NOINPUT,
		"no recipe is called '%s'%s; there are: %s; for a file of your own write "
		"./%s%s",
		name, text_hint(hint, text_nearest(name, list, n)),
		n ? buf_text(&all) : "none (WERKBANK_SHARE may be wrong)", name,
		file_exists(name) ? "" : ".ini");
	buf_free(&all);
	return e->code;
}

/*
 * *path (owned by the caller) of a recipe. A name with a slash or ending in .ini is a path,
 * relative to the including recipe (from) if the file exists there. Other names: shipped recipes.
 */
static int name_to_path(const char *name, const struct recipe *from, char **path, struct err *e)
{
	struct err ignored;
	char file[120];

	if (strchr(name, '/') || text_ends_with(name, ".ini")) {
		*path = mem_strdup(name, e);
		if (!*path)
			return e->code;
		return from ? resolve_path(from, path, e) : 0;
	}
	snprintf(file, sizeof(file), "recipes/%s.ini", name);
	*path = paths_shipped(file, &ignored);
	return *path ? 0 : unknown_recipe(name, e);
}

void conf_recipe_name(const char *path, char *name, size_t size)
{
	const char *slash = strrchr(path, '/');

	snprintf(name, size, "%s", slash ? slash + 1 : path);
	if (text_ends_with(name, ".ini"))
		name[strlen(name) - 4] = 0;
}

/* Names the corpus after the recipe, unless the options name one. */
static int name_corpus(struct conf *c, const char *path, struct err *e)
{
	char name[256];

	if (c->corpus)
		return 0;
	conf_recipe_name(path, name, sizeof(name));
	return conf_set(c, "corpus", name, "the recipe's name", e);
}

/* Takes path, whose contents are loaded with code rc. */
static int recipe_set_path(struct conf *c, char *path, int rc, struct err *e)
{
	if (!rc)
		rc = name_corpus(c, path, e);
	if (rc) {
		free(path);
		return rc;
	}
	free(c->recipe);
	c->recipe = path;
	return 0;
}

int conf_load_named_recipe(struct conf *c, const char *name, struct err *e)
{
	char *path = NULL;
	int rc = name_to_path(name, NULL, &path, e);

	rc = recipe_set_path(c, path, rc ? rc : load_file(c, path, NULL, true, e), e);
	/* the recipe can name an output, and inputs */
	return rc || !c->command ? rc : conf_check_outputs(c, conf_find_command(c->command), e);
}

int conf_load_recipe(struct conf *c, const char *path, struct err *e)
{
	char *copy = mem_strdup(path, e);

	return recipe_set_path(c, copy, copy ? load_file(c, copy, NULL, false, e) : e->code, e);
}

int conf_load_recipe_text(struct conf *c, const char *path, const char *text, size_t n,
			  struct err *e)
{
	char *copy = mem_strdup(path, e);
	int rc = copy ? load_text(c, path, NULL, false, text, n, e) : e->code;

	return recipe_set_path(c, copy, rc, e);
}

/* ---- writing ---- */

/*
 * Append a string so that expand_value() gives it back: in quotes if it is empty, begins or ends
 * with a blank, or contains a comment sign, a quote, a backslash, a line end or a $.
 */
static void add_string(struct buf *out, const char *text)
{
	size_t n = strlen(text);

	if (n && !strpbrk(text, "\"\\#;\n\r$") && !isspace((unsigned char)text[0]) &&
	    !isspace((unsigned char)text[n - 1])) {
		buf_add_str(out, text);
		return;
	}
	buf_add_char(out, '"');
	for (; *text; text++) {
		if (*text == '\n') {
			buf_add_str(out, "\\n");
			continue;
		}
		if (strchr("\"\\$", *text))
			buf_add_char(out, '\\');
		buf_add_char(out, *text);
	}
	buf_add_char(out, '"');
}

static void recipe_add_line(const struct conf *c, const struct conf_option *o, struct buf *out)
{
	struct buf value = { 0 };
	size_t start = out->len, width;

	conf_value(c, o->name, &value);
	if (o->kind == CONF_STR && !*(char **)conf_slot(c, o)) {
		buf_printf(out, "# %s is not given\n", o->name);
	} else {
		buf_printf(out, "%s = ", o->name);
		if (o->kind == CONF_STR)
			add_string(out, buf_text(&value));
		else
			for (const char *p = buf_text(&value); *p; p++) {
				if (p[0] == '$' && p[1] == '{')
					buf_add_char(out, '\\');
				buf_add_char(out, *p);
			}
		width = out->len - start;
		buf_printf(out, "%*s # %s\n", width < 32 ? (int)(32 - width) : 0, "",
			   conf_origin(c, o->name));
	}
	buf_free_part(&value, out);
}

void conf_write_recipe(const struct conf *c, struct buf *out)
{
	const char *section = "";

	buf_add_str(out, RESOLVED_MARK ": every option, and where its value came from\n");
	for (size_t i = 0; i < conf_n_options; i++) {
		const struct conf_option *o = &conf_options[i];

		if (!strcmp(o->section, "tool"))
			continue;
		if (strcmp(section, o->section)) {
			section = o->section;
			buf_printf(out, "\n[%s]\n", section);
		}
		recipe_add_line(c, o, out);
	}
}
