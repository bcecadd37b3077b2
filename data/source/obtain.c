/*
 * obtain.c - the archives of a manifest, downloaded and verified (see obtain.h)
 *
 *	receipt		archive			result
 *	none		there			adopt_archive(): hash it, write a receipt
 *	there		inode, mtime, size match	use it without hashing
 *	there		touched			rehash_archive(): use it if the hash is the same
 *	any		missing or different	download_missing()
 *
 * A download is verified (verify_download()), its receipt is written, then the part
 * is renamed.
 */
#include "data/source/obtain.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "data/source/archive.h"
#include "data/source/fetch.h"
#include "data/source/receipt.h"
#include "data/source/unpacker.h"
#include "share/base/file.h"
#include "share/base/mem.h"
#include "share/base/text.h"
#include "share/base/util.h"
#include "share/workspace/lock_file.h"
#include "share/workspace/paths.h"

#define MOST_UNANNOUNCED 64000000000 /* bytes of an archive whose size nobody tells */

/* One archive of the manifest, and how it is obtained. */
struct wanted_archive {
	const struct manifest_archive *archive;
	const struct conf *conf;
	struct progress *progress;
	char *path, *part;		 /* owned: NAME, NAME.part */
	char *receipt_path;		 /* owned: NAME.json */
	const char *own_request;	 /* borrowed: URL of --url NAME=URL; NULL: none */
	char *own_url;			 /* owned: fetch_public_url() of it */
	struct fetch_address *addresses; /* owned */
	size_t n_addresses;
	struct receipt receipt; /* of the last archive that was installed; url NULL: none */
	bool is_here;		/* verified, at path */
	bool is_reported;	/* notes about the local file were printed already */
	struct obtained_archive *result;
};

/* ---- published sizes and hashes ---- */

static bool has_hash(const struct manifest_sums *s)
{
	return s->sha256[0] || s->md5[0];
}

/* ERR_DATA if s differs from the published sums. what: name of the file for the message. */
static int compare_sums(const struct manifest_sums *published, const char *what,
			const struct file_sums *s, struct err *e)
{
	if (published->bytes >= 0 && s->bytes != published->bytes)
		return err_set(e, ERR_DATA, "%s: has %lld bytes, should have %lld", what,
			       (long long)s->bytes, (long long)published->bytes);
	if (published->sha256[0] && strcmp(published->sha256, s->sha256))
		return err_set(e, ERR_DATA,
			       "%s: is damaged or another file: SHA-256 is %s, should be %s", what,
			       s->sha256, published->sha256);
	if (published->md5[0] && strcmp(published->md5, s->md5))
		return err_set(e, ERR_DATA,
			       "%s: is damaged or another file: MD5 is %s, should be %s", what,
			       s->md5, published->md5);
	return 0;
}

/* ERR_DATA if s is neither the published archive nor the variant of one of its mirrors. */
static int compare_published(const struct manifest_archive *a, const char *what,
			     const struct file_sums *s, struct err *e)
{
	struct err ignored = { 0 };
	size_t i;

	for (i = 0; i < a->n_urls; i++)
		if (!compare_sums(&a->urls[i].sums, what, s, &ignored))
			return 0;
	return compare_sums(&a->sums, what, s, e);
}

static bool has_any_hash(const struct manifest_archive *a)
{
	bool any = has_hash(&a->sums);
	size_t i;

	for (i = 0; i < a->n_urls; i++)
		any = any || has_hash(&a->urls[i].sums);
	return any;
}

static bool wants_md5(const struct manifest_archive *a)
{
	bool any = a->sums.md5[0];
	size_t i;

	for (i = 0; i < a->n_urls; i++)
		any = any || a->urls[i].sums.md5[0];
	return any;
}

/* Without a published hash: read the archive to its end to see that it is complete. */
static int read_through(const struct manifest_archive *a, const char *path, struct err *e)
{
	const char **names = mem_alloc(a->n_members, sizeof(*names), e);
	struct unpacker *u;
	size_t i, n = 0;
	int rc = -1;

	for (i = 0; names && i < a->n_members; i++)
		if (!manifest_set_is_extra(a->members[i].set))
			names[n++] = a->members[i].path;
	u = names ? unpacker_open(path, names, NULL, n, false, e) : NULL;
	while (u && (rc = unpacker_next(u, &i, e)) > 0)
		;
	unpacker_close(u);
	free(names);
	return rc ? e->code : 0;
}

/* ---- local archives ---- */

/* Archives may be checked twice (before and after the lock); print each note once. */
static void PRINTF_LIKE(2, 3) report_once(const struct wanted_archive *w, const char *fmt, ...)
{
	char text[1000];
	va_list ap;

	if (w->is_reported)
		return;
	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	progress_print_line(w->progress, "note: %s", text);
}

static int set_obtained(struct wanted_archive *w, const char *url, const struct file_sums *s,
			struct err *e)
{
	struct obtained_archive *o = w->result;

	o->path = mem_strdup(w->path, e);
	o->url = o->path ? mem_strdup(url, e) : NULL;
	o->bytes = s->bytes;
	memcpy(o->sha256, s->sha256, sizeof(o->sha256));
	return o->url ? 0 : e->code;
}

/* Nothing is written with --dry-run. */
static int save_receipt(const struct wanted_archive *w, const struct receipt *r, struct err *e)
{
	return w->conf->dry_run ? 0 : receipt_write(r, w->receipt_path, e);
}

/* An archive without a receipt: use it if its published hash is right, or pin its hash. */
static int adopt_archive(struct wanted_archive *w, const struct stat *st, struct err *e)
{
	struct err other = { 0 };
	struct receipt r = { .trust = has_any_hash(w->archive) ? TRUST_PUBLISHED : TRUST_PINNED };
	int rc = 0;

	progress_begin(w->progress, w->archive->name, st->st_size, "bytes");
	if (archive_check_kind(w->path, &other) || file_sums(w->path, &r.sums, &other) ||
	    compare_published(w->archive, w->path, &r.sums, &other) ||
	    (r.trust == TRUST_PINNED && read_through(w->archive, w->path, &other))) {
		report_once(w, "%s; fetching it again", other.text);
		return 0;
	}
	report_once(w, "%s: was here without a receipt; %s", w->path,
		    r.trust == TRUST_PINNED ? "its SHA-256 is recorded"
					    : "it equals the published archive");
	r.url = mem_strdup(w->path, e);
	receipt_set_file(&r, st);
	rc = r.url ? save_receipt(w, &r, e) : e->code;
	receipt_free(&w->receipt);
	w->receipt = r;
	w->is_here = !rc;
	return rc;
}

/* Inode, mtime or size differ from the receipt: use the archive if its hash is the same. */
static int rehash_archive(struct wanted_archive *w, const struct stat *st, struct err *e)
{
	struct file_sums s;

	if (file_sums(w->path, &s, e))
		return e->code;
	w->is_here = !strcmp(s.sha256, w->receipt.sums.sha256);
	if (!w->is_here) {
		report_once(w, "%s: was changed since it was fetched; fetching it again", w->path);
		return 0;
	}
	w->receipt.sums = s;
	receipt_set_file(&w->receipt, st);
	return save_receipt(w, &w->receipt, e);
}

/* The archive matches its receipt. Reject it if the manifest or --url now wants another one. */
static void check_wanted_source(struct wanted_archive *w)
{
	struct err other = { 0 };

	if (w->own_url) {
		w->is_here = !strcmp(w->own_url, w->receipt.url);
	} else if (w->receipt.trust == TRUST_OWN) {
		report_once(
			w,
			"%s: is from your own address %s; remove it to fetch the archive of the "
			"manifest",
			w->path, w->receipt.url);
	} else if (compare_published(w->archive, w->path, &w->receipt.sums, &other)) {
		w->is_here = false;
		report_once(w, "%s; fetching it again", other.text);
	}
}

static int check_local_archive(struct wanted_archive *w, struct err *e)
{
	struct stat st;
	int rc;

	receipt_free(&w->receipt);
	if (receipt_read(&w->receipt, w->receipt_path, e))
		return e->code;
	if (stat(w->path, &st) || !S_ISREG(st.st_mode))
		return 0;
	if (!w->receipt.url) {
		rc = w->own_url ? 0 : adopt_archive(w, &st, e);
	} else if (receipt_matches_file(&w->receipt, &st) &&
		   (w->receipt.sums.md5[0] || !wants_md5(w->archive))) {
		w->is_here = true;
		rc = 0;
	} else {
		rc = rehash_archive(w, &st, e);
	}
	if (!rc && w->is_here)
		check_wanted_source(w);
	return !rc && w->is_here ? set_obtained(w, w->receipt.url, &w->receipt.sums, e) : rc;
}

/* ---- --from ---- */

/* Path of the archive in dir: by its name, else by the file name of one of its URLs. Owned. */
static char *find_archive_in(const struct manifest_archive *a, const char *dir, struct err *e)
{
	char *path = file_path(e, "%s/%s", dir, a->name), *other;
	const char *slash;
	size_t i;

	for (i = 0; path && file_size(path) < 0 && i < a->n_urls; i++) {
		slash = strrchr(a->urls[i].url, '/');
		other = slash && slash[1] ? file_path(e, "%s/%s", dir, slash + 1) : NULL;
		if (other && file_size(other) >= 0) {
			free(path);
			return other;
		}
		free(other);
	}
	return path;
}

/* Use the user's copy in place; a difference from the published archive is only a note. */
static int use_from_folder(struct wanted_archive *w, struct err *e)
{
	struct err other = { 0 };
	struct file_sums s;

	if (archive_check_kind(w->path, e) || file_sums(w->path, &s, e))
		return e->code;
	if (compare_published(w->archive, w->path, &s, &other))
		progress_print_line(w->progress, "note: %s; used all the same, because of --from",
				    other.text);
	return set_obtained(w, w->path, &s, e);
}

/* Reports all missing archives before it reads any. */
static int use_all_from_folder(struct wanted_archive *list, size_t n, const char *dir,
			       struct err *e)
{
	struct buf missing = { 0 };
	size_t i;
	int rc = 0;

	for (i = 0; i < n && !rc; i++) {
		char *path = find_archive_in(list[i].archive, dir, e);

		if (!path)
			rc = e->code;
		else if (file_size(path) < 0)
			buf_printf(&missing, "%s%s", missing.len ? ", " : "",
				   list[i].archive->name);
		free(list[i].path);
		list[i].path = path;
	}
	if (!rc && missing.len)
		rc = err_set(e, ERR_NOINPUT,
			     "%.300s: no such archive in %s (--from): put it there under that "
			     "name, or omit --from to download it",
			     buf_text(&missing), dir);
	buf_free(&missing);
	for (i = 0; i < n && !rc; i++)
		rc = use_from_folder(&list[i], e);
	return rc;
}

/* ---- downloads ---- */

/* ERR_DATA if the download differs from the pinned hash of the first download (unless --force). */
static int check_pin(const struct wanted_archive *w, const char *url, const struct file_sums *s,
		     struct err *e)
{
	if (w->receipt.trust != TRUST_PINNED || !w->receipt.url || w->conf->force ||
	    !strcmp(w->receipt.sums.sha256, s->sha256))
		return 0;
	return err_set(e, ERR_DATA,
		       "%s: the archive differs from the first download of %s: SHA-256 is %s, was "
		       "%s; to accept the new archive, give --force",
		       url, w->archive->name, s->sha256, w->receipt.sums.sha256);
}

/* Replace the path of the part at the start of an error text by the URL, which the user knows. */
static int error_with_address(const char *url, const char *part, struct err *e)
{
	char text[sizeof(e->text)];
	size_t n = strlen(part);

	if (strncmp(e->text, part, n))
		return e->code;
	memcpy(text, e->text, sizeof(text));
	return err_set(e, e->code, "%s%s", url, text + n);
}

static int verify_download(struct wanted_archive *w, size_t address, const struct file_sums *s,
			   enum receipt_trust *trust, struct buf *remark, struct err *e)
{
	static const struct manifest_sums nothing = { .bytes = -1 };
	const char *url = w->addresses[address].url;
	const struct manifest_sums *published = w->own_url ? &w->archive->sums
						: w->archive->n_urls
							? &w->archive->urls[address].sums
							: &nothing;
	struct err differs = { 0 };
	bool equal = !compare_sums(published, url, s, &differs);

	assert(address < w->n_addresses);
	*trust = w->own_url ? TRUST_OWN : has_hash(published) ? TRUST_PUBLISHED : TRUST_PINNED;
	if (archive_check_kind(w->part, e))
		return error_with_address(url, w->part, e);
	if (!equal && !w->own_url) {
		*e = differs;
		return e->code;
	}
	if (*trust == TRUST_PINNED && check_pin(w, url, s, e))
		return e->code;
	if ((!equal || !has_hash(published)) && read_through(w->archive, w->part, e))
		return error_with_address(url, w->part, e);
	if (!equal)
		buf_printf(remark, "note: %s; used all the same, because of --url", differs.text);
	else if (*trust == TRUST_PINNED)
		buf_printf(remark,
			   "note: %s: no hash of this archive is published%s; its SHA-256 %s is "
			   "recorded, and later downloads must have the same",
			   w->archive->name,
			   text_starts_with(w->addresses[address].request, "http:")
				   ? ", and the address is not encrypted"
				   : "",
			   s->sha256);
	return 0;
}

/* Receipt before rename: a crash in between leaves a pinned hash, never an unverified archive. */
static int install_archive(struct wanted_archive *w, const char *url, enum receipt_trust trust,
			   const struct file_sums *s, const struct stat *written, struct err *e)
{
	struct receipt r = { .trust = trust, .sums = *s };
	int rc;

	r.url = mem_strdup(url, e);
	if (!r.url)
		return e->code;
	receipt_set_file(&r, written);
	rc = receipt_write(&r, w->receipt_path, e);
	if (!rc) /* needs memory, and after the rename nothing may fail */
		rc = set_obtained(w, url, s, e);
	if (!rc)
		rc = file_rename_written(w->part, w->path, written, e);
	if (rc)
		obtained_archive_free(w->result);
	receipt_free(&r);
	return rc ? e->code : 0;
}

static int install_download(void *closure, size_t address, const struct fetch_sums *s,
			    struct buf *remark, struct err *e)
{
	struct wanted_archive *w = closure;
	struct file_sums sums = { .bytes = s->bytes };
	enum receipt_trust trust;

	memcpy(sums.sha256, s->sha256, sizeof(sums.sha256));
	memcpy(sums.md5, s->md5, sizeof(sums.md5));
	if (verify_download(w, address, &sums, &trust, remark, e))
		return e->code;
	return install_archive(w, w->addresses[address].url, trust, &sums, &s->file, e);
}

static int list_addresses(struct wanted_archive *w, struct err *e)
{
	const struct manifest_archive *a = w->archive;
	size_t i;

	w->n_addresses = w->own_url ? 1 : a->n_urls;
	if (!w->n_addresses)
		return err_set(e, ERR_CONFIG,
			       "%s: the manifest has no url for this archive: use --url %s=URL or "
			       "--from DIR",
			       a->name, a->name);
	w->addresses = mem_alloc(w->n_addresses, sizeof(*w->addresses), e);
	if (!w->addresses)
		return e->code;
	w->addresses[0] = (struct fetch_address){
		.url = w->own_url, .request = w->own_request, .content = "", .bytes = -1
	};
	for (i = 0; !w->own_url && i < a->n_urls; i++) {
		const struct manifest_sums *s = &a->urls[i].sums;

		w->addresses[i] =
			(struct fetch_address){ .url = a->urls[i].url,
						.request = a->urls[i].request,
						.bytes = s->bytes,
						.content = s->sha256[0] ? s->sha256 : s->md5 };
	}
	return 0;
}

static int download_missing(struct wanted_archive *list, size_t n, const struct conf *c,
			    struct progress *p, struct err *e)
{
	struct fetch_limits limits = { .transfers = (int)c->transfers,
				       .tries = (int)c->tries,
				       .wait_s = c->retry_wait,
				       .stall_s = (long)c->stall,
				       .most_bytes = MOST_UNANNOUNCED };
	struct fetch_job *jobs = mem_alloc(n, sizeof(*jobs), e);
	size_t i, missing = 0;
	int rc = jobs ? 0 : e->code;

	for (i = 0; !rc && i < n; i++) {
		struct wanted_archive *w = &list[i];

		if (w->is_here)
			continue;
		rc = list_addresses(w, e);
		jobs[missing++] = (struct fetch_job){ .name = w->archive->name,
						      .part = w->part,
						      .addresses = w->addresses,
						      .n_addresses = w->n_addresses,
						      .md5 = wants_md5(w->archive),
						      .on_complete = install_download,
						      .closure = w };
	}
	if (!rc)
		rc = fetch_all(jobs, missing, &limits, p, e);
	free(jobs);
	return rc;
}

/* ---- all archives ---- */

/* One process at a time downloads into a folder; others wait, then find the archives here. */
static int lock_archive_folder(const char *folder, struct progress *p, int *fd, struct err *e)
{
	char *path = file_path(e, "%s/lock", folder);
	int rc = 0, busy;

	if (!path)
		return e->code;
	rc = lock_file_open(fd, path, e);
	busy = !rc ? flock(*fd, LOCK_EX | LOCK_NB) : 0;
	if (busy && errno == EWOULDBLOCK) {
		progress_print_line(p, "note: %s: waiting for another fetch that is running here",
				    folder);
		while ((busy = flock(*fd, LOCK_EX)) && errno == EINTR)
			;
	}
	if (busy)
		rc = err_set_errno(e, ERR_IO, "%s: cannot be locked", path);
	if (!rc)
		file_remove_leftovers(folder);
	free(path);
	return rc;
}

/* The URL of the last --url NAME=URL with this name; NULL: none. */
static const char *find_own_url(const struct conf *c, const char *name)
{
	size_t n = strlen(name), i;

	for (i = c->url.n; i-- > 0;)
		if (!strncmp(c->url.items[i], name, n) && c->url.items[i][n] == '=')
			return c->url.items[i] + n + 1;
	return NULL;
}

/* Every NAME of --url NAME=URL must be an archive of the manifest. */
static int check_urls(const struct manifest *m, const struct conf *c, struct err *e)
{
	size_t i, k, n;

	for (i = 0; i < c->url.n; i++) {
		n = strcspn(c->url.items[i], "=");
		if (!c->url.items[i][n] || memchr(c->url.items[i], '/', n))
			return err_set(e, ERR_USAGE,
				       "--url: expected NAME=URL, NAME being an archive of the "
				       "manifest");
		for (k = 0; k < m->n; k++)
			if (strlen(m->archives[k].name) == n &&
			    !strncmp(m->archives[k].name, c->url.items[i], n))
				break;
		if (k == m->n)
			return err_set(
				e, ERR_USAGE,
				"--url %.*s=URL: the manifest has no archive called %.*s; its "
				"first is %s",
				(int)n, c->url.items[i], (int)n, c->url.items[i],
				m->archives[0].name);
	}
	return 0;
}

static int prepare_wanted(struct wanted_archive *list, const struct manifest *m, const char *folder,
			  struct obtained_archive *results, struct err *e)
{
	size_t i;

	for (i = 0; i < m->n; i++) {
		struct wanted_archive *w = &list[i];

		w->archive = &m->archives[i];
		w->result = &results[i];
		w->path = file_path(e, "%s/%s", folder, w->archive->name);
		w->part = w->path ? file_path(e, "%s.part", w->path) : NULL;
		w->receipt_path = w->part ? file_path(e, "%s.json", w->path) : NULL;
		if (!w->receipt_path)
			return e->code;
	}
	return 0;
}

/* Check all local archives. *missing: at least one must be downloaded. */
static int check_all_archives(struct wanted_archive *list, size_t n, bool *missing, struct err *e)
{
	size_t i;

	*missing = false;
	for (i = 0; i < n; i++) {
		if (!list[i].is_here && check_local_archive(&list[i], e))
			return e->code;
		list[i].is_reported = true;
		*missing = *missing || !list[i].is_here;
	}
	return 0;
}

/* Which archives to download: the missing ones, all, none. */
enum obtain_mode { OBTAIN_DOWNLOAD, OBTAIN_DOWNLOAD_AGAIN, OBTAIN_OFFLINE };

/* For an archive that is not here: bytes and hash of its last receipt, else as published. */
static void set_expected_sums(struct wanted_archive *list, size_t n)
{
	size_t i;

	for (i = 0; i < n; i++) {
		const struct wanted_archive *w = &list[i];
		struct obtained_archive *o = w->result;

		if (w->is_here)
			continue;
		o->bytes = w->receipt.url ? w->receipt.sums.bytes : w->archive->sums.bytes;
		memcpy(o->sha256, w->receipt.url ? w->receipt.sums.sha256 : w->archive->sums.sha256,
		       sizeof(o->sha256));
	}
}

static int obtain_in_folder(struct wanted_archive *list, size_t n, const char *folder,
			    enum obtain_mode how, struct err *e)
{
	bool missing = true, again = how == OBTAIN_DOWNLOAD_AGAIN;
	int rc = again ? 0 : check_all_archives(list, n, &missing, e), lock = -1;
	size_t i;

	if (!rc && missing && how == OBTAIN_OFFLINE)
		set_expected_sums(list, n);
	if (rc || !missing || how == OBTAIN_OFFLINE)
		return rc;
	rc = file_make_folders(folder, e);
	if (!rc)
		rc = lock_archive_folder(folder, list->progress, &lock, e);
	for (i = 0; !rc && again && i < n; i++)
		rc = receipt_read(&list[i].receipt, list[i].receipt_path, e);
	/* another process may have downloaded them while this one waited for the lock */
	if (!rc && !again)
		rc = check_all_archives(list, n, &missing, e);
	if (!rc && missing)
		rc = download_missing(list, n, list->conf, list->progress, e);
	if (lock >= 0)
		close(lock);
	return rc;
}

static void free_wanted(struct wanted_archive *list, size_t n)
{
	size_t i;

	for (i = 0; list && i < n; i++) {
		free(list[i].path);
		free(list[i].part);
		free(list[i].receipt_path);
		free(list[i].addresses);
		free(list[i].own_url);
		receipt_free(&list[i].receipt);
	}
	free(list);
}

static int obtain_archives(const struct manifest *m, const struct conf *c, enum obtain_mode how,
			   struct progress *p, struct obtained_archive *results, struct err *e)
{
	struct wanted_archive *list;
	char *workspace = NULL, *folder = NULL;
	size_t i;
	int rc = -1;

	for (i = 0; i < m->n; i++)
		results[i] = (struct obtained_archive){ 0 };
	list = mem_alloc(m->n, sizeof(*list), e);
	if (!list || check_urls(m, c, e))
		goto out;
	workspace = paths_workspace(c->workspace, e);
	folder = workspace ? file_path(e, "%s/archives/%s", workspace, m->name) : NULL;
	if (!folder || prepare_wanted(list, m, folder, results, e))
		goto out;
	for (i = 0; i < m->n; i++) {
		list[i].conf = c;
		list[i].progress = p;
		list[i].own_request = find_own_url(c, list[i].archive->name);
		if (list[i].own_request &&
		    !(list[i].own_url = fetch_public_url(list[i].own_request, e)))
			goto out;
	}
	rc = c->from ? use_all_from_folder(list, m->n, c->from, e)
		     : obtain_in_folder(list, m->n, folder, how, e);
out:
	free_wanted(list, m->n);
	free(workspace);
	free(folder);
	return rc ? e->code : 0;
}

int obtain_all(const struct manifest *m, const struct conf *c, bool again, struct progress *p,
	       struct obtained_archive *results, struct err *e)
{
	return obtain_archives(m, c, again ? OBTAIN_DOWNLOAD_AGAIN : OBTAIN_DOWNLOAD, p, results,
			       e);
}

int obtain_offline(const struct manifest *m, const struct conf *c, struct progress *p,
		   struct obtained_archive *results, struct err *e)
{
	return obtain_archives(m, c, OBTAIN_OFFLINE, p, results, e);
}

void obtained_archive_free(struct obtained_archive *o)
{
	free(o->path);
	free(o->url);
	*o = (struct obtained_archive){ 0 };
}
