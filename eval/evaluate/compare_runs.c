/* compare_runs.c - opens each system and writes its translations; see compare_runs.h */
#include "eval/evaluate/compare_runs.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "eval/evaluate/heldout.h"
#include "eval/translate/engine.h"
#include "share/base/file.h"
#include "share/base/mem.h"
#include "share/base/text.h"
#include "share/workspace/paths.h"
#include "train/ckpt/ckpt.h"

/* For this user alone. Of a sandboxed command, its parent process has made it. */
static int make_folder(struct compare_runs *f, struct err *e)
{
	char *path = paths_temporary(CONF_COMPARE_FOLDER, e);
	int rc;

	umask(077);
	rc = path ? outfolder_open(&f->folder, path, NULL, e) : e->code;
	free(path);
	return rc;
}

/* Copies the options of the command line and the environment, without those of recipes. */
static int copy_options(struct conf *to, const struct conf *from, struct err *e)
{
	const char *name, *section;
	struct buf value = { 0 };
	int rc = 0;

	for (size_t i = 0; !rc && (name = conf_option_at(i, &section)); i++) {
		const char *origin = conf_origin(from, name);

		if (strcmp(origin, "command line") && !text_starts_with(origin, "WERKBANK_"))
			continue;
		if (!strcmp(name, "run") || !strcmp(name, "model") || !strcmp(name, "reference"))
			continue;
		buf_clear(&value);
		conf_value(from, name, &value);
		rc = buf_check(&value, e);
		if (!rc)
			rc = conf_set(to, name, buf_text(&value), origin, e);
	}
	buf_free(&value);
	return rc;
}

/* Sets run, checkpoint or model from NAME, NAME:CHECKPOINT, :CHECKPOINT or a folder. */
static int set_system_options(struct conf *k, const struct conf *c, const char *word, struct err *e)
{
	const char *colon = strchr(word, ':');
	char *run;
	int rc;

	if (strchr(word, '/'))
		return conf_set(k, "model", word, "command line", e);
	run = colon == word ? mem_strdup(c->run, e)
			    : file_path(e, "%.*s", (int)(colon ? colon - word : (long)strlen(word)),
					word);
	rc = run ? conf_set(k, "run", run, "command line", e) : e->code;
	if (!rc && colon)
		rc = conf_set(k, "checkpoint", colon + 1, "command line", e);
	free(run);
	return rc;
}

static void join_lines(struct buf *out, char *const *lines, int64_t n)
{
	for (int64_t i = 0; i < n; i++) {
		buf_add_str(out, lines[i]);
		buf_add_char(out, '\n');
	}
}

static int write_lines(const char *path, char *const *lines, int64_t n, struct err *e)
{
	struct buf text = { 0 };
	int rc;

	join_lines(&text, lines, n);
	rc = file_write_buf(path, &text, e);
	buf_free(&text);
	return rc;
}

/* Writes the references of the first system; compares those of the others with them. */
static int use_references(struct compare_runs *f, const struct heldout *h, const char *name,
			  struct err *e)
{
	struct buf first = { 0 }, own = { 0 };
	int rc;

	if (!f->reference) {
		f->reference = file_path(e, "%s/reference", f->folder.temporary);
		return f->reference ? write_lines(f->reference, h->references, h->n, e) : e->code;
	}
	join_lines(&own, h->references, h->n);
	rc = buf_check(&own, e) ? e->code : file_read_all(f->reference, 0, &first, e);
	if (!rc && strcmp(buf_text(&own), buf_text(&first)) != 0)
		rc = err_set(e, ERR_DATA,
			     "%s and %s have different references in the set %s: their scores "
			     "cannot be compared",
			     f->names[0], name, h->set);
	buf_free(&own);
	buf_free(&first);
	return rc;
}

/* The options of one system. conf_free(k) in any case. */
static int system_options(struct conf *k, const struct conf *c, const char *word, struct err *e)
{
	int rc = conf_init(k, e);

	if (!rc)
		rc = copy_options(k, c, e);
	return rc ? rc : set_system_options(k, c, word, e);
}

/* Does the system that an argument names exist? All are asked before the first one translates. */
static int check_system(const struct conf *c, const char *word, struct err *e)
{
	struct conf k = { 0 };
	char *folder = system_options(&k, c, word, e) ? NULL : ckpt_resolve(&k, e);
	int rc = folder ? 0 : e->code;

	free(folder);
	conf_free(&k);
	return rc;
}

/* Translates the set with the system that an argument names. */
static int add_system(struct compare_runs *f, const struct conf *c, const char *word, struct err *e)
{
	struct conf k = { 0 };
	struct engine g = { .conf = NULL };
	struct heldout h = { .n = 0 };
	bool is_open = false;
	int rc = system_options(&k, c, word, e);

	f->names[f->n] = *word == ':' ? file_path(e, "%s%s", c->run, word) : mem_strdup(word, e);
	f->paths[f->n] = file_path(e, "%s/system%zu", f->folder.temporary, f->n);
	f->n++;
	if (!f->names[f->n - 1] || !f->paths[f->n - 1])
		rc = e->code;
	if (!rc) {
		is_open = true;
		rc = engine_open(&g, &k, ENGINE_TRANSLATE, e);
	}
	f->precision = engine_precision(&k);
	if (!rc && f->n == 1)
		f->tokenizer = score_tokenizer_of(&k);
	if (!rc)
		rc = heldout_open(&h, &g, k.set, 0, e);
	if (!rc)
		rc = use_references(f, &h, f->names[f->n - 1], e);
	if (!rc && !c->quiet)
		fprintf(stderr, "%s translates the set %s\n", f->names[f->n - 1], h.set);
	if (!rc)
		rc = heldout_translate(&h, (struct heldout_slice){ 0, 1 },
				       isatty(STDERR_FILENO) && !c->quiet, e);
	if (!rc)
		rc = write_lines(f->paths[f->n - 1], h.hypotheses, h.n, e);
	heldout_close(&h);
	if (is_open)
		engine_close(&g);
	conf_free(&k);
	return rc;
}

int compare_runs_translate(struct compare_runs *f, const struct conf *c, struct err *e)
{
	const size_t n = (size_t)c->n_arguments + 1;
	int rc;

	*f = (struct compare_runs){ .n = 0 };
	f->paths = mem_alloc(n, sizeof(*f->paths), e);
	f->names = mem_alloc(n, sizeof(*f->names), e);
	rc = f->paths && f->names ? make_folder(f, e) : e->code;
	for (size_t i = 0; !rc && i < n; i++)
		rc = check_system(c, i ? c->arguments[i - 1] : c->run, e);
	if (!rc)
		rc = add_system(f, c, c->run, e);
	for (size_t i = 0; !rc && i + 1 < n; i++)
		rc = add_system(f, c, c->arguments[i], e);
	return rc;
}

void compare_runs_close(struct compare_runs *f)
{
	for (size_t i = 0; i < f->n; i++) {
		free(f->paths[i]);
		free(f->names[i]);
	}
	free(f->paths);
	free(f->names);
	free(f->reference);
	outfolder_abandon(&f->folder);
	*f = (struct compare_runs){ .n = 0 };
}
