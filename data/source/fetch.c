/* fetch.c - see fetch.h: which transfer runs when, and what follows from how it ends */
#include "data/source/fetch.h"

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
#define LONGEST_WAIT_S	60.0  /* of our own accord */
#define LONGEST_ASKED_S 600.0 /* that a server may ask for */
#define STALL_BYTES	1024  /* a second, as fetch_transfer.c has it */
#define DRAW_MS		100

enum download_state { WAITING, HASHING, RUNNING, OVER };

/* One job on its way. */
struct download {
	struct fetcher *fetcher;
	struct fetch_job *job;
	size_t number;
	enum download_state state;
	size_t address;
	int tries;		/* of this address without progress */
	int64_t max_part_bytes; /* bytes that the part has had */
	double not_before_s;
	bool seen;	 /* it has a bar */
	bool open;	 /* the part */
	bool from_start; /* what was continued was refused once: not again */
	struct fetch_part part;
	struct transfer transfer;
};

struct fetcher {
	const struct fetch_limits *limits;
	struct download *downloads; /* owned; n */
	size_t n;
	CURLM *multi;	   /* owned */
	struct bars *bars; /* owned */
	uint64_t seed;	   /* so that many clients do not all come back at once */
	struct err stop;   /* code 0, or why nothing goes on */
};

static const struct fetch_address *download_address(const struct download *r)
{
	return &r->job->addresses[r->address];
}

/* ---- space ---- */

static int compare_room(const char *part, int64_t needed, struct err *e)
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
				     "are free; make room, or choose another workspace with -C DIR",
				     slash ? folder : ".", (double)needed / 1e6,
				     (double)free_bytes / 1e6);
	}
	free(folder);
	return rc;
}

/* What is published about their sizes, before anybody is asked. */
static int check_room_before(const struct fetch_job *jobs, size_t n, struct err *e)
{
	int64_t needed = 0;
	size_t i;

	for (i = 0; i < n; i++)
		if (jobs[i].n_addresses && jobs[i].addresses[0].bytes > 0)
			needed += MAX(0,
				      jobs[i].addresses[0].bytes - MAX(file_size(jobs[i].part), 0));
	return n ? compare_room(jobs[0].part, needed, e) : 0;
}

/* And what the servers say, of all that are running. */
static int check_room(void *closure, struct err *e)
{
	const struct fetcher *f = ((struct download *)closure)->fetcher;
	int64_t needed = 0;
	size_t i;

	for (i = 0; i < f->n; i++)
		if (f->downloads[i].state == RUNNING && f->downloads[i].transfer.total > 0)
			needed +=
				MAX(f->downloads[i].transfer.total - f->downloads[i].part.bytes, 0);
	return compare_room(((struct download *)closure)->part.path, needed, e);
}

/* ---- how an errand goes on ---- */

static void stop_all(struct fetcher *f, const struct err *why)
{
	if (!f->stop.code)
		f->stop = *why;
}

static void download_fail(struct download *r)
{
	struct fetcher *f = r->fetcher;
	size_t i, others = 0;

	r->state = OVER;
	if (r->open && !r->part.bytes)
		fetch_part_remove(&r->part);
	else if (r->open)
		fetch_part_close(&r->part);
	r->open = false;
	bars_stop(f->bars, r->number, NULL);
	for (i = 0; i < f->n; i++)
		others += f->downloads[i].state != OVER;
	if (others)
		bars_print_line(f->bars, "note: %s; the others go on", r->job->result.text);
}

/* A refused file says more than a server that was not there afterwards. */
static void next_address(struct download *r, const struct err *why)
{
	if (r->job->result.code != ERR_DATA)
		r->job->result = *why;
	r->tries = 0;
	r->not_before_s = 0;
	r->state = WAITING;
	if (++r->address == r->job->n_addresses) {
		r->address--;
		download_fail(r);
	} else {
		bars_print_line(r->fetcher->bars, "note: %s; trying the next address", why->text);
	}
}

static void start_over(struct download *r)
{
	fetch_part_remove(&r->part);
	r->open = false;
	r->max_part_bytes = 0;
	r->state = WAITING;
}

/* 1, 2, 4 … 60 s, a quarter more or less; or what the server asks for. */
static double seconds_to_wait(const struct download *r, double asked_s)
{
	double base = r->fetcher->limits->wait_s, wait = base;
	struct rng_key k =
		rng_key_make(r->fetcher->seed, RNG_FETCH, (uint32_t)r->tries, (uint32_t)r->number);
	int i;

	for (i = 1; i < r->tries && wait < LONGEST_WAIT_S; i++)
		wait *= 2;
	wait = MIN(wait, MAX(LONGEST_WAIT_S, base)) * (0.75 + 0.5 * (double)rng_unit(k, 0));
	return MAX(wait, asked_s);
}

static void download_retry(struct download *r, double asked_s, const struct err *why)
{
	const struct fetch_limits *l = r->fetcher->limits;
	double wait;

	if (r->open && r->part.bytes > r->max_part_bytes + STALL_BYTES * l->stall_s)
		r->tries = 0; /* that was progress */
	r->max_part_bytes = MAX(r->max_part_bytes, r->open ? r->part.bytes : 0);
	if (++r->tries >= l->tries || asked_s > LONGEST_ASKED_S) {
		next_address(r, why);
		return;
	}
	wait = seconds_to_wait(r, asked_s);
	r->not_before_s = clock_mono_s() + wait;
	r->state = WAITING;
	bars_set_status(r->fetcher->bars, r->number, "waiting");
	bars_print_line(r->fetcher->bars, "note: %s; try %d of %d in %.1f s", why->text,
			r->tries + 1, l->tries, wait);
}

static void download_succeed(struct download *r, int64_t bytes, const char *remark)
{
	struct bars *b = r->fetcher->bars;

	unlink(r->part.note);
	fetch_part_close(&r->part);
	r->open = false;
	r->state = OVER;
	r->job->result = (struct err){ 0 };
	if (*remark)
		bars_print_line(b, "%s", remark);
	bars_add_complete(b, r->number, bytes);
	bars_stop(b, r->number, "%lld bytes from %s", (long long)bytes, download_address(r)->url);
}

/* The bytes are all here: are they the right ones? */
static void download_complete(struct download *r)
{
	struct err e = { 0 };
	struct buf remark = { 0 };
	struct fetch_sums s = { 0 };
	bool continued = r->transfer.offset > 0;

	bars_set_status(r->fetcher->bars, r->number, NULL);
	if (!fetch_part_finish(&r->part, &s, &e))
		r->job->arrived(r->job->closure, r->address, &s, &remark, &e);
	if (e.code && e.code != ERR_DATA) {
		stop_all(r->fetcher, &e);
	} else if (e.code && continued && !r->from_start) {
		r->from_start = true;
		start_over(r);
		bars_print_line(r->fetcher->bars, "note: %s; again, from its start", e.text);
	} else if (e.code) {
		start_over(r);
		next_address(r, &e);
	} else {
		download_succeed(r, s.bytes, buf_text(&remark));
	}
	buf_free(&remark);
}

static void download_finish(struct download *r, CURLcode rc)
{
	struct err why = { 0 };
	double asked_s;
	enum transfer_verdict verdict = transfer_evaluate(&r->transfer, rc, &asked_s, &why);

	transfer_close(&r->transfer, r->fetcher->multi);
	switch (verdict) {
	case TRANSFER_COMPLETE:
		download_complete(r);
		break;
	case TRANSFER_RETRY:
		download_retry(r, asked_s, &why);
		break;
	case TRANSFER_RESTART:
		start_over(r);
		if (++r->tries >= r->fetcher->limits->tries)
			next_address(r, &why);
		else
			bars_print_line(r->fetcher->bars, "note: %s; again, from its start",
					why.text);
		break;
	case TRANSFER_NEXT_ADDRESS:
		next_address(r, &why);
		break;
	case TRANSFER_STOP:
		stop_all(r->fetcher, &why);
		break;
	}
}

/* ---- starting ---- */

static void download_run(struct download *r, int64_t offset, const char *if_range)
{
	struct err e = { 0 };

	r->transfer = (struct transfer){ .address = download_address(r),
					 .part = &r->part,
					 .offset = offset,
					 .check_room = check_room,
					 .closure = r };
	bars_set_status(r->fetcher->bars, r->number, NULL);
	r->state = RUNNING;
	if (transfer_start(&r->transfer, if_range, r->fetcher->limits->stall_s, r->fetcher->multi,
			   &e))
		stop_all(r->fetcher, &e);
}

/* Continue behind what has been hashed; when that is all, nobody need be asked. */
static void download_resume(struct download *r)
{
	const char *if_range;
	const struct fetch_address *a = download_address(r);

	if (!fetch_part_may_resume(&r->part, a, &if_range)) {
		download_run(r, 0, NULL);
	} else if (*a->content && r->part.bytes == r->part.origin.total) {
		r->transfer = (struct transfer){ .offset = r->part.bytes };
		download_complete(r);
	} else {
		download_run(r, r->part.bytes, if_range);
	}
}

static void download_open_part(struct download *r)
{
	struct err e = { 0 };
	const char *if_range;

	if (!r->open && fetch_part_open(&r->part, r->job->part, r->job->md5, &e)) {
		stop_all(r->fetcher, &e);
		return;
	}
	r->open = true;
	if (!r->seen)
		bars_start(r->fetcher->bars, r->number, r->job->name, r->part.bytes,
			   download_address(r)->bytes);
	r->seen = true;
	if (r->part.hashed < r->part.bytes &&
	    fetch_part_may_resume(&r->part, download_address(r), &if_range)) {
		r->state = HASHING;
		bars_set_status(r->fetcher->bars, r->number, "reading what is here");
	} else {
		download_resume(r);
	}
}

static void hash_some(struct download *r)
{
	struct err e = { 0 };
	bool more;

	if (fetch_part_hash(&r->part, &more, &e)) {
		stop_all(r->fetcher, &e);
	} else if (!more) {
		r->max_part_bytes = r->part.bytes;
		download_resume(r);
	}
}

/* host:port as it stands in a URL. */
static const char *host_of(const char *url, size_t *n)
{
	const char *colon = strstr(url, "://");

	if (colon)
		url = colon + 3;
	*n = strcspn(url, "/?#");
	return url;
}

static bool same_host(const char *a, const char *b)
{
	size_t n, m;

	a = host_of(a, &n);
	b = host_of(b, &m);
	return n == m && !strncmp(a, b, n);
}

static bool may_start(const struct fetcher *f, const struct download *r, double now)
{
	int busy = 0, here = 0;
	size_t i;

	if (r->state != WAITING || now < r->not_before_s)
		return false;
	for (i = 0; i < f->n; i++) {
		const struct download *other = &f->downloads[i];

		if (other->state != RUNNING && other->state != HASHING)
			continue;
		busy++;
		here += same_host(download_address(r)->url, download_address(other)->url);
	}
	return busy < f->limits->transfers && here < PER_HOST;
}

/* ---- the loop ---- */

/* Start and continue what can be; returns how many errands are not over, *wait_ms how long to sleep. */
static size_t downloads_step(struct fetcher *f, int *wait_ms)
{
	double now = clock_mono_s();
	size_t i, left = 0;

	*wait_ms = DRAW_MS;
	for (i = 0; i < f->n && !f->stop.code; i++) {
		struct download *r = &f->downloads[i];

		if (may_start(f, r, now))
			download_open_part(r);
		else if (r->state == HASHING)
			hash_some(r);
		if (r->state == RUNNING)
			bars_update(f->bars, i, r->part.bytes,
				    r->transfer.total >= 0 ? r->transfer.total
							   : download_address(r)->bytes);
		else if (r->state == HASHING)
			bars_update(f->bars, i, r->part.hashed, r->part.origin.total);
		if (r->state == WAITING && r->not_before_s > now)
			*wait_ms = MIN(*wait_ms, (int)(1000 * (r->not_before_s - now)) + 1);
		if (r->state == HASHING)
			*wait_ms = 0;
		left += r->state != OVER;
	}
	return left;
}

/* false: none ended. */
static bool collect_finished(struct fetcher *f)
{
	bool any = false;
	CURLMsg *m;
	int queued;

	while ((m = curl_multi_info_read(f->multi, &queued)) != NULL) {
		struct transfer *t = NULL;
		CURLcode rc = m->data.result;

		if (m->msg != CURLMSG_DONE ||
		    curl_easy_getinfo(m->easy_handle, CURLINFO_PRIVATE, (char **)&t) || !t)
			continue;
		download_finish(t->closure, rc);
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
			err_set(&f->stop, ERR_INTERNAL, "libcurl cannot go on");
			break;
		}
		if (collect_finished(f))
			wait_ms = 0; /* the next may start */
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
			return err_set(e, ERR_CONFIG, "%s: there is no address for it",
				       jobs[i].name);
	}
	return 0;
}

static void downloads_free(struct fetcher *f)
{
	size_t i;

	for (i = 0; f->downloads && i < f->n; i++) {
		if (!f->downloads[i].open)
			continue;
		transfer_close(&f->downloads[i].transfer, f->multi);
		fetch_part_close(&f->downloads[i].part);
	}
	curl_multi_cleanup(f->multi);
	bars_free(f->bars);
	free(f->downloads);
}

/* What the user can do about it. */
static int add_retry_advice(const struct fetch_job *j, struct err *e)
{
	int64_t kept = file_size(j->part);
	size_t n = strlen(j->result.text);

	*e = j->result;
	snprintf(e->text + n, sizeof(e->text) - n, "; ");
	n = strlen(e->text);
	if (kept > 0)
		snprintf(e->text + n, sizeof(e->text) - n,
			 "the %lld bytes that came are kept, the next fetch continues them; or ",
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
		return err_set(e, ERR_INTERNAL, "libcurl cannot be started");
	rc = downloads_init(&f, jobs, p, e);
	if (!rc)
		rc = check_room_before(jobs, n, e);
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
