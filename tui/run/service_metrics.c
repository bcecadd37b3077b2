/* service_metrics.c - see service_metrics.h. */
#include "tui/run/service_metrics.h"

#include <arpa/inet.h>
#include <errno.h>
#include <math.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "share/base/number_format.h"
#include "share/base/text.h"
#include "share/base/util.h"

#define ASK_EVERY_S 2.0
#define WAIT_S	    5.0 /* for an answer */
#define MAX_ANSWER  ((size_t)1 << 20)

static void end_question(struct service_metrics *m)
{
	if (m->is_asking)
		close(m->fd);
	m->is_asking = false;
	buf_free(&m->text);
}

void service_metrics_close(struct service_metrics *m)
{
	end_question(m);
	*m = (struct service_metrics){ 0 };
}

/* Send the question as soon as the connection stands. */
static void send_question(struct service_metrics *m)
{
	static const char question[] = "GET /metrics HTTP/1.1\r\nHost: localhost\r\n"
				       "Connection: close\r\n\r\n";

	m->is_sent = send(m->fd, question, sizeof(question) - 1, MSG_NOSIGNAL) > 0;
	if (!m->is_sent && errno != EAGAIN && errno != ENOTCONN)
		end_question(m);
}

static void ask_metrics(struct service_metrics *m, const char *address, double now)
{
	struct sockaddr_in to = { .sin_family = AF_INET };
	const char *http = strstr(address, "http://");
	char host[16];
	unsigned port;

	m->asked = now;
	if (!http || sscanf(http, "http://%15[0-9.]:%u", host, &port) != 2 || !port || port > 65535)
		return;
	to.sin_port = htons((uint16_t)port);
	to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	m->fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (m->fd < 0)
		return;
	m->is_asking = true;
	m->is_sent = false;
	if (connect(m->fd, (const struct sockaddr *)&to, sizeof(to)) && errno != EINPROGRESS)
		end_question(m);
	else
		send_question(m);
}

/* The sum of all values of a metric, whatever their labels; NaN: it is not there. */
static double metric_sum(const char *text, const char *name)
{
	const size_t n = strlen(name);
	double sum = NAN;

	for (const char *at = text; at && *at; at = strchr(at, '\n'), at += at != NULL) {
		const char *value = at + n;

		if (strncmp(at, name, n) != 0 || (*value != ' ' && *value != '{'))
			continue;
		value += strcspn(value, " \n");
		sum = (isnan(sum) ? 0 : sum) + strtod(value, NULL);
	}
	return sum;
}

static bool read_metrics(struct service_metrics *m, const char *text, double now)
{
	const double tokens = metric_sum(text, "werkbank_target_tokens_total");
	const double n = metric_sum(text, "werkbank_translation_seconds_count");

	if (strncmp(text, "HTTP/1.1 200", 12) != 0 || isnan(tokens))
		return false;
	m->connections =
		fmax(metric_sum(text, "werkbank_connections") - 1, 0); /* one is this question */
	m->requests = metric_sum(text, "werkbank_requests_in_flight");
	m->queue_characters = metric_sum(text, "werkbank_queue_characters");
	m->refused = metric_sum(text, "werkbank_refused_total");
	m->request_s = n > 0 ? metric_sum(text, "werkbank_translation_seconds_sum") / n : NAN;
	m->tokens_s =
		m->is_known && now > m->answered ? (tokens - m->tokens) / (now - m->answered) : NAN;
	m->tokens = tokens;
	m->answered = now;
	return m->is_known = true;
}

bool service_metrics_update(struct service_metrics *m, const char *address, double now)
{
	char bytes[4096];
	ssize_t n = -1;
	bool is_new;

	if (!m->is_asking) {
		if (fabs(now - m->asked) >= ASK_EVERY_S)
			ask_metrics(m, address, now);
		return false;
	}
	if (!m->is_sent)
		send_question(m);
	while (m->is_sent && m->text.len < MAX_ANSWER &&
	       (n = recv(m->fd, bytes, sizeof(bytes), 0)) > 0)
		buf_add(&m->text, bytes, (size_t)n);
	if (m->is_asking && n < 0 && m->text.len < MAX_ANSWER && now - m->asked < WAIT_S)
		return false; /* the rest comes later */
	is_new = n == 0 && !m->text.failed && read_metrics(m, buf_text(&m->text), now);
	end_question(m);
	return is_new;
}

void service_metrics_text(const struct service_metrics *m, struct buf *out)
{
	if (!m->is_known)
		return;
	buf_printf(out, "%.0f client%s, %.0f request%s, queue %.0f characters", m->connections,
		   text_plural(m->connections), m->requests, text_plural(m->requests),
		   m->queue_characters);
	if (isfinite(m->request_s))
		buf_printf(out, ", %.0f ms each", m->request_s * 1000);
	if (isfinite(m->tokens_s))
		buf_printf(out, ", %s tokens/s", VALUE_TEXT(m->tokens_s));
	if (m->refused > 0)
		buf_printf(out, ", %.0f refused", m->refused);
}
