/* verify.c - finds what the argument of "verify" names, checks it, and prints the faults; see verify.h */
#include "eval/verify/verify.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "share/base/file.h"
#include "share/base/hash.h"
#include "share/base/mem.h"
#include "share/base/text.h"
#include "share/base/util.h"
#include "share/conf/text_facts.h"
#include "share/format/json.h"
#include "share/workspace/journal.h"
#include "share/workspace/paths.h"
#include "train/ckpt/ckpt.h"
#include "train/common/run_versions.h"
#include "train/record/evaluations.h"

#define MANIFEST_MAX (64u << 20)
#define STATE_MAX    (8u << 20)

struct verify_fault {
	char *text; /* owned: names the file, says what is wrong */
	char *cure; /* owned: a sentence */
};

struct verified_folder {
	const char *folder;	     /* borrowed */
	struct verify_fault *faults; /* (n) owned */
	size_t n, cap;
	int64_t files; /* that were checked */
};

/* Each check adds the faults of the folder. It returns failures that are no damage: of memory, or a newer version. */

static int verify_add_fault(struct verified_folder *v, const char *cure, struct err *e,
			    const char *fmt, ...) PRINTF_LIKE(4, 5);

/* Adds a fault, in the words of fmt and its arguments. */
static int verify_add_fault(struct verified_folder *v, const char *cure, struct err *e,
			    const char *fmt, ...)
{
	struct verify_fault *f;
	char text[1200];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	if (mem_grow(&v->faults, &v->cap, v->n + 1, sizeof(*v->faults), e))
		return e->code;
	f = &v->faults[v->n++];
	*f = (struct verify_fault){ mem_strdup(text, e), mem_strdup(cure, e) };
	return f->text && f->cure ? 0 : e->code;
}

static void verified_folder_free(struct verified_folder *v)
{
	for (size_t i = 0; i < v->n; i++) {
		free(v->faults[i].text);
		free(v->faults[i].cure);
	}
	free(v->faults);
}

/* ---- models and checkpoints ---- */

/* Adds the faults of a model folder, all with the same cure. A model of a newer program is not damaged: ERR_CONFIG. */
static int check_model_folder(struct verified_folder *v, const char *folder, const char *cure,
			      struct err *e)
{
	struct buf faults = { 0 };
	struct ckpt_state state;
	char *line, *rest = NULL;
	int rc;

	if (ckpt_read_state(folder, false, &state, e) == ERR_CONFIG)
		return e->code;
	*e = (struct err){ 0 };
	ckpt_list_faults(folder, &faults, &v->files);
	rc = buf_check(&faults, e);
	for (line = !rc && faults.len ? strtok_r(faults.data, "\n", &rest) : NULL; line && !rc;
	     line = strtok_r(NULL, "\n", &rest))
		rc = verify_add_fault(v, cure, e, "%s", line);
	buf_free(&faults);
	return rc;
}

static int verify_model(struct verified_folder *v, struct err *e)
{
	return check_model_folder(
		v, v->folder,
		"A model cannot be rebuilt from itself: copy, export or average it "
		"again.",
		e);
}

/* ---- corpora ---- */

static int check_manifest_entry(struct verified_folder *v, const struct json *file,
				const char *cure, struct err *e)
{
	const char *name = json_text(json_get(file, "name"), ""),
		   *sum = json_text(json_get(file, "sha256"), "");
	const int64_t bytes = json_integer(json_get(file, "bytes"), -1);
	char hex[HASH_SHA256_HEX] = "";
	struct err why = { 0 };
	char *path;
	int rc = 0;

	if (!*name || *name == '/' || strstr(name, ".."))
		return verify_add_fault(v, cure, e,
					"manifest.json names a file outside of the corpus");
	path = file_path(e, "%s/%s", v->folder, name);
	if (!path)
		return e->code;
	v->files++;
	if (file_size(path) >= 0 && file_size(path) != bytes) {
		rc = verify_add_fault(v, cure, e,
				      "%s is damaged: it has %lld bytes, manifest.json says %lld",
				      path, (long long)file_size(path), (long long)bytes);
	} else if (hash_file(path, hex, &why)) {
		rc = verify_add_fault(v, cure, e, "%s", why.text);
	} else if (strcmp(hex, sum) != 0) {
		rc = verify_add_fault(
			v, cure, e, "%s is damaged: its SHA-256 differs from that in manifest.json",
			path);
	}
	free(path);
	return rc;
}

/* The command that makes the corpus again, as a shell reads it. Owned by the caller; NULL: ERR_NOMEM. */
static char *prep_again(const char *folder, struct err *e)
{
	struct buf text = { 0 };
	char *recipe = file_path(e, "%s/recipe.ini", folder), *cure = NULL;
	const char *slash = strstr(folder, "/corpora/"); /* in its own workspace */

	if (recipe) {
		buf_add_str(&text, "The same bytes can be prepared again: werkbank prep ");
		text_quote_shell(&text, recipe);
		if (slash) {
			char *workspace = file_path(e, "%.*s", (int)(slash - folder), folder);

			buf_add_str(&text, " -C ");
			if (workspace)
				text_quote_shell(&text, workspace);
			free(workspace);
		}
		buf_add_str(&text, " --force");
		cure = buf_check(&text, e) ? NULL : mem_strdup(buf_text(&text), e);
	}
	buf_free(&text);
	free(recipe);
	return cure;
}

static int verify_corpus(struct verified_folder *v, struct err *e)
{
	struct err why = { 0 };
	struct buf text = { 0 };
	struct json *root = NULL;
	char *path = file_path(e, "%s/manifest.json", v->folder),
	     *cure = path ? prep_again(v->folder, e) : NULL;
	int rc = cure ? 0 : e->code;

	v->files++;
	if (!rc && !file_read_all(path, MANIFEST_MAX, &text, &why))
		root = json_parse(buf_text(&text), text.len, &why);
	if (!rc && !root)
		rc = verify_add_fault(v, cure, e, "%s", why.text);
	if (root && format_check_version(root, &text_corpus_format, path, &why))
		rc = verify_add_fault(v,
				      "Prepare it again with this program, or use the newer one.",
				      e, "%s", why.text);
	for (size_t i = 0; !rc && i < json_len(json_get(root, "files")); i++)
		rc = check_manifest_entry(v, json_at(json_get(root, "files"), i), cure, e);
	if (!rc && root && !json_len(json_get(root, "files")))
		rc = verify_add_fault(v, cure, e, "manifest.json lists no files");
	json_free(root);
	buf_free(&text);
	free(path);
	free(cure);
	return rc;
}

/* ---- runs ---- */

static int check_journal(struct verified_folder *v, const char *name, struct err *e)
{
	char *path = file_path(e, "%s/%s", v->folder, name);
	struct journal_reader *r = path && file_exists(path) ? journal_reader_open(path, e) : NULL;
	const struct json *record;
	struct err why = { 0 };
	int rc = path && (r || !file_exists(path)) ? 0 : e->code, got = 0;

	v->files += r != NULL;
	while (r && (got = journal_next(r, &record, &why)) > 0)
		;
	if (got < 0)
		rc = verify_add_fault(v, "Records cannot be rebuilt.", e, "%s", why.text);
	else if (r && journal_bad_lines(r) > 0)
		rc = verify_add_fault(v, "Records cannot be rebuilt; all readers skip such lines.",
				      e, "%s has %lld damaged lines", path,
				      (long long)journal_bad_lines(r));
	journal_reader_free(r);
	free(path);
	return rc;
}

static int check_state_file(struct verified_folder *v, struct err *e)
{
	char *path = file_path(e, "%s/state.json", v->folder);
	struct buf text = { 0 };
	struct json *root = NULL;
	struct err why = { 0 };
	int rc = path ? 0 : e->code;

	if (!rc && file_exists(path)) {
		v->files++;
		if (!file_read_all(path, STATE_MAX, &text, &why))
			root = json_parse(buf_text(&text), text.len, &why);
		if (!root) {
			err_prefix(&why, "%s", path);
			rc = verify_add_fault(v, "The next training writes it again.", e, "%s",
					      why.text);
		}
	}
	json_free(root);
	buf_free(&text);
	free(path);
	return rc;
}

static int check_evaluations(struct verified_folder *v, struct err *e)
{
	struct evaluations list = { 0 };
	struct err why = { 0 };
	int rc = 0;

	v->files++;
	if (evaluations_read(v->folder, &list, &why))
		rc = verify_add_fault(v, "Remove the file: the next evaluation begins a new list.",
				      e, "%s", why.text);
	evaluations_free(&list);
	return rc;
}

static int check_link(struct verified_folder *v, const char *name, struct err *e)
{
	int64_t step;
	char *path;
	int rc = ckpt_link_step(v->folder, name, &step, e);

	if (rc)
		return rc;
	path = file_path(e, "%s/checkpoints/%lld", v->folder, (long long)step);
	rc = path ? 0 : e->code;
	if (!rc && step >= 0 && !file_is_folder(path))
		rc = verify_add_fault(v, "The next saved checkpoint or evaluation sets it again.",
				      e, "%s/checkpoints/%s leads to step %lld, which is missing",
				      v->folder, name, (long long)step);
	free(path);
	return rc;
}

static int check_checkpoints(struct verified_folder *v, struct err *e)
{
	int64_t *steps = NULL;
	size_t n = 0;
	int rc = ckpt_list(v->folder, &steps, &n, e);

	for (size_t i = 0; !rc && i < n; i++) {
		char *folder = file_path(e, "%s/checkpoints/%lld", v->folder, (long long)steps[i]);

		rc = !folder ? e->code
			     : check_model_folder(v, folder,
						  i ? "An older checkpoint cannot be rebuilt: "
						      "remove its folder."
						    : "Train the run again: training sets this "
						      "checkpoint aside "
						      "and repeats the steps since the one before.",
						  e);
		free(folder);
	}
	free(steps);
	return rc;
}

static int verify_run_folder(struct verified_folder *v, struct err *e)
{
	int rc = check_state_file(v, e);

	if (!rc)
		rc = check_journal(v, "journal.jsonl", e);
	if (!rc)
		rc = check_journal(v, "samples.jsonl", e);
	if (!rc)
		rc = check_evaluations(v, e);
	if (!rc)
		rc = check_checkpoints(v, e);
	if (!rc)
		rc = check_link(v, "best", e);
	return rc ? rc : check_link(v, "last", e);
}

/* ---- the command ---- */

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
	json_put_open(&w, "faults", '[');
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
		rc = err_set(e, ERR_NOINPUT,
			     "%s is not a run or a corpus of the workspace, and not a folder of a "
			     "model, "
			     "a run or a corpus",
			     name);
	if (!rc)
		rc = run_check_versions(folder, e);
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
