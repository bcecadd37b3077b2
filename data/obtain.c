/* obtain.c - see obtain.h */
#include "data/obtain.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "data/archive.h"
#include "data/fetch.h"
#include "share/base/file.h"
#include "share/base/json.h"
#include "share/base/mem.h"
#include "share/base/paths.h"

#define BLOCK_BYTES (1u << 20)

struct sums {
	int64_t bytes;
	char sha256[HASH_SHA256_HEX], md5[HASH_SHA256_HEX];
};

/* Both sums of an open file in one reading. */
static int add_blocks(FILE *f, const char *path, struct hash *sha, struct hash *md5, struct sums *s,
		      struct err *e)
{
	unsigned char *block = mem_alloc(BLOCK_BYTES, 1, e);
	size_t n;
	int rc = block ? 0 : e->code;

	while (!rc && (n = fread(block, 1, BLOCK_BYTES, f)) > 0) {
		s->bytes += (int64_t)n;
		if (hash_add(sha, block, n, e) || hash_add(md5, block, n, e))
			rc = e->code;
	}
	if (!rc && ferror(f))
		rc = err_set_errno(e, ERR_IO, "%s: cannot be read", path);
	free(block);
	return rc;
}

static int sum_file(const char *path, struct sums *s, struct err *e)
{
	struct hash *sha = hash_new(HASH_SHA256, e), *md5 = sha ? hash_new(HASH_MD5, e) : NULL;
	FILE *f = md5 ? fopen(path, "rbe") : NULL;
	int rc = -1;

	*s = (struct sums){ 0 };
	if (md5 && !f)
		err_set_errno(e, ERR_NOINPUT, "%s: cannot be read", path);
	if (f && !add_blocks(f, path, sha, md5, s, e) && !hash_hex(sha, s->sha256, e) &&
	    !hash_hex(md5, s->md5, e))
		rc = 0;
	if (f)
		fclose(f);
	hash_free(sha);
	hash_free(md5);
	return rc ? e->code : 0;
}

/* Is it what the manifest says? */
static int check_published(const struct manifest_archive *a, const char *path, const struct sums *s,
			   struct err *e)
{
	if (a->sums.bytes >= 0 && s->bytes != a->sums.bytes)
		return err_set(e, ERR_DATA, "%s: has %lld bytes, %s should have %lld", path,
			       (long long)s->bytes, a->name, (long long)a->sums.bytes);
	if (a->sums.sha256[0] && strcmp(a->sums.sha256, s->sha256))
		return err_set(e, ERR_DATA,
			       "%s: is damaged or another file: SHA-256 is %s, should be %s", path,
			       s->sha256, a->sums.sha256);
	if (a->sums.md5[0] && strcmp(a->sums.md5, s->md5))
		return err_set(e, ERR_DATA,
			       "%s: is damaged or another file: MD5 is %s, should be %s", path,
			       s->md5, a->sums.md5);
	return 0;
}

/* URL of --url NAME=URL, NULL: none. */
static const char *own_url(const struct conf *c, const char *name)
{
	size_t n = strlen(name), i;

	for (i = c->url.n; i-- > 0; )
		if (!strncmp(c->url.items[i], name, n) && c->url.items[i][n] == '=')
			return c->url.items[i] + n + 1;
	return NULL;
}

/* ---- receipts ---- */

static int write_receipt(const char *path, const char *url, const struct sums *s, struct err *e)
{
	struct buf b = { 0 };
	struct json_writer w = { .out = &b };
	int rc;

	json_open(&w, '{');
	json_key(&w, "v");
	json_int(&w, 1);
	json_key(&w, "url");
	json_str(&w, url);
	json_key(&w, "bytes");
	json_int(&w, s->bytes);
	json_key(&w, "sha256");
	json_str(&w, s->sha256);
	json_close(&w, '}');
	buf_add_char(&b, '\n');
	rc = buf_check(&b, e) ? e->code : file_write_all(path, b.data, b.len, e);
	buf_free(&b);
	return rc;
}

/* Is the archive here, unchanged since its receipt, and from where it is asked for now? */
static bool is_here(const char *path, const char *receipt, const char *wanted_url,
		    struct obtained *o)
{
	struct err ignored = { 0 };
	struct buf text = { 0 };
	struct json *root = NULL;
	struct sums s;
	bool here = false;

	if (file_size(path) < 0 || file_read_all(receipt, 1 << 16, &text, &ignored))
		goto out;
	root = json_parse(buf_text(&text), text.len, &ignored);
	if (!root || json_integer(json_get(root, "bytes"), -1) != file_size(path) ||
	    sum_file(path, &s, &ignored))
		goto out;
	if (strcmp(json_text(json_get(root, "sha256"), ""), s.sha256))
		goto out;
	if (wanted_url && strcmp(json_text(json_get(root, "url"), ""), wanted_url))
		goto out;
	o->bytes = s.bytes;
	memcpy(o->sha256, s.sha256, sizeof(s.sha256));
	o->url = mem_strdup(json_text(json_get(root, "url"), ""), &ignored);
	here = o->url != NULL;
out:
	json_free(root);
	buf_free(&text);
	return here;
}

/* ---- fetching ---- */

struct job {
	const struct manifest_archive *archive;
	char *path, *part, *receipt;	/* owned */
	struct progress *progress;
	struct obtained *result;
};

/* From one address: fetch, look at it, compare with what is published, put in place. */
static int try_url(struct job *j, const char *url, bool own, struct err *e)
{
	struct err published = { 0 };
	struct sums s;

	progress_begin(j->progress, j->archive->name, j->archive->sums.bytes, "bytes");
	if (fetch_url(url, j->part, j->progress, e) || archive_check_kind(j->part, e) ||
	    sum_file(j->part, &s, e))
		return e->code;
	if (check_published(j->archive, url, &s, &published)) {
		if (!own) {
			*e = published;
			return e->code;
		}
		progress_note(j->progress, "note: %s; taken, because --url asked for it",
			      published.text);
	}
	if (rename(j->part, j->path))
		return err_set_errno(e, ERR_CANTCREAT, "%s: cannot be put in place", j->path);
	if (write_receipt(j->receipt, url, &s, e))
		return e->code;
	progress_end(j->progress, "%lld bytes from %s", (long long)s.bytes, url);
	j->result->bytes = s.bytes;
	memcpy(j->result->sha256, s.sha256, sizeof(s.sha256));
	j->result->url = mem_strdup(url, e);
	return j->result->url ? 0 : e->code;
}

static int try_urls(struct job *j, struct err *e)
{
	const struct manifest_archive *a = j->archive;
	size_t i;
	int rc = err_set(e, ERR_CONFIG,
			 "%s: the manifest gives no url for it: use --url %s=URL or --from DIR",
			 a->name, a->name);

	for (i = 0; i < a->n_urls; i++) {
		rc = try_url(j, a->urls[i].url, false, e);
		unlink(j->part);
		if (!rc || rc == ERR_IO || rc == ERR_CANTCREAT || rc == ERR_PERM || rc == ERR_NOMEM)
			break;		/* there, or it is not the address' fault */
		if (i + 1 < a->n_urls)
			progress_note(j->progress, "note: %s; trying the next address", e->text);
	}
	return rc;
}

/* The archive in a folder: by its name, else by the file name of one of its addresses. */
static char *find_in(const struct manifest_archive *a, const char *dir, struct err *e)
{
	char *path = file_path(e, "%s/%s", dir, a->name), *other;
	const char *slash;
	size_t i;

	for (i = 0; path && !file_exists(path) && i < a->n_urls; i++) {
		slash = strrchr(a->urls[i].url, '/');
		other = slash && slash[1] ? file_path(e, "%s/%s", dir, slash + 1) : NULL;
		if (other && file_exists(other)) {
			free(path);
			return other;
		}
		free(other);
	}
	return path;
}

/* The user's copy is used where it lies. */
static int take_from(struct job *j, const char *dir, struct err *e)
{
	struct err published = { 0 };
	struct sums s;
	char *path = find_in(j->archive, dir, e);

	if (!path)
		return e->code;
	if (!file_exists(path)) {
		err_set(e, ERR_NOINPUT, "%s: there is no such archive (--from %s)", path, dir);
		goto fail;
	}
	if (archive_check_kind(path, e) || sum_file(path, &s, e))
		goto fail;
	if (check_published(j->archive, path, &s, &published))
		progress_note(j->progress, "note: %s; taken, because --from names it",
			      published.text);
	j->result->url = mem_strdup(path, e);
	if (!j->result->url)
		goto fail;
	j->result->bytes = s.bytes;
	memcpy(j->result->sha256, s.sha256, sizeof(s.sha256));
	free(j->result->path);
	j->result->path = path;
	return 0;
fail:
	free(path);
	return e->code;
}

static int obtain_archive(const struct manifest_archive *a, const struct conf *c,
			  const char *folder, struct progress *p, struct obtained *o,
			  struct err *e)
{
	struct job j = { .archive = a, .progress = p, .result = o };
	const char *own = own_url(c, a->name);
	int rc = -1;

	*o = (struct obtained){ 0 };
	j.path = file_path(e, "%s/%s", folder, a->name);
	j.part = j.path ? file_path(e, "%s.part", j.path) : NULL;
	j.receipt = j.part ? file_path(e, "%s.json", j.path) : NULL;
	o->path = j.receipt ? mem_strdup(j.path, e) : NULL;
	if (!o->path)
		goto out;
	if (c->from) {
		rc = take_from(&j, c->from, e);
	} else if (is_here(j.path, j.receipt, own, o)) {
		rc = 0;
	} else if (own) {
		rc = try_url(&j, own, true, e);
		unlink(j.part);
	} else {
		rc = try_urls(&j, e);
	}
out:
	free(j.path);
	free(j.part);
	free(j.receipt);
	if (rc)
		obtained_free(o);
	return rc ? e->code : 0;
}

/* --url NAME=URL must mean an archive that there is. */
static int check_urls(const struct manifest *m, const struct conf *c, struct err *e)
{
	size_t i, k, n;

	for (i = 0; i < c->url.n; i++) {
		n = strcspn(c->url.items[i], "=");
		if (!c->url.items[i][n])
			return err_set(e, ERR_USAGE, "--url %s: expected NAME=URL",
				       c->url.items[i]);
		for (k = 0; k < m->n; k++)
			if (strlen(m->archives[k].name) == n &&
			    !strncmp(m->archives[k].name, c->url.items[i], n))
				break;
		if (k == m->n)
			return err_set(e, ERR_USAGE,
				       "--url %s: the manifest has no archive called %.*s; its "
				       "first is %s",
				       c->url.items[i], (int)n, c->url.items[i],
				       m->archives[0].name);
	}
	return 0;
}

int obtain_all(const struct manifest *m, const struct conf *c, bool again, struct progress *p,
	       struct obtained *list, struct err *e)
{
	char *workspace = paths_workspace(c->workspace, e), *folder = NULL;
	size_t i;
	int rc = -1;

	for (i = 0; i < m->n; i++)
		list[i] = (struct obtained){ 0 };
	(void)again;
	if (workspace && !check_urls(m, c, e))
		folder = file_path(e, "%s/archives/%s", workspace, m->name);
	if (folder)
		rc = file_make_folders(folder, e);
	for (i = 0; !rc && i < m->n; i++)
		rc = obtain_archive(&m->archives[i], c, folder, p, &list[i], e);
	free(folder);
	free(workspace);
	return rc ? e->code : 0;
}

void obtained_free(struct obtained *o)
{
	free(o->path);
	free(o->url);
	*o = (struct obtained){ 0 };
}
