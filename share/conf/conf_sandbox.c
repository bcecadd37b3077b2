/*
 * conf_sandbox.c - the sandbox of a command: it keeps the files that its options and arguments name
 *
 * The rules come from the command line, the environment and recipes of the user. The recipe of a
 * model, which may be a stranger's, is loaded later and adds none.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "share/base/file.h"
#include "share/base/text.h"
#include "share/conf/conf_internal.h"
#include "share/workspace/paths.h"
#include "share/workspace/workspace_names.h"

/* Commands that read foreign bytes in their own process; what they write. */
static const struct conf_sandboxed {
	const char *command;
	bool writes_workspace;
	const char *temporary; /* with --run: the beginning of the name of a folder in $TMPDIR */
	bool computes;	       /* on a backend, which may be a GPU */
	bool writes_file, writes_folder; /* --output is a file, a folder, or may be either */
	bool stages;			 /* a second temporary folder beside --output */
	bool reads_neighbours;		 /* files beside the file that an argument names */
	bool keeps_score;		 /* in the folder of the run that --run names */
} conf_sandboxed[] = {
	/* clang-format off */
	{ "compare",	.temporary = CONF_COMPARE_FOLDER, .computes = true },
	{ "eval",	.computes = true, .keeps_score = true },
	{ "export",	.writes_file = true, .writes_folder = true },
	{ "import",	.writes_workspace = true, .writes_folder = true, .stages = true,
			.reads_neighbours = true },
	{ .command = "pairs" },
	{ "prep",	.writes_workspace = true },
	{ "score",	.computes = true, .writes_file = true },
	{ "translate",	.computes = true, .writes_file = true },
	/* clang-format on */
};

static const struct conf_sandboxed *conf_find_sandboxed(const struct conf *c)
{
	for (size_t i = 0; c->command && i < ARRAY_LEN(conf_sandboxed); i++)
		if (!strcmp(conf_sandboxed[i].command, c->command))
			return &conf_sandboxed[i];
	return NULL;
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

/* Does the command line or the environment ask for another search than the recipe's? */
static bool changes_search(const struct conf *c)
{
	static const char *const options[] = {
		"beam",	     "alpha",	  "max_length_factor", "max_length_extra",
		"shortlist", "precision", "unaveraged"
	};
	bool is_changed = false;

	for (size_t i = 0; i < ARRAY_LEN(options); i++) {
		const char *origin = conf_origin(c, options[i]);

		is_changed |=
			!strcmp(origin, "command line") || text_starts_with(origin, "WERKBANK_");
	}
	return is_changed;
}

/* The score of an evaluation, which the run keeps. */
static int hold_score(const struct conf *c, struct held_outputs **held, int *status, struct err *e)
{
	char *path = conf_score_path(c, e);

	if (!path && !e->code && c->run && !c->model && changes_search(c) && !c->quiet)
		fprintf(stderr,
			"note: the report of %s keeps its score of %s with other options of "
			"decoding\n",
			c->run, c->set);
	if (path && (*held = held_outputs_new(e)))
		held_output_add_file(*held, path);
	free(path);
	return *held ? held_output_start(*held, status, e) : e->code;
}

char *conf_score_path(const struct conf *c, struct err *e)
{
	struct err ignored = { 0 };
	char *workspace, *run = NULL, *path = NULL;

	e->code = 0;
	if (!c->run || c->model || c->ensemble.n || strchr(c->checkpoint, ',') ||
	    paths_check_name("run", c->run, &ignored) || paths_check_name("set", c->set, &ignored))
		return NULL;
	workspace = paths_workspace(c->workspace, e);
	if (workspace && (run = file_path(e, "%s/runs/%s", workspace, c->run)) &&
	    !access(run, W_OK))
		path = workspace_score_path(workspace, c->run, c->set, e);
	if (path && changes_search(c) && file_exists(path)) {
		free(path);
		path = NULL;
	}
	free(run);
	free(workspace);
	return path;
}

int conf_hold_outputs(const struct conf *c, struct held_outputs **held, int *status, struct err *e)
{
	const struct conf_sandboxed *how = conf_find_sandboxed(c);
	const char *temporary = how && c->run ? how->temporary : NULL;
	char *path = NULL;

	*held = NULL;
	if (how && how->keeps_score && !sandbox_is_off())
		return hold_score(c, held, status, e);
	if (!how || sandbox_is_off() ||
	    (!temporary && (!c->output || !(how->writes_file || how->writes_folder))))
		return 0;
	*held = held_outputs_new(e);
	if (*held)
		path = temporary ? paths_temporary(temporary, e) : file_path(e, "%s", c->output);
	if (!*held || !path) {
		free(*held);
		return e->code;
	}
	if (temporary) { /* never committed: the parent removes it */
		umask(077);
		held_output_add_folder(*held, path, NULL);
		free(path);
		return held_output_start(*held, status, e);
	}
	for (size_t n = strlen(path); n > 1 && path[n - 1] == '/'; n--)
		path[n - 1] = '\0';
	if (how->writes_file)
		held_output_add_file(*held, c->output);
	if (how->stages) /* beside itself, as the import names it */
		held_output_add_folder(*held, path, path);
	if (how->writes_folder)
		held_output_add_folder(*held, path, NULL);
	free(path);
	return held_output_start(*held, status, e);
}

bool conf_begin_sandbox(const struct conf *c, const struct held_outputs *held, struct sandbox *s)
{
	const struct conf_sandboxed *how = conf_find_sandboxed(c);
	const char *path;

	if (!how || sandbox_is_off())
		return false;
	sandbox_begin(s);
	sandbox_allow_system(s);
	allow_shipped(s);
	allow_workspace(s, c, how->writes_workspace);
	for (size_t i = 0; i < conf_n_options; i++)
		for (size_t k = 0; (path = conf_read_path(c, &conf_options[i], k)) != NULL; k++)
			sandbox_allow_folder(s, path);
	for (int i = 0; i < c->n_arguments; i++) {
		sandbox_allow_folder(s, c->arguments[i]);
		if (how->reads_neighbours)
			sandbox_allow_neighbours(s, c->arguments[i]);
	}
	for (size_t i = 0; held && i < HELD_OUTPUTS; i++)
		if (held_output_folder(held, i))
			sandbox_allow_write(s, held_output_folder(held, i));
	return true;
}

void conf_enter_sandbox(struct conf *c, struct sandbox *s)
{
	free(c->typed_program);
	c->typed_program = conf_typed_program(c);
	c->is_in_sandbox = sandbox_enter(s, SANDBOX_PROGRAM);
}
