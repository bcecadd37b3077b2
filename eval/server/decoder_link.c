/* decoder_link.c - see decoder_link.h */
#include "eval/server/decoder_link.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "share/base/util.h"

#define MAX_ANSWER ((size_t)64 << 20) /* bytes of a line */
#define READ_BYTES ((size_t)65536)
#define TURN_BYTES ((size_t)1 << 20) /* read from a decoder in one turn */

static void close_decoder_pipes(struct decoder_pipes *p)
{
	if (p->in >= 0)
		close(p->in);
	if (p->out >= 0)
		close(p->out);
	buf_free(&p->received);
	json_free(p->ready);
	*p = (struct decoder_pipes){ .in = -1, .out = -1 };
}

void decoder_link_begin(struct decoder_link *d, int model)
{
	*d = (struct decoder_link){ .flight = { .model = model } };
	d->now = d->next = (struct decoder_pipes){ .in = -1, .out = -1 };
}

void decoder_link_close(struct decoder_link *d)
{
	close_decoder_pipes(&d->now);
	close_decoder_pipes(&d->next);
	buf_free(&d->to_send);
}

void decoder_link_add(struct decoder_link *d, int in, int out, int generation)
{
	struct decoder_pipes *p = d->now.out < 0 ? &d->now : &d->next;

	close_decoder_pipes(p);
	fcntl(in, F_SETFL, O_NONBLOCK);
	fcntl(out, F_SETFL, O_NONBLOCK);
	*p = (struct decoder_pipes){ .in = in, .out = out, .generation = generation };
}

double decoder_link_busy_s(const struct decoder_link *d, double now)
{
	return d->busy_s + (d->flight.n ? now - d->busy_since : 0);
}

bool decoder_link_is_ready(const struct decoder_link *d)
{
	return d->now.is_ready;
}

/* Reads what has come; false: the process has closed its output, or sends too much. */
static bool read_decoder_output(struct decoder_pipes *p)
{
	for (size_t total = 0; total < TURN_BYTES;) {
		char *room = buf_reserve(&p->received, READ_BYTES);
		const ssize_t n = room ? read(p->out, room, READ_BYTES) : 0;

		if (n < 0)
			return errno == EAGAIN || errno == EWOULDBLOCK || errno == EINTR;
		if (!n)
			return false;
		p->received.len += (size_t)n;
		total += (size_t)n;
		if (p->received.len > MAX_ANSWER)
			return false;
	}
	return true;
}

/* The next whole line as JSON; false: none has come. *answer is NULL if it is not JSON. The caller frees it. */
static bool next_answer(struct decoder_pipes *p, struct json **answer)
{
	const char *begin = buf_text(&p->received), *end;
	struct err ignored = { 0 };
	size_t n;

	if (p->received.len == p->searched)
		return false;
	end = memchr(begin + p->searched, '\n', p->received.len - p->searched);
	p->searched = p->received.len;
	if (!end)
		return false;
	n = (size_t)(end - begin);
	*answer = json_parse(begin, n, &ignored);
	memmove(p->received.data, end + 1, p->received.len - n - 1);
	buf_truncate(&p->received, p->received.len - n - 1);
	p->searched = 0;
	return true;
}

/*
 * Has the model of a first line the languages of the model before it? Clients know the directions that the first one had.
 * Languages that the command names for a model take precedence over those of its recipe.
 */
static bool has_same_languages(struct decoder_link *d, const struct json *line)
{
	const char *source = json_text(json_get(line, "source_language"), ""),
		   *target = json_text(json_get(line, "target_language"), "");

	if (!*d->model_source) {
		snprintf(d->model_source, sizeof(d->model_source), "%.15s", source);
		snprintf(d->model_target, sizeof(d->model_target), "%.15s", target);
		if (!*d->source)
			snprintf(d->source, sizeof(d->source), "%.15s", source);
		if (!*d->target)
			snprintf(d->target, sizeof(d->target), "%.15s", target);
	}
	if (!strncmp(d->model_source, source, sizeof(d->model_source) - 1) &&
	    !strncmp(d->model_target, target, sizeof(d->model_target) - 1))
		return true;
	fprintf(stderr,
		"werkbank serve: the new model translates %s-%s, not %s-%s: it is not used; start "
		"the service again to change languages\n",
		source, target, d->model_source, d->model_target);
	return false;
}

/* The decoder that `now` is, has these glossaries. */
static void note_glossaries(struct decoder_link *d)
{
	const struct json *list = json_get(d->now.ready, "glossaries");

	d->n_glossaries = 0;
	d->loaded = (int64_t)time(NULL);
	for (const struct json *c = json_first(list); c; c = json_next(list, c)) {
		struct link_glossary *g = &d->glossaries[d->n_glossaries];

		if (d->n_glossaries == LINK_MAX_GLOSSARIES)
			return;
		snprintf(g->name, sizeof(g->name), "%s", json_child_key(c));
		g->n_terms = json_integer(c, 0);
		d->n_glossaries++;
	}
}

const struct link_glossary *decoder_link_glossary(const struct decoder_link *d, const char *name)
{
	for (size_t i = 0; i < d->n_glossaries; i++)
		if (!strcmp(d->glossaries[i].name, name))
			return &d->glossaries[i];
	return NULL;
}

/* The first line of a decoder. */
static void take_ready_line(struct decoder_link *d, struct decoder_pipes *p,
			    struct decoder_news *news)
{
	struct json *line;

	if (p->is_ready || !next_answer(p, &line))
		return;
	if (json_boolean(json_get(line, "ready"), false)) {
		if (has_same_languages(d, line)) {
			p->is_ready = true;
			p->ready = line;
			line = NULL;
			if (p == &d->now)
				note_glossaries(d);
			news->has_ready = true;
			news->ready_generation = p->generation;
		} else {
			close_decoder_pipes(p); /* it ends with its input */
		}
	}
	json_free(line);
}

static void note_idle(struct decoder_link *d, double now)
{
	if (!d->flight.n)
		d->busy_s += now - d->busy_since;
}

/* The process is lost: its texts wait again. */
static void lose_decoder(struct decoder_link *d, struct translation_queue *q, double now)
{
	d->n_deaths++;
	if (d->flight.n) {
		queue_return(q, &d->flight);
		note_idle(d, now);
	}
	close_decoder_pipes(&d->now);
	buf_clear(&d->to_send);
	d->sent = 0;
}

/* Takes answers; true: texts wait for the decoder of a second model. */
static bool take_answers(struct decoder_link *d, struct translation_queue *q, double now,
			 struct err *e)
{
	bool has_moved = false;

	struct json *answer;

	while (d->flight.n && d->now.is_ready && next_answer(&d->now, &answer)) {
		has_moved |= queue_take(q, &d->flight, answer, now, e) == 1;
		json_free(answer);
		note_idle(d, now);
	}
	return has_moved;
}

static void send_bytes(struct decoder_link *d)
{
	while (d->sent < d->to_send.len) {
		const ssize_t n =
			write(d->now.in, d->to_send.data + d->sent, d->to_send.len - d->sent);

		if (n <= 0) /* a full pipe; a broken one is noticed by reading */
			return;
		d->sent += (size_t)n;
	}
	buf_clear(&d->to_send);
	d->sent = 0;
}

/* Sends texts; none when another decoder waits for the end of those that this one has. */
static void send_texts(struct decoder_link *d, struct translation_queue *q, double now)
{
	const bool was_idle = !d->flight.n;

	if (!d->now.is_ready)
		return;
	queue_cancel(&d->flight, &d->to_send);
	while (!d->next.is_ready && queue_send(q, &d->flight, now, &d->to_send))
		;
	if (was_idle && d->flight.n)
		d->busy_since = now;
	if (d->to_send.failed) { /* no memory: parts of lines may be lost */
		lose_decoder(d, q, now);
		buf_restart(&d->to_send);
	}
}

/* Has the decoder said nothing about one of its texts for too long? */
static bool is_hung(const struct decoder_link *d, double now)
{
	for (size_t i = 0; i < d->flight.n; i++)
		if (now - d->flight.texts[i].heard_at > DECODER_ANSWER_S)
			return true;
	return false;
}

struct decoder_news decoder_link_update(struct decoder_link *d, struct translation_queue *q,
					double now, struct err *e)
{
	struct decoder_news news = { .has_ready = false };

	if (d->next.out >= 0) {
		const bool is_open = read_decoder_output(&d->next);

		take_ready_line(d, &d->next, &news);
		if (news.has_ready)
			d->next_since = now;
		if (!is_open)
			close_decoder_pipes(&d->next);
	}
	if (d->now.out >= 0) {
		const bool is_open = read_decoder_output(&d->now);

		take_ready_line(d, &d->now, &news);
		news.has_moved = take_answers(d, q, now, e);
		if (is_hung(d, now)) {
			news.has_hung = true;
			news.hung_generation = d->now.generation;
		}
		if (!is_open || news.has_hung)
			lose_decoder(d, q, now);
	}
	if (d->flight.n && d->next.is_ready && now > d->next_since + DECODER_DRAIN_S) {
		queue_take_back(q, &d->flight); /* a long file, say */
		note_idle(d, now);
	}
	if (!d->flight.n && d->next.out >= 0 && (d->next.is_ready || d->now.out < 0)) {
		close_decoder_pipes(&d->now); /* the old one ends with its input */
		buf_clear(&d->to_send);	      /* … cancelled texts, and those taken back */
		d->sent = 0;
		d->now = d->next;
		d->next = (struct decoder_pipes){ .in = -1, .out = -1 };
		note_glossaries(d);
	}
	send_texts(d, q, now);
	if (d->now.in >= 0)
		send_bytes(d);
	return news;
}

size_t decoder_link_fds(const struct decoder_link *d, int read_fds[2], int *write_fd)
{
	size_t n = 0;

	if (d->now.out >= 0)
		read_fds[n++] = d->now.out;
	if (d->next.out >= 0)
		read_fds[n++] = d->next.out;
	*write_fd = d->to_send.len > d->sent ? d->now.in : -1;
	return n;
}
