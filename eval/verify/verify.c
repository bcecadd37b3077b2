/* verify.c - finds what the argument of "verify" names, and prints the faults; see verify.h */
#include "eval/verify/verify.h"

#include <stdlib.h>
#include <string.h>

#include "eval/verify/verify_internal.h"
#include "share/base/file.h"
#include "share/base/mem.h"
#include "share/base/text.h"
#include "share/base/util.h"
#include "share/format/json.h"
#include "share/workspace/paths.h"

/* mark: a file that a folder of this kind has. */
static const struct verify_kind {
	const char *name, *mark, *parent; /* parent: of such folders in the workspace, or NULL */
	int (*check)(struct verified_folder *v, struct err *e);
} verify_kinds[] = {
	{ "run", "journal.jsonl", "runs", verify_run_folder },
	{ "corpus", "manifest.json", "corpora", verify_corpus },
	{ "corpus", "work", "corpora", verify_corpus }, /* an unfinished preparation */
	{ "model", "SHA256SUMS", NULL, verify_model },
	{ "model", "model.safetensors", NULL, verify_model },
};

static bool has_mark(const char *folder, const char *mark)
{
	struct err ignored;
	char *path = file_path(&ignored, "%s/%s", folder, mark);
	const bool there = path && file_exists(path);

	free(path);
	return there;
}

/* The kind of a folder; NULL: none of them. */
static const struct verify_kind *kind_of_folder(const char *folder)
{
	for (size_t i = 0; i < ARRAY_LEN(verify_kinds); i++)
		if (has_mark(folder, verify_kinds[i].mark))
			return &verify_kinds[i];
	return NULL;
}

/* The folder that a name means, owned by the caller; NULL: e. A run comes before a corpus. */
static char *verify_find_folder(const struct conf *c, const char *name, struct err *e)
{
	char *workspace, *folder = NULL;

	if (strchr(name, '/') || !strcmp(name, ".") || !strcmp(name, ".."))
		return mem_strdup(name, e);
	workspace = paths_workspace(c->workspace, e);
	for (size_t i = 0; workspace && i < ARRAY_LEN(verify_kinds); i++) {
		if (!verify_kinds[i].parent)
			continue;
		free(folder);
		folder = file_path(e, "%s/%s/%s", workspace, verify_kinds[i].parent, name);
		if (!folder || file_is_folder(folder))
			break;
	}
	free(workspace);
	if (folder && !file_is_folder(folder) && file_is_folder(name)) {
		free(folder);
		folder = mem_strdup(name, e);
	}
	return folder;
}

static void print_faults(const struct verified_folder *v, const char *kind, struct buf *out)
{
	for (size_t i = 0; i < v->n; i++)
		buf_printf(out, "%s\n    %s\n", v->faults[i].text, v->faults[i].cure);
	buf_printf(out, "%s %s: %lld file%s checked, ", kind, v->folder, (long long)v->files,
		   text_plural((double)v->files));
	if (v->n)
		buf_printf(out, "%zu fault%s\n", v->n, text_plural((double)v->n));
	else
		buf_add_str(out, "all intact\n");
}

static void put_faults(const struct verified_folder *v, const char *kind, struct buf *out)
{
	struct json_writer w = { .out = out };

	json_open(&w, '{');
	json_put_str(&w, "kind", kind);
	json_put_str(&w, "folder", v->folder);
	json_put_int(&w, "files", v->files);
	json_put_bool(&w, "intact", v->n == 0);
	json_key(&w, "faults");
	json_open(&w, '[');
	for (size_t i = 0; i < v->n; i++) {
		json_open(&w, '{');
		json_put_str(&w, "text", v->faults[i].text);
		json_put_str(&w, "cure", v->faults[i].cure);
		json_close(&w, '}');
	}
	json_close(&w, ']');
	json_close(&w, '}');
	buf_add_char(out, '\n');
}

int verify_run(struct conf *c, struct err *e)
{
	const char *name = c->arguments[0];
	struct verified_folder v = { 0 };
	char *folder = verify_find_folder(c, name, e);
	const struct verify_kind *kind = folder ? kind_of_folder(folder) : NULL;
	struct buf out = { 0 };
	int rc = folder ? 0 : e->code;

	v.folder = folder;
	if (!rc && !kind)
		rc = err_set(
			e, ERR_NOINPUT,
			"%s is no run and no corpus of the workspace, and no folder of a model, "
			"a run or a corpus",
			name);
	if (!rc)
		rc = kind->check(&v, e);
	if (!rc) {
		(c->json ? put_faults : print_faults)(&v, kind->name, &out);
		rc = file_put_stdout(&out, e);
	}
	if (!rc && v.n)
		rc = err_set(e, ERR_DATA, "the %s %s is damaged: %zu fault%s", kind->name, name,
			     v.n, text_plural((double)v.n));
	verified_folder_free(&v);
	buf_free(&out);
	free(folder);
	return rc;
}
