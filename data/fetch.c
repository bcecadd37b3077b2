/* fetch.c - see fetch.h */
#include "data/fetch.h"

#include <curl/curl.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>

#define CONNECT_S    30L
#define STALL_BYTES  1024L	/* a second, below which … */
#define STALL_S      60L	/* … a minute counts as stalled */
#define MAX_REDIRECTS 10L

struct transfer {
	FILE *out;
	int  write_errno;	/* why writing failed; 0: it did not */
	struct progress *progress;
};

static size_t take_bytes(char *bytes, size_t size, size_t n, void *closure)
{
	struct transfer *t = closure;
	size_t written = fwrite(bytes, size, n, t->out);

	if (written != n)
		t->write_errno = errno ? errno : EIO;
	return written * size;
}

static int see_progress(void *closure, curl_off_t total, curl_off_t now, curl_off_t up_total,
			curl_off_t up_now)
{
	struct transfer *t = closure;

	(void)up_total;
	(void)up_now;
	t->progress->total = total;
	progress_at(t->progress, now);
	return 0;
}

static int set_options(CURL *curl, const char *url, struct transfer *t, char *why)
{
	int bad = 0;

	bad |= curl_easy_setopt(curl, CURLOPT_URL, url);
	bad |= curl_easy_setopt(curl, CURLOPT_ERRORBUFFER, why);
	bad |= curl_easy_setopt(curl, CURLOPT_WRITEFUNCTION, take_bytes);
	bad |= curl_easy_setopt(curl, CURLOPT_WRITEDATA, t);
	bad |= curl_easy_setopt(curl, CURLOPT_XFERINFOFUNCTION, see_progress);
	bad |= curl_easy_setopt(curl, CURLOPT_XFERINFODATA, t);
	bad |= curl_easy_setopt(curl, CURLOPT_NOPROGRESS, 0L);
	bad |= curl_easy_setopt(curl, CURLOPT_NOSIGNAL, 1L);
	bad |= curl_easy_setopt(curl, CURLOPT_FAILONERROR, 1L);
	bad |= curl_easy_setopt(curl, CURLOPT_FOLLOWLOCATION, 1L);
	bad |= curl_easy_setopt(curl, CURLOPT_MAXREDIRS, MAX_REDIRECTS);
	bad |= curl_easy_setopt(curl, CURLOPT_CONNECTTIMEOUT, CONNECT_S);
	bad |= curl_easy_setopt(curl, CURLOPT_LOW_SPEED_LIMIT, STALL_BYTES);
	bad |= curl_easy_setopt(curl, CURLOPT_LOW_SPEED_TIME, STALL_S);
	bad |= curl_easy_setopt(curl, CURLOPT_TCP_KEEPALIVE, 1L);
	bad |= curl_easy_setopt(curl, CURLOPT_USERAGENT, "werkbank");
#if LIBCURL_VERSION_NUM >= 0x075500
	bad |= curl_easy_setopt(curl, CURLOPT_PROTOCOLS_STR, "http,https,file");
	bad |= curl_easy_setopt(curl, CURLOPT_REDIR_PROTOCOLS_STR, "http,https");
#else
	bad |= curl_easy_setopt(curl, CURLOPT_PROTOCOLS,
				(long)(CURLPROTO_HTTP | CURLPROTO_HTTPS | CURLPROTO_FILE));
	bad |= curl_easy_setopt(curl, CURLOPT_REDIR_PROTOCOLS,
				(long)(CURLPROTO_HTTP | CURLPROTO_HTTPS));
#endif
	return bad;
}

static int code_of(CURLcode rc)
{
	switch (rc) {
	case CURLE_UNSUPPORTED_PROTOCOL:
	case CURLE_URL_MALFORMAT:          return ERR_USAGE;
	case CURLE_FILE_COULDNT_READ_FILE: return ERR_NOINPUT;
	case CURLE_COULDNT_RESOLVE_PROXY:
	case CURLE_COULDNT_RESOLVE_HOST:
	case CURLE_COULDNT_CONNECT:        return ERR_NOHOST;
	case CURLE_HTTP_RETURNED_ERROR:    return ERR_UNAVAILABLE;
	case CURLE_OPERATION_TIMEDOUT:     return ERR_TEMPFAIL;
	case CURLE_OUT_OF_MEMORY:          return ERR_NOMEM;
	default:                           return ERR_PROTOCOL;
	}
}

static int explain(CURL *curl, CURLcode rc, const char *url, const char *why, struct err *e)
{
	long status = 0;

	curl_easy_getinfo(curl, CURLINFO_RESPONSE_CODE, &status);
	if (rc == CURLE_HTTP_RETURNED_ERROR)
		return err_set(e, ERR_UNAVAILABLE,
			       "%s: the server answers %ld; try a mirror with --url NAME=URL, or "
			       "--from DIR",
			       url, status);
	return err_set(e, code_of(rc), "%s: cannot be fetched: %s", url,
		       *why ? why : curl_easy_strerror(rc));
}

/* With everything allocated: transfer, then say what went wrong if something did. */
static int perform(CURL *curl, const char *url, const char *path, struct transfer *t, struct err *e)
{
	char why[CURL_ERROR_SIZE] = "";
	CURLcode rc;

	if (set_options(curl, url, t, why))
		return err_set(e, ERR_INTERNAL, "%s: libcurl does not take an option", url);
	rc = curl_easy_perform(curl);
	if (!t->write_errno && fflush(t->out))
		t->write_errno = errno;
	if (t->write_errno) {
		errno = t->write_errno;
		return err_set_errno(e, ERR_IO, "%s: cannot be written", path);
	}
	return rc ? explain(curl, rc, url, why, e) : 0;
}

int fetch_url(const char *url, const char *path, struct progress *p, struct err *e)
{
	struct transfer t = { .progress = p };
	CURL *curl = NULL;
	int rc = -1;

	if (curl_global_init(CURL_GLOBAL_DEFAULT))
		return err_set(e, ERR_INTERNAL, "libcurl cannot be started");
	curl = curl_easy_init();
	t.out = fopen(path, "wbe");
	if (!curl)
		err_set(e, ERR_NOMEM, "out of memory for a transfer");
	else if (!t.out)
		err_set_errno(e, ERR_CANTCREAT, "%s: cannot be written", path);
	else
		rc = perform(curl, url, path, &t, e);
	if (t.out && fclose(t.out) && !rc)
		rc = err_set_errno(e, ERR_IO, "%s: cannot be written", path);
	curl_easy_cleanup(curl);
	curl_global_cleanup();
	return rc ? e->code : 0;
}
