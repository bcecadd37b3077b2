/*
 * conf_output.c - outputs of a command must not replace what it reads, nor a file of a run, corpus or model
 *
 * Files are compared by device and inode, so that other names and links of a file count too.
 */
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "share/base/file.h"
#include "share/base/text.h"
#include "share/conf/conf_internal.h"
#include "share/format/json.h"
#include "share/workspace/model_files.h"

/* A file that a command writes. */
struct written_file {
	const char *label; /* "--output", or the word of the usage line */
	const char *path;
	struct stat stat;
};

#define MANIFEST_MAX ((size_t)16 << 20) /* bytes of the manifest.json of a corpus */

/* Files that make a folder a run, a corpus or a model; the names of theirs that commands rely on. */
static const struct owned_folder {
	const char *what, *marker, *other_marker;
	const char *names; /* separated by blanks; "*X" is an ending, "X*" a beginning */
	const char *list;  /* NULL, or a file of JSON whose "files" have further names */
	const char *above; /* NULL, or the name of the folder that it is in */
} owned_folders[] = {
	/* clang-format off */
	{ "run", "journal.jsonl", "recipe.ini",
	  "recipe.ini state.json lock control journal.jsonl samples.jsonl console.log eval-* "
	  MODEL_FILE_WORDS "*.bin products.*", NULL, NULL },
	{ "corpus", "manifest.json", "recipe.ini",
	  "recipe.ini manifest.json stats.json ledger.tsv lock "
	  MODEL_FILE_WORDS "*.shard dev.* test.*", "manifest.json", NULL },
	{ "model", "SHA256SUMS", "state.json",
	  "recipe.ini state.json SHA256SUMS averaged.json "
	  MODEL_FILE_WORDS "*.safetensors *.bin", NULL, NULL },
	{ "downloaded archives in", "lock", "lock", "*", NULL, "archives" },
	/* clang-format on */
};

static bool is_owned_name(const char *names, const char *name)
{
	char pattern[64];

	for (size_t n; (n = strcspn(names, " ")) > 0; names += n + strspn(names + n, " ")) {
		snprintf(pattern, sizeof(pattern), "%.*s", (int)n, names);
		if (*pattern == '*'	    ? text_ends_with(name, pattern + 1)
		    : pattern[n - 1] == '*' ? !strncmp(name, pattern, n - 1)
					    : !strcmp(name, pattern))
			return true;
	}
	return false;
}

static bool is_file_in(const char *folder, const char *name)
{
	struct err ignored = { 0 };
	char *path = file_path(&ignored, "%s/%s", folder, name);
	const bool is_there = path && file_exists(path);

	free(path);
	return is_there;
}

/* Does the list, a file in the folder, name this file? */
static bool is_in_list(const char *folder, const char *list, const char *name)
{
	struct err ignored = { 0 };
	char *path = file_path(&ignored, "%s/%s", folder, list);
	struct json *root = NULL;
	const struct json *files;
	bool found = false;

	if (path)
		(void)json_read_optional(&root, path, MANIFEST_MAX, &ignored);
	files = json_get(root, "files");
	for (size_t i = 0; !found && i < json_len(files); i++)
		found = !strcmp(json_text(json_get(json_at(files, i), "name"), ""), name);
	json_free(root);
	free(path);
	return found;
}

/* Is the folder in one of this name? NULL: any. */
static bool is_folder_in(const char *folder, const char *above)
{
	const char *slash = strrchr(folder, '/');
	const size_t n = above ? strlen(above) : 0;

	return !above || (slash && (size_t)(slash - folder) > n &&
			  slash[-1 - (ptrdiff_t)n] == '/' && !strncmp(slash - n, above, n));
}

/* ERR_USAGE if the file belongs to a run, corpus or model, or is a downloaded archive. */
static int check_owner(const struct written_file *w, struct err *e)
{
	char folder[PATH_MAX], *slash;

	if (!realpath(w->path, folder) || !(slash = strrchr(folder, '/')))
		return 0;
	*slash = '\0';
	for (size_t i = 0; i < ARRAY_LEN(owned_folders); i++) {
		const struct owned_folder *o = &owned_folders[i];

		if (is_folder_in(folder, o->above) && is_file_in(folder, o->marker) &&
		    is_file_in(folder, o->other_marker) &&
		    (is_owned_name(o->names, slash + 1) ||
		     (o->list && is_in_list(folder, o->list, slash + 1))))
			return err_set(
				e, ERR_USAGE,
				"%s: %s is a file of the %s %s, which would be lost: give another "
				"name",
				w->label, w->path, o->what, folder);
	}
	return 0;
}

/* ERR_USAGE if `path`, which the command reads, is the same file. */
static int check_input(const struct written_file *w, const char *path, struct err *e)
{
	struct stat s;

	if (stat(path, &s) || s.st_dev != w->stat.st_dev || s.st_ino != w->stat.st_ino)
		return 0;
	return err_set(e, ERR_USAGE,
		       "%s: the command reads %s, which %s would replace: give another name",
		       w->label, path, w->path);
}

static bool is_output_word(const char *word, size_t n)
{
	return (n > 4 && !strncmp(word, "OUT-", 4)) || (n == 8 && !strncmp(word, "[LEDGER]", n));
}

/* Compare one output with everything that the command line and recipes name. */
static int check_output(const struct conf *c, const struct conf_command *cmd,
			struct written_file *w, struct err *e)
{
	const char *usage = cmd->arguments;
	int rc = 0;

	if (stat(w->path, &w->stat) || !S_ISREG(w->stat.st_mode))
		return 0;
	rc = check_owner(w, e);
	if (!rc && c->recipe)
		rc = check_input(w, c->recipe, e);
	for (int i = 0; !rc && i < c->n_arguments; i++) {
		const size_t n = strcspn(usage, " ");

		if (!is_output_word(usage, n))
			rc = check_input(w, c->arguments[i], e);
		if (!strstr(usage, "..."))
			usage += n + strspn(usage + n, " ");
	}
	for (size_t i = 0; !rc && i < conf_n_options; i++) {
		const char *path;

		for (size_t k = 0; !rc && (path = conf_read_path(c, &conf_options[i], k)); k++)
			rc = check_input(w, path, e);
	}
	return rc;
}

/* The files that a command writes for this value of --output or --prometheus. */
static int check_output_option(const struct conf *c, const struct conf_command *cmd,
			       const char *label, const char *value, struct err *e)
{
	/* sp-learn writes two files */
	static const char *const plain[] = { "", NULL }, *const endings[] = { ".model", ".vocab",
									      NULL };
	int rc = 0;

	for (const char *const *p = strcmp(cmd->name, "sp-learn") ? plain : endings; !rc && *p;
	     p++) {
		char *path = file_path(e, "%s%s", value, *p);
		struct written_file w = { .label = label, .path = path };

		rc = path ? check_output(c, cmd, &w, e) : e->code;
		free(path);
	}
	return rc;
}

int conf_check_outputs(const struct conf *c, const struct conf_command *cmd, struct err *e)
{
	const char *usage = cmd ? cmd->arguments : "";
	int rc = 0;

	for (size_t i = 0; cmd && !rc && i < conf_n_options; i++) {
		const struct conf_option *o = &conf_options[i];
		const char *const *text = conf_slot(c, o);
		char label[CONF_NAME_MAX + 2];

		if (o->path != CONF_PATH_WRITTEN || !*text ||
		    !conf_command_accepts(cmd, cmd->program, o))
			continue;
		snprintf(label, sizeof(label), "--%s", o->name);
		rc = check_output_option(c, cmd, label, *text, e);
	}
	for (int i = 0; !rc && i < c->n_arguments && *usage; i++) {
		const size_t n = strcspn(usage, " ");
		char label[40];

		snprintf(label, sizeof(label), "%.*s", (int)MIN(n, sizeof(label) - 1), usage);
		if (is_output_word(usage, n))
			rc = check_output(
				c, cmd,
				&(struct written_file){ .label = label, .path = c->arguments[i] },
				e);
		usage += n + strspn(usage + n, " ");
	}
	return rc;
}
