/* fetch_command.c - the command "werkbank fetch" (see fetch_command.h) */
#include "data/fetch_command.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "data/source/manifest.h"
#include "data/source/obtain.h"
#include "data/source/progress.h"
#include "share/base/file.h"
#include "share/base/mem.h"
#include "share/format/json.h"
#include "share/workspace/paths.h"

static void add_lines(struct buf *out, const struct manifest *m,
		      const struct obtained_archive *list)
{
	size_t i;

	for (i = 0; i < m->n; i++)
		if (list[i].url)
			buf_printf(out, "%s\t%lld\t%s\t%s\n", m->archives[i].name,
				   (long long)list[i].bytes, list[i].sha256, list[i].path);
}

static void add_json(struct json_writer *w, const struct manifest *m,
		     const struct obtained_archive *list)
{
	size_t i;

	json_open(w, '{');
	json_put_str(w, "corpus", m->name);
	json_put_open(w, "archives", '[');
	for (i = 0; i < m->n; i++) {
		if (!list[i].url)
			continue;
		json_open(w, '{');
		json_put_str(w, "name", m->archives[i].name);
		json_put_str(w, "url", list[i].url);
		json_put_int(w, "bytes", list[i].bytes);
		json_put_str(w, "sha256", list[i].sha256);
		json_put_str(w, "path", list[i].path);
		json_close(w, '}');
	}
	json_close(w, ']');
	json_close(w, '}');
}

/* Append the archives as JSON to w, or as lines to out if w is NULL; also after a failure. */
static int fetch_one(const struct manifest *m, const struct conf *c, struct json_writer *w,
		     struct buf *out, struct err *e)
{
	struct obtained_archive *list = mem_alloc(m->n, sizeof(*list), e);
	char *workspace, *path;
	struct progress p;
	struct err ignored;
	size_t i;
	int rc;

	if (!list)
		return e->code;
	progress_init(&p, c->quiet);
	workspace = paths_workspace(c->workspace, &ignored);
	path = workspace ? file_path(&ignored, "%s/archives/%s/progress.json", workspace, m->name)
			 : NULL;
	p.path = path;
	rc = obtain_all(m, c, c->force, &p, list, e);
	if (!rc && path)
		unlink(path);
	free(path);
	free(workspace);
	if (w)
		add_json(w, m, list);
	else
		add_lines(out, m, list);
	for (i = 0; i < m->n; i++)
		obtained_archive_free(&list[i]);
	free(list);
	return rc;
}

/* A failed manifest does not stop the others; the first failure is returned. */
static int fetch_manifests(const struct manifest *m, size_t n, const struct conf *c,
			   struct buf *out, struct err *e)
{
	struct json_writer w = { .out = out };
	struct err each;
	size_t i;
	int rc = 0;

	if (c->json)
		json_open(&w, '[');
	for (i = 0; i < n; i++) {
		each = (struct err){ 0 };
		if (!fetch_one(&m[i], c, c->json ? &w : NULL, out, &each))
			continue;
		if (rc && !c->quiet)
			fprintf(stderr, "note: %s\n", each.text);
		if (!rc)
			*e = each;
		rc = e->code;
	}
	if (c->json) {
		json_close(&w, ']');
		buf_add_char(out, '\n');
	}
	return rc;
}

int fetch_command_run(struct conf *c, struct err *e)
{
	size_t n = (size_t)c->n_arguments, i, read = 0;
	struct manifest *m;
	struct buf out = { 0 };
	int rc = 0;

	if (!n)
		return err_set(e, ERR_USAGE, "fetch needs a CORPUS, such as wmt16-en-de");
	if (c->url.n && n > 1)
		return err_set(e, ERR_USAGE, "--url works with one CORPUS only; %zu are given", n);
	m = mem_alloc(n, sizeof(*m), e);
	if (!m)
		return e->code;
	/* read all manifests first, so that a wrong name fails before any download */
	while (!rc && read < n) {
		rc = manifest_read(&m[read], c->arguments[read], e);
		read += !rc;
	}
	if (!rc)
		rc = fetch_manifests(m, n, c, &out, e);
	if (rc) /* what was fetched before the failure; the failure is the one to report */
		(void)!fwrite(buf_text(&out), 1, out.len, stdout);
	else
		rc = file_put_stdout(&out, e);
	for (i = 0; i < read; i++)
		manifest_free(&m[i]);
	free(m);
	buf_free(&out);
	return rc ? e->code : 0;
}
