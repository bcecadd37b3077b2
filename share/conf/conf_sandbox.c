/*
 * conf_sandbox.c - the sandbox of a command: it keeps the files that its options and arguments name
 *
 * The rules come from the command line, the environment and recipes of the user. The recipe of a
 * model, which may be a stranger's, is loaded later and adds none.
 */
#include <stdlib.h>
#include <string.h>

#include "share/base/file.h"
#include "share/base/paths.h"
#include "share/base/text.h"
#include "share/conf/conf_internal.h"

/* Commands that read foreign bytes in their own process; where they write besides --output. */
static const struct conf_sandboxed {
	const char *command;
	bool writes_workspace, writes_temporary;
	bool computes; /* on a backend, which may be a GPU */
} conf_sandboxed[] = {
	/* clang-format off */
	{ "compare",	.writes_temporary = true, .computes = true },
	{ "eval",	.computes = true },
	{ "export",	.computes = false },
	{ "import",	.writes_workspace = true },
	{ "prep",	.writes_workspace = true },
	{ "translate",	.computes = true },
	/* clang-format on */
};

static const struct conf_sandboxed *conf_find_sandboxed(const struct conf *c)
{
	for (size_t i = 0; c->command && i < ARRAY_LEN(conf_sandboxed); i++)
		if (!strcmp(conf_sandboxed[i].command, c->command))
			return &conf_sandboxed[i];
	return NULL;
}

/* The folder that a file is in: where its temporary is made and renamed. */
static void allow_folder_of(struct sandbox *s, const char *path)
{
	struct err ignored = { 0 };
	const char *slash = strrchr(path, '/');
	char *folder = slash ? file_path(&ignored, "%.*s", (int)MAX(slash - path, 1), path)
			     : file_path(&ignored, ".");

	sandbox_allow_write(s, folder);
	free(folder);
}

/* A path ending with slashes names a folder of this name. A link: its target is written, too. */
static void allow_output(struct sandbox *s, const char *path)
{
	struct err ignored = { 0 };
	size_t n = strlen(path);
	char *plain, *real = realpath(path, NULL);

	while (n > 1 && path[n - 1] == '/')
		n--;
	plain = file_path(&ignored, "%.*s", (int)n, path);
	if (plain && real && !file_is_folder(real) && file_size(real) < 0)
		sandbox_allow_write(s, real); /* a device or pipe */
	else if (plain)
		allow_folder_of(s, plain);
	if (real && file_size(real) >= 0)
		allow_folder_of(s, real);
	free(plain);
	free(real);
}

/* The workspace, and what is moved to another disk by links in it. */
static void allow_workspace(struct sandbox *s, const struct conf *c, bool writes)
{
	static const char *const inside[] = { "", "/archives", "/corpora", "/runs" };
	struct err ignored = { 0 };
	char *workspace = paths_workspace(c->workspace, &ignored);

	for (size_t i = 0; workspace && i < ARRAY_LEN(inside); i++) {
		char *path = file_path(&ignored, "%s%s", workspace, inside[i]);

		sandbox_allow_folder(s, path);
		if (writes)
			sandbox_allow_write(s, path);
		free(path);
	}
	if (workspace && c->run) {
		char *run = file_path(&ignored, "%s/runs/%s", workspace, c->run);
		char *saved = run ? file_path(&ignored, "%s/checkpoints", run) : NULL;

		sandbox_allow_folder(s, run);
		sandbox_allow_folder(s, saved);
		free(saved);
		free(run);
	}
	free(workspace);
}

static bool names_a_path(const struct conf_option *o)
{
	return o->detail && (strstr(o->detail, "FILE") || strstr(o->detail, "DIR") ||
			     strstr(o->detail, "FOLDER") || strstr(o->detail, "PHRASE"));
}

static void allow_option(struct sandbox *s, const struct conf *c, const struct conf_option *o)
{
	const char *const *text = conf_slot(c, o);
	const struct conf_list *list = conf_slot(c, o);

	if (!names_a_path(o) || !strcmp(o->name, "workspace"))
		return;
	if (o->kind == CONF_STR && *text && !strcmp(o->name, "output"))
		allow_output(s, *text);
	else if (o->kind == CONF_STR && *text)
		sandbox_allow_folder(s, *text);
	for (size_t i = 0; o->kind == CONF_LIST && i < list->n; i++) /* --forbid @FILE */
		sandbox_allow_folder(s, list->items[i] + (list->items[i][0] == '@'));
}

/* The folder that holds recipes, manifests of corpora and the built-in grammar. */
static void allow_shipped(struct sandbox *s)
{
	static const char *const folders[] = { "recipes", "corpora", "demo" };
	struct err ignored = { 0 };

	for (size_t i = 0; i < ARRAY_LEN(folders); i++) {
		char *path = paths_shipped(folders[i], &ignored);

		sandbox_allow_read(s, path);
		free(path);
	}
}

bool conf_needs_sandbox(const struct conf *c, bool *computes)
{
	const struct conf_sandboxed *how = conf_find_sandboxed(c);

	*computes = how && how->computes;
	return how && !sandbox_is_off();
}

bool conf_begin_sandbox(const struct conf *c, struct sandbox *s)
{
	const struct conf_sandboxed *how = conf_find_sandboxed(c);

	if (!how || sandbox_is_off())
		return false;
	sandbox_begin(s);
	sandbox_allow_system(s);
	allow_shipped(s);
	allow_workspace(s, c, how->writes_workspace);
	for (size_t i = 0; i < conf_n_options; i++)
		allow_option(s, c, &conf_options[i]);
	for (int i = 0; i < c->n_arguments; i++)
		sandbox_allow_folder(s, c->arguments[i]);
	if (how->writes_temporary) {
		const char *folder = getenv("TMPDIR");

		sandbox_allow_write(s, folder && *folder ? folder : "/tmp");
	}
	return true;
}

void conf_enter_sandbox(struct conf *c, struct sandbox *s)
{
	c->is_in_sandbox = sandbox_enter(s, SANDBOX_PROGRAM);
}
