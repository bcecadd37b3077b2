/* verify_checks.c - what is checked in a model, a corpus and a run; see verify.h */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "eval/verify/verify_internal.h"
#include "share/base/file.h"
#include "share/base/hash.h"
#include "share/base/mem.h"
#include "share/base/text.h"
#include "share/conf/text_facts.h"
#include "share/format/json.h"
#include "share/workspace/journal.h"
#include "train/ckpt/ckpt.h"
#include "train/record/evaluations.h"

#define MANIFEST_MAX (64u << 20)
#define STATE_MAX    (8u << 20)

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

void verified_folder_free(struct verified_folder *v)
{
	for (size_t i = 0; i < v->n; i++) {
		free(v->faults[i].text);
		free(v->faults[i].cure);
	}
	free(v->faults);
}

/* ---- models and checkpoints ---- */

/* Adds the faults of a model folder, all with the same cure. */
static int check_model_folder(struct verified_folder *v, const char *folder, const char *cure,
			      struct err *e)
{
	struct buf faults = { 0 };
	char *line, *rest = NULL;
	int rc;

	ckpt_list_faults(folder, &faults, &v->files);
	rc = buf_check(&faults, e);
	for (line = !rc && faults.len ? strtok_r(faults.data, "\n", &rest) : NULL; line && !rc;
	     line = strtok_r(NULL, "\n", &rest))
		rc = verify_add_fault(v, cure, e, "%s", line);
	buf_free(&faults);
	return rc;
}

int verify_model(struct verified_folder *v, struct err *e)
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

int verify_corpus(struct verified_folder *v, struct err *e)
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

int verify_run_folder(struct verified_folder *v, struct err *e)
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
