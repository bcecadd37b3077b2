/*
 * fetch.c - scheduler of resumable downloads (see fetch.h)
 *
 * One thread runs all downloads on one libcurl multi handle. A download is a small state machine.
 * It owns one part (fetch_part.h: the file and its origin) and, while RUNNING, one transfer
 * (fetch_transfer.h: one HTTP request).
 *
 *	          bytes of a former run            all hashed
 *	WAITING ------------------------> HASHING ------------> RUNNING
 *	 ^   |                                                  ^  |
 *	 |   +--------------------------------------------------+  | the transfer ended: its verdict
 *	 |              no bytes to hash                           |
 *	 +--- RETRY (after a back-off) ----------------------------+
 *	 +--- RESTART (part removed), NEXT_ADDRESS ----------------+
 *	                                                           v
 *	                            COMPLETE, or no address left: OVER
 *
 * Invariants
 *	- The bytes on the disk are a prefix of the file version that PART.json names. Therefore a
 *	  download may be killed at any time; the next run requests the bytes from there on.
 *	- If-Range (or the published hash) guards that prefix: when the file has changed on the
 *	  server, the response is the whole file and the part is emptied.
 *	- The hash covers all bytes of the part before the transfer appends to it.
 *	- A state is RUNNING exactly while its transfer is in the multi handle.
 *	- A part that is complete after HASHING, with a published hash, needs no request.
 *	- If a resumed file is rejected, it is downloaded once more from byte 0 (was_restarted)
 *	  before the address is given up: the prefix may have been damaged on the disk.
 *	- fetcher.stop ends the loop; all parts stay for the next run.
 */
#include "data/source/fetch.h"

#include <assert.h>
#include <curl/curl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "data/source/bars.h"
#include "data/source/fetch_part.h"
#include "data/source/fetch_transfer.h"
#include "share/base/clock.h"
#include "share/base/file.h"
#include "share/base/mem.h"
#include "share/base/rng.h"
#include "share/base/text.h"

#define PER_HOST	2
#define LONGEST_WAIT_S	60.0  /* limit of the exponential back-off */
#define LONGEST_ASKED_S 600.0 /* a longer Retry-After gives up the address */
#define STALL_BYTES	1024  /* bytes a second, the same as in fetch_transfer.c */
#define DRAW_MS		100

enum download_state { WAITING, HASHING, RUNNING, OVER };

/* One job in progress. */
struct download {
	struct fetcher *fetcher;
	struct fetch_job *job;
	size_t number; /* index of the job */
	enum download_state state;
	size_t address;		/* index of the current address */
	int tries;		/* failed attempts at this address without progress */
	int64_t max_part_bytes; /* largest size of the part after an attempt */
	double not_before_s;	/* clock_mono_s() of the next attempt */
	bool has_bar;
	bool is_part_open;
	bool was_restarted; /* a rejected resumed file was removed once */
	struct fetch_part part;
	struct transfer transfer;
};

struct fetcher {
	const struct fetch_limits *limits;
	struct download *downloads; /* owned; n */
	size_t n;
	CURLM *multi;	   /* owned */
	struct bars *bars; /* owned */
	uint64_t seed;	   /* of the back-off jitter: many clients must not retry together */
	struct err stop;   /* code 0, or the reason to stop all downloads */
};

static const struct fetch_address *download_address(const struct download *d)
{
	return &d->job->addresses[d->address];
}

/* ---- disk space ---- */

#define UNANNOUNCED_ROOM 1000000000

static int check_free_space(const char *part, int64_t needed, struct err *e)
{
	struct statvfs s;
	char *folder = mem_strdup(part, e), *slash = folder ? strrchr(folder, '/') : NULL;
	int64_t free_bytes;
	int rc = folder ? 0 : e->code;

	if (slash)
		*slash = 0;
	if (folder && !statvfs(slash ? folder : ".", &s)) {
		free_bytes = (int64_t)s.f_bavail * (int64_t)s.f_frsize;
		if (free_bytes < needed)
			rc = err_set(e, ERR_IO,
				     "%s: not enough space: archives need %.1f MB more and %.1f MB "
				     "are free; make room or choose another workspace with -C DIR",
				     slash ? folder : ".", (double)needed / 1e6,
				     (double)free_bytes / 1e6);
	}
	free(folder);
	return rc;
}

/* Before any request: the published sizes of all files. */
static int check_published_sizes(const struct fetch_job *jobs, size_t n, struct err *e)
{
	int64_t needed = 0;
	size_t i;

	for (i = 0; i < n; i++)
		if (jobs[i].n_addresses && jobs[i].addresses[0].bytes > 0)
			needed += MAX(0,
				      jobs[i].addresses[0].bytes - MAX(file_size(jobs[i].part), 0));
	return n ? check_free_space(jobs[0].part, needed, e) : 0;
}

/*
 * Bytes that a running download still needs. A server that announces no length must not fill the
 * disk: as much again as it has sent, but at most a gigabyte, must remain.
 */
static int64_t download_needs(const struct download *d)
{
	const int64_t total = MAX(d->transfer.total, download_address(d)->bytes);

	if (d->state != RUNNING)
		return 0;
	return total < 0 ? MIN(d->part.bytes, UNANNOUNCED_ROOM) : MAX(total - d->part.bytes, 0);
}

/* During the downloads: for all running transfers. */
static int check_room(void *closure, struct err *e)
{
	const struct fetcher *f = ((struct download *)closure)->fetcher;
	int64_t needed = 0;
	size_t i;

	for (i = 0; i < f->n; i++)
		needed += download_needs(&f->downloads[i]);
	return check_free_space(((struct download *)closure)->part.path, needed, e);
}

/* ---- transitions between states ---- */

static void stop_all(struct fetcher *f, const struct err *why)
{
	if (!f->stop.code)
		f->stop = *why;
}

static void download_fail(struct download *d)
{
	struct fetcher *f = d->fetcher;
	size_t i, others = 0;

	d->state = OVER;
	if (d->is_part_open && !d->part.bytes)
		fetch_part_remove(&d->part);
	else if (d->is_part_open)
		fetch_part_close(&d->part);
	d->is_part_open = false;
	bars_stop(f->bars, d->number, NULL);
	for (i = 0; i < f->n; i++)
		others += f->downloads[i].state != OVER;
	if (others)
		bars_print_line(f->bars, "note: %s; the other downloads continue",
				d->job->result.text);
}

/*
 * A job whose first address is https:// does not fall back to an http:// one, unless a published hash
 * shows what came: who can block the first one could choose the bytes of the second one.
 */
static bool is_open_to_tampering(const struct fetch_job *j, size_t address)
{
	const struct fetch_address *a = &j->addresses[address];

	return text_starts_with(j->addresses[0].request, "https:") &&
	       text_starts_with(a->request, "http:") && !*a->content;
}

/* job->result keeps ERR_DATA: a rejected file explains more than an unreachable mirror after it. */
static void next_address(struct download *d, const struct err *why)
{
	assert(d->address < d->job->n_addresses);
	if (d->job->result.code != ERR_DATA)
		d->job->result = *why;
	d->tries = 0;
	d->not_before_s = 0;
	d->state = WAITING;
	while (++d->address < d->job->n_addresses && is_open_to_tampering(d->job, d->address))
		bars_print_line(d->fetcher->bars,
				"note: %s: not used: it is not encrypted, and no hash of this "
				"file is published",
				download_address(d)->url);
	if (d->address == d->job->n_addresses) {
		d->address--;
		download_fail(d);
	} else {
		bars_print_line(d->fetcher->bars, "note: %s; trying the next address", why->text);
	}
}

static void start_over(struct download *d)
{
	fetch_part_remove(&d->part);
	d->is_part_open = false;
	d->max_part_bytes = 0;
	d->state = WAITING;
}

/* Back-off of 1, 2, 4 ... 60 s with a jitter of +-25 %; at least the server's Retry-After. */
static double backoff_seconds(const struct download *d, double asked_s)
{
	double base = d->fetcher->limits->wait_s, wait = base;
	struct rng_key k =
		rng_key_make(d->fetcher->seed, RNG_FETCH, (uint32_t)d->tries, (uint32_t)d->number);
	int i;

	for (i = 1; i < d->tries && wait < LONGEST_WAIT_S; i++)
		wait *= 2;
	wait = MIN(wait, MAX(LONGEST_WAIT_S, base)) * (0.75 + 0.5 * (double)rng_unit(k, 0));
	return MAX(wait, asked_s);
}

static void download_retry(struct download *d, double asked_s, const struct err *why)
{
	const struct fetch_limits *l = d->fetcher->limits;
	double wait;

	if (d->is_part_open && d->part.bytes > d->max_part_bytes + STALL_BYTES * l->stall_s)
		d->tries = 0; /* the attempt made progress */
	d->max_part_bytes = MAX(d->max_part_bytes, d->is_part_open ? d->part.bytes : 0);
	if (++d->tries >= l->tries || asked_s > LONGEST_ASKED_S) {
		next_address(d, why);
		return;
	}
	wait = backoff_seconds(d, asked_s);
	d->not_before_s = clock_mono_s() + wait;
	d->state = WAITING;
	bars_set_status(d->fetcher->bars, d->number, "waiting");
	bars_print_line(d->fetcher->bars, "note: %s; try %d of %d in %.1f s", why->text,
			d->tries + 1, l->tries, wait);
}

static void download_succeed(struct download *d, int64_t bytes, const char *remark)
{
	struct bars *b = d->fetcher->bars;

	assert(d->is_part_open);
	unlink(d->part.note_path);
	fetch_part_close(&d->part);
	d->is_part_open = false;
	d->state = OVER;
	d->job->result = (struct err){ 0 };
	if (*remark)
		bars_print_line(b, "%s", remark);
	bars_add_complete(b, d->number, bytes);
	bars_stop(b, d->number, "%lld bytes from %s", (long long)bytes, download_address(d)->url);
}

/* All bytes are in the part: sync it and let the owner of the job verify and install it. */
static void download_complete(struct download *d)
{
	struct err e = { 0 };
	struct buf remark = { 0 };
	struct fetch_sums s = { 0 };
	bool continued = d->transfer.offset > 0;

	bars_set_status(d->fetcher->bars, d->number, NULL);
	if (!fetch_part_finish(&d->part, &s, &e))
		d->job->on_complete(d->job->closure, d->address, &s, &remark, &e);
	if (e.code && e.code != ERR_DATA) {
		stop_all(d->fetcher, &e);
	} else if (e.code && continued && !d->was_restarted) {
		d->was_restarted = true;
		start_over(d);
		bars_print_line(d->fetcher->bars, "note: %s; downloading it again from its start",
				e.text);
	} else if (e.code) {
		start_over(d);
		next_address(d, &e);
	} else {
		download_succeed(d, s.bytes, buf_text(&remark));
	}
	buf_free(&remark);
}

static void download_finish(struct download *d, CURLcode result)
{
	struct err why = { 0 };
	double asked_s;
	enum transfer_verdict verdict = transfer_evaluate(&d->transfer, result, &asked_s, &why);

	assert(d->state == RUNNING);
	transfer_close(&d->transfer, d->fetcher->multi);
	switch (verdict) {
	case TRANSFER_COMPLETE:
		download_complete(d);
		break;
	case TRANSFER_RETRY:
		download_retry(d, asked_s, &why);
		break;
	case TRANSFER_RESTART:
		start_over(d);
		if (++d->tries >= d->fetcher->limits->tries)
			next_address(d, &why);
		else
			bars_print_line(d->fetcher->bars,
					"note: %s; downloading it again from its start", why.text);
		break;
	case TRANSFER_NEXT_ADDRESS:
		next_address(d, &why);
		break;
	case TRANSFER_STOP:
		stop_all(d->fetcher, &why);
		break;
	}
}

/* ---- starting ---- */

static void download_run(struct download *d, int64_t offset, const char *if_range)
{
	struct err e = { 0 };

	assert(d->state == WAITING || d->state == HASHING);
	assert(offset == 0 || offset == d->part.hashed);
	d->transfer = (struct transfer){ .address = download_address(d),
					 .part = &d->part,
					 .offset = offset,
					 .most_bytes = d->fetcher->limits->most_bytes,
					 .check_room = check_room,
					 .closure = d };
	bars_set_status(d->fetcher->bars, d->number, NULL);
	d->state = RUNNING;
	if (!transfer_start(&d->transfer, if_range, d->fetcher->limits->stall_s, d->fetcher->multi,
			    &e))
		return;
	if (e.code == ERR_DATA || e.code == ERR_USAGE)
		next_address(d, &e);
	else
		stop_all(d->fetcher, &e);
}

/* Request the bytes after the hashed ones. A part that is complete needs no request. */
static void download_resume(struct download *d)
{
	const char *if_range;
	const struct fetch_address *a = download_address(d);

	if (!fetch_part_may_resume(&d->part, a, &if_range)) {
		download_run(d, 0, NULL);
	} else if (*a->content && d->part.bytes == d->part.origin.total) {
		d->transfer = (struct transfer){ .offset = d->part.bytes };
		download_complete(d);
	} else {
		download_run(d, d->part.bytes, if_range);
	}
}

static void download_open_part(struct download *d)
{
	struct err e = { 0 };
	const char *if_range;

	if (!d->is_part_open && fetch_part_open(&d->part, d->job->part, d->job->md5, &e)) {
		stop_all(d->fetcher, &e);
		return;
	}
	d->is_part_open = true;
	if (!d->has_bar)
		bars_start(d->fetcher->bars, d->number, d->job->name, d->part.bytes,
			   download_address(d)->bytes);
	d->has_bar = true;
	if (d->part.hashed < d->part.bytes &&
	    fetch_part_may_resume(&d->part, download_address(d), &if_range)) {
		d->state = HASHING;
		bars_set_status(d->fetcher->bars, d->number, "verifying the first part");
	} else {
		download_resume(d);
	}
}

static void hash_some(struct download *d)
{
	struct err e = { 0 };
	bool more;

	if (fetch_part_hash(&d->part, &more, &e)) {
		stop_all(d->fetcher, &e);
	} else if (!more) {
		d->max_part_bytes = d->part.bytes;
		download_resume(d);
	}
}

/*
 * Append a query, "?name=value&...", with *** for each value, which may be a token or a signature.
 * "#" and digits of its SHA-256 follow: two addresses that differ in a value stay different.
 */
static int add_public_query(struct buf *out, const char *query, struct err *e)
{
	const size_t n = strcspn(query, "#");
	struct hash *h = hash_new(HASH_SHA256, e);
	char hex[HASH_SHA256_HEX];
	int rc = h && !hash_add(h, query, n, e) && !hash_hex(h, hex, e) ? 0 : e->code;

	for (size_t at = 0; !rc && at < n;) {
		const size_t name = 1 + strcspn(query + at + 1, "=&;#");
		const size_t part = 1 + strcspn(query + at + 1, "&;#");

		buf_printf(out, "%.*s***", (int)(name < part ? name + 1 : 1), query + at);
		at += part;
	}
	if (!rc)
		buf_printf(out, "#%.8s", hex);
	hash_free(h);
	return rc ? rc : buf_check(out, e);
}

char *fetch_public_url(const char *url, struct err *e)
{
	const char *colon = strstr(url, "://"), *at = NULL, *query = strchr(url, '?'), *rest;
	struct buf out = { 0 };
	char *text;

	for (const char *c = colon ? colon + 3 : ""; *c && !strchr("/?#", *c); c++)
		if (*c == '@')
			at = c; /* a password may hold an @, too */
	rest = at ? at + 1 : url;
	if (at)
		buf_printf(&out, "%.*s", (int)(colon + 3 - url), url);
	buf_printf(&out, "%.*s", (int)(query ? query - rest : (ptrdiff_t)strlen(rest)), rest);
	text = (query && add_public_query(&out, query, e)) || buf_check(&out, e)
		       ? NULL
		       : mem_strdup(buf_text(&out), e);
	buf_free(&out);
	return text;
}

/* The host:port of a URL: *n bytes. */
static const char *url_host(const char *url, size_t *n)
{
	const char *colon = strstr(url, "://");

	if (colon)
		url = colon + 3;
	*n = strcspn(url, "/?#");
	return url;
}

static bool is_same_host(const char *a, const char *b)
{
	size_t n, m;

	a = url_host(a, &n);
	b = url_host(b, &m);
	return n == m && !strncmp(a, b, n);
}

static bool may_start(const struct fetcher *f, const struct download *d, double now)
{
	int busy = 0, n_same_host = 0;
	size_t i;

	if (d->state != WAITING || now < d->not_before_s)
		return false;
	for (i = 0; i < f->n; i++) {
		const struct download *other = &f->downloads[i];

		if (other->state != RUNNING && other->state != HASHING)
			continue;
		busy++;
		n_same_host += is_same_host(download_address(d)->url, download_address(other)->url);
	}
	assert(busy <= f->limits->transfers);
	return busy < f->limits->transfers && n_same_host < PER_HOST;
}

/* ---- the loop ---- */

/* Advance all downloads. Returns how many are not OVER; *wait_ms: how long the loop may sleep. */
static size_t downloads_step(struct fetcher *f, int *wait_ms)
{
	double now = clock_mono_s();
	size_t i, left = 0;

	*wait_ms = DRAW_MS;
	for (i = 0; i < f->n && !f->stop.code; i++) {
		struct download *d = &f->downloads[i];

		if (may_start(f, d, now))
			download_open_part(d);
		else if (d->state == HASHING)
			hash_some(d);
		if (d->state == RUNNING)
			bars_update(f->bars, i, d->part.bytes,
				    d->transfer.total >= 0 ? d->transfer.total
							   : download_address(d)->bytes);
		else if (d->state == HASHING)
			bars_update(f->bars, i, d->part.hashed, d->part.origin.total);
		if (d->state == WAITING && d->not_before_s > now)
			*wait_ms = MIN(*wait_ms, (int)(1000 * (d->not_before_s - now)) + 1);
		if (d->state == HASHING)
			*wait_ms = 0;
		left += d->state != OVER;
	}
	return left;
}

/* Handle all transfers that ended; true if there were any. */
static bool collect_finished(struct fetcher *f)
{
	bool any = false;
	CURLMsg *m;
	int queued;

	while ((m = curl_multi_info_read(f->multi, &queued)) != NULL) {
		struct transfer *t = NULL;
		CURLcode result = m->data.result;

		if (m->msg != CURLMSG_DONE ||
		    curl_easy_getinfo(m->easy_handle, CURLINFO_PRIVATE, (char **)&t) || !t)
			continue;
		download_finish(t->closure, result);
		any = true;
		if (f->stop.code)
			break;
	}
	return any;
}

static void downloads_loop(struct fetcher *f)
{
	int running, wait_ms;

	while (!f->stop.code && downloads_step(f, &wait_ms)) {
		if (curl_multi_perform(f->multi, &running)) {
			err_set(&f->stop, ERR_INTERNAL, "libcurl: curl_multi_perform() failed");
			break;
		}
		if (collect_finished(f))
			wait_ms = 0; /* another download may start now */
		bars_draw(f->bars);
		if (!f->stop.code)
			curl_multi_poll(f->multi, NULL, 0, wait_ms, NULL);
	}
}

static int downloads_init(struct fetcher *f, struct fetch_job *jobs, struct progress *p,
			  struct err *e)
{
	size_t i;

	f->downloads = mem_alloc(f->n, sizeof(*f->downloads), e);
	f->bars = f->downloads ? bars_new(p, "archives", f->n, e) : NULL;
	if (!f->bars)
		return e->code;
	f->multi = curl_multi_init();
	if (!f->multi)
		return err_set(e, ERR_NOMEM, "out of memory for transfers");
	f->seed = (uint64_t)(clock_wall_s() * 1e6) ^ (uint64_t)getpid() << 40;
	for (i = 0; i < f->n; i++) {
		f->downloads[i] = (struct download){ .fetcher = f, .job = &jobs[i], .number = i };
		jobs[i].result = (struct err){ 0 };
		if (!jobs[i].n_addresses)
			return err_set(e, ERR_CONFIG, "%s: has no address to download it from",
				       jobs[i].name);
	}
	return 0;
}

static void downloads_free(struct fetcher *f)
{
	size_t i;

	for (i = 0; f->downloads && i < f->n; i++) {
		if (!f->downloads[i].is_part_open)
			continue;
		transfer_close(&f->downloads[i].transfer, f->multi);
		fetch_part_close(&f->downloads[i].part);
	}
	curl_multi_cleanup(f->multi);
	bars_free(f->bars);
	free(f->downloads);
}

/* *e: the job's error, and what the user can do about it. */
static int add_retry_advice(const struct fetch_job *j, struct err *e)
{
	int64_t kept = file_size(j->part);
	size_t n = strlen(j->result.text);

	*e = j->result;
	snprintf(e->text + n, sizeof(e->text) - n, "; ");
	n = strlen(e->text);
	if (kept > 0)
		snprintf(e->text + n, sizeof(e->text) - n,
			 "%lld bytes are kept, the next fetch continues after them; or ",
			 (long long)kept);
	n = strlen(e->text);
	snprintf(e->text + n, sizeof(e->text) - n, "try a mirror with --url %s=URL, or --from DIR",
		 j->name);
	return e->code;
}

int fetch_all(struct fetch_job *jobs, size_t n, const struct fetch_limits *l, struct progress *p,
	      struct err *e)
{
	struct fetcher f = { .limits = l, .n = n };
	size_t i;
	int rc;

	if (curl_global_init(CURL_GLOBAL_DEFAULT))
		return err_set(e, ERR_INTERNAL, "libcurl: curl_global_init() failed");
	rc = downloads_init(&f, jobs, p, e);
	if (!rc)
		rc = check_published_sizes(jobs, n, e);
	if (!rc)
		downloads_loop(&f);
	downloads_free(&f);
	curl_global_cleanup();
	if (rc)
		return rc;
	if (f.stop.code)
		*e = f.stop;
	for (i = 0; i < n && !f.stop.code; i++) {
		if (jobs[i].result.code)
			return add_retry_advice(&jobs[i], e);
	}
	return f.stop.code;
}
