/* server.c - the supervisor; see server.h */
#include "eval/server/server.h"

#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "eval/server/server_listen.h"
#include "eval/server/server_loop.h"
#include "share/base/clock.h"
#include "share/base/mem.h"
#include "share/base/proc.h"
#include "share/base/util.h"
#include "share/guard/sandbox.h"

#define MAX_WORDS      80   /* of a command line of a decoder */
#define LONG_LIFE_S    60.0 /* a decoder that ran this long is restarted without delay */
#define DECODER_END_S  10.0 /* for a decoder whose listener has ended */
#define DECODER_STOP_S 2.0  /* from SIGTERM to SIGKILL */

/* A decoder process, also one that was replaced and has not ended yet. */
struct server_child {
	struct proc proc; /* pid -1: the place is free */
	int model, generation;
	bool is_ready, is_replaced;
	double started;
};

/* A model that is served. */
struct served_model {
	char source[DECODER_LANGUAGE], target[DECODER_LANGUAGE]; /* "": the model says them */
	char *words[MAX_WORDS + 1];				 /* owned: of the command line */
	size_t n_words;
	int generation;	 /* of the newest decoder */
	int deaths;	 /* in a row, … */
	int failures;	 /* … those that no signal caused */
	double start_at; /* time of the next start; infinite: none is due */
};

struct supervisor {
	const struct conf *conf; /* borrowed */
	struct served_model models[SERVER_MAX_MODELS];
	size_t n_models;
	struct server_child children[4 * SERVER_MAX_MODELS];
	struct server_sockets sockets;
	struct server_keys keys, new_keys;
	size_t max_connections;
	int control; /* our end */
	pid_t listener;
	bool was_ready; /* all models were ready once */
	sigset_t waits; /* mask of signals while it waits */
};

static volatile sig_atomic_t child_ended, end_is_asked, reload_is_asked;

static void note_signal(int number)
{
	if (number == SIGCHLD)
		child_ended = 1;
	else if (number == SIGHUP)
		reload_is_asked = 1;
	else
		end_is_asked = 1;
}

/* ---- the models and their command lines ---- */

static int add_word(struct served_model *m, struct err *e, const char *text)
{
	if (m->n_words == MAX_WORDS)
		return err_set(e, ERR_USAGE, "too many options");
	m->words[m->n_words] = mem_strdup(text, e);
	if (!m->words[m->n_words])
		return e->code;
	m->n_words++;
	return 0;
}

/* The options of this command line that a decoder takes, as they were given. */
static int add_decoder_options(struct served_model *m, const struct conf *c, struct err *e)
{
	const char *section, *name;

	for (size_t i = 0; (name = conf_option_at(i, &section)) != NULL; i++) {
		char dashed[CONF_NAME_MAX];
		struct buf word = { 0 };
		int rc;

		if (strcmp(conf_origin(c, name), "command line") != 0 ||
		    !conf_accepts_option("translate", name) || !strcmp(name, "model") ||
		    !strcmp(name, "run") || !strcmp(name, "glossary"))
			continue;
		buf_printf(&word, "--%s=", conf_dashed(name, dashed));
		conf_value(c, name, &word);
		if (!strcmp(buf_text(&word) + strlen(dashed) + 2, "=yes") ||
		    !strcmp(buf_text(&word) + strlen(dashed) + 2, "=no")) {
			const bool is_on = buf_text(&word)[strlen(dashed) + 3] == 'y';

			buf_clear(&word);
			buf_printf(&word, "--%s%s", is_on ? "" : "no-", dashed);
		}
		rc = buf_check(&word, e);
		if (!rc)
			rc = add_word(m, e, buf_text(&word));
		buf_free(&word);
		if (rc)
			return rc;
	}
	return 0;
}

/* Glossaries are a list: one word each. */
static int add_glossaries(struct served_model *m, const struct conf *c, struct err *e)
{
	for (size_t i = 0; i < c->glossary.n; i++)
		if (add_word(m, e, "--glossary") || add_word(m, e, c->glossary.items[i]))
			return e->code;
	return 0;
}

/* "en-de=FOLDER": the languages, and what is after "="; without them all of it is the folder. */
static const char *split_languages(struct served_model *m, const char *text)
{
	const char *equals = strchr(text, '='), *dash = strchr(text, '-');
	const size_t source = dash ? (size_t)(dash - text) : 0,
		     target = equals && dash && dash < equals ? (size_t)(equals - dash) - 1 : 0;

	if (!source || !target || source >= DECODER_LANGUAGE || target >= DECODER_LANGUAGE ||
	    memchr(text, '/', (size_t)(equals - text)))
		return text;
	snprintf(m->source, sizeof(m->source), "%.*s", (int)source, text);
	snprintf(m->target, sizeof(m->target), "%.*s", (int)target, dash + 1);
	return equals + 1;
}

/* Adds a model: --run NAME or --model [LANGUAGES=]FOLDER. */
static int add_model(struct supervisor *s, const char *option, const char *value, struct err *e)
{
	struct served_model *m = &s->models[s->n_models];

	if (s->n_models == SERVER_MAX_MODELS)
		return err_set(e, ERR_USAGE, "at most %d models can be served", SERVER_MAX_MODELS);
	s->n_models++;
	m->start_at = 0;
	value = split_languages(m, value);
	for (size_t i = 0; *m->source && i + 1 < s->n_models; i++)
		if (!strcasecmp(m->source, s->models[i].source) &&
		    !strcasecmp(m->target, s->models[i].target))
			return err_set(e, ERR_USAGE, "two models from %s to %s: give one of them",
				       m->source, m->target);
	if (add_word(m, e, "/proc/self/exe") || add_word(m, e, "translate") ||
	    add_word(m, e, "--serve") || add_word(m, e, "--quiet") || add_word(m, e, option) ||
	    add_word(m, e, value))
		return e->code;
	return add_glossaries(m, s->conf, e) ? e->code : add_decoder_options(m, s->conf, e);
}

static int list_models(struct supervisor *s, struct err *e)
{
	const struct conf *c = s->conf;

	if (c->run && add_model(s, "--run", c->run, e))
		return e->code;
	if (c->model && add_model(s, "--model", c->model, e))
		return e->code;
	for (int i = 0; i < c->n_arguments; i++)
		if (add_model(s, "--model", c->arguments[i], e))
			return e->code;
	if (!s->n_models)
		return err_set(e, ERR_USAGE,
			       "serve needs a model: --run NAME, or --model en-de=FOLDER");
	return 0;
}

/* ---- processes ---- */

/* Passes the ends of a decoder's pipes to the listener, and closes them here. */
static int pass_pipes(struct supervisor *s, struct server_child *child, struct err *e)
{
	struct server_note note = { NOTE_DECODER, child->model, child->generation };
	const int fds[2] = { child->proc.in, child->proc.out };
	struct iovec part = { &note, sizeof(note) };
	union {
		struct cmsghdr head;
		char bytes[CMSG_SPACE(sizeof(fds))];
	} room = { .bytes = { 0 } };
	struct msghdr m = { .msg_iov = &part,
			    .msg_iovlen = 1,
			    .msg_control = room.bytes,
			    .msg_controllen = sizeof(room.bytes) };
	struct cmsghdr *c = CMSG_FIRSTHDR(&m);
	ssize_t n;

	c->cmsg_level = SOL_SOCKET;
	c->cmsg_type = SCM_RIGHTS;
	c->cmsg_len = CMSG_LEN(sizeof(fds));
	memcpy(CMSG_DATA(c), fds, sizeof(fds));
	n = sendmsg(s->control, &m, MSG_NOSIGNAL);
	close(child->proc.in);
	close(child->proc.out);
	child->proc.in = child->proc.out = -1;
	return n < 0 ? err_set_errno(e, ERR_INTERNAL, "the listener cannot be reached") : 0;
}

/* A decoder that fails to start again and again may have a broken glossary: then the next one has none. */
static bool drops_glossaries(const struct supervisor *s, const struct served_model *m)
{
	return s->conf->glossary.n && m->failures >= 2;
}

/* The command line of the next decoder. */
static void list_decoder_words(const struct supervisor *s, const struct served_model *m,
			       const char *words[MAX_WORDS + 1])
{
	size_t n = 0;

	for (size_t i = 0; i < m->n_words; i++)
		if (!strcmp(m->words[i], "--glossary") && drops_glossaries(s, m))
			i++; /* and its value */
		else
			words[n++] = m->words[i];
	words[n] = NULL;
	if (drops_glossaries(s, m))
		fprintf(stderr, "werkbank serve: the decoder of %s is started without glossaries\n",
			m->words[5]);
}

static int start_decoder(struct supervisor *s, int model, struct err *e)
{
	struct served_model *m = &s->models[model];
	struct server_child *child = NULL;
	const char *words[MAX_WORDS + 1];

	m->start_at = INFINITY;
	for (size_t i = 0; i < ARRAY_LEN(s->children); i++)
		if (s->children[i].proc.pid < 0)
			child = &s->children[i];
	if (!child) { /* replaced ones still end */
		m->start_at = clock_mono_s() + 1;
		return 0;
	}
	*child = (struct server_child){ .model = model, .generation = ++m->generation };
	child->started = clock_mono_s();
	list_decoder_words(s, m, words);
	if (proc_start(&child->proc, words,
		       PROC_PIPE_IN | PROC_PIPE_OUT | PROC_OWN_GROUP | PROC_DIE_WITH_PARENT, e)) {
		child->proc.pid = -1;
		return e->code;
	}
	return pass_pipes(s, child, e);
}

/* Decoders of the model from before this generation end when the listener closes their pipes. */
static void mark_replaced(struct supervisor *s, int model, int generation)
{
	for (size_t i = 0; i < ARRAY_LEN(s->children); i++)
		if (s->children[i].proc.pid >= 0 && s->children[i].model == model &&
		    s->children[i].generation < generation)
			s->children[i].is_replaced = true;
}

/* Has the model another decoder, which translates? */
static bool has_ready_child(const struct supervisor *s, const struct server_child *child)
{
	for (size_t i = 0; i < ARRAY_LEN(s->children); i++)
		if (s->children[i].proc.pid >= 0 && s->children[i].is_ready &&
		    s->children[i].model == child->model)
			return true;
	return false;
}

/* A decoder has ended: decides when the next one starts. Fails if the first one of a model never was ready. */
static int note_end(struct supervisor *s, const struct server_child *child, int status,
		    struct err *e)
{
	static const double waits[] = { 0.2, 1, 5, 30 };
	struct served_model *m = &s->models[child->model];
	const double now = clock_mono_s();

	if (child->is_replaced || end_is_asked)
		return 0;
	if (!s->was_ready && !child->is_ready && child->generation == 1)
		return err_set(e, -status, "the model %s cannot be served: its decoder ended",
			       m->words[5]);
	fprintf(stderr, "werkbank serve: the decoder of %s ended with status %d%s\n", m->words[5],
		status,
		child->is_ready ? ""
		: has_ready_child(s, child)
			? " before it was ready: the old one stays"
			: " before it was ready: texts wait until it can start");
	if (!child->is_ready && child->generation > 1 && has_ready_child(s, child))
		return 0; /* a reload that failed */
	if (now - child->started > LONG_LIFE_S)
		m->deaths = m->failures = 0;
	m->start_at = now + waits[MIN((size_t)m->deaths, ARRAY_LEN(waits) - 1)];
	m->deaths++;
	m->failures += status < 128;
	return 0;
}

static int collect_children(struct supervisor *s, struct err *e)
{
	for (size_t i = 0; i < ARRAY_LEN(s->children); i++) {
		struct server_child *child = &s->children[i];
		const struct server_child was = *child;
		int status;

		if (child->proc.pid < 0 || !proc_try_wait(&child->proc, &status))
			continue;
		child->proc.pid = -1;
		if (note_end(s, &was, status, e))
			return e->code;
	}
	return 0;
}

static void take_notes(struct supervisor *s)
{
	struct server_note note;

	while (recv(s->control, &note, sizeof(note), MSG_DONTWAIT) == (ssize_t)sizeof(note))
		for (size_t i = 0; i < ARRAY_LEN(s->children); i++) {
			struct server_child *child = &s->children[i];

			if (child->proc.pid < 0 || child->model != note.model ||
			    child->generation != note.generation)
				continue;
			if (note.kind == NOTE_HUNG)
				proc_signal(child->proc.pid, SIGKILL);
			if (note.kind != NOTE_READY)
				continue;
			child->is_ready = true;
			s->models[note.model].deaths = s->models[note.model].failures = 0;
			mark_replaced(s, note.model, note.generation);
		}
}

/* When all models are ready for the first time: says so. */
static void announce(struct supervisor *s)
{
	struct buf text = { 0 };
	size_t n = 0;

	for (size_t i = 0; i < ARRAY_LEN(s->children); i++)
		n += s->children[i].proc.pid >= 0 && s->children[i].is_ready;
	if (s->was_ready || n < s->n_models)
		return;
	s->was_ready = true;
	server_sockets_names(&s->sockets, &text);
	if (!s->conf->quiet)
		fprintf(stderr, "werkbank serve: ready on %s\n", buf_text(&text));
	buf_free(&text);
	server_notify("READY=1");
}

/* ---- the listener ---- */

/* The process that reads what clients send: it keeps its descriptors and nothing else. */
static int run_listener(struct supervisor *s, int control, struct err *e)
{
	struct server_state *state = mem_alloc(1, sizeof(*state), e);
	struct language_guess *guess;
	struct sandbox box;
	int rc;

	if (!state)
		return e->code;
	signal(SIGINT, SIG_IGN); /* of a terminal: the supervisor passes it on */
	signal(SIGHUP, SIG_IGN);
	signal(SIGPIPE, SIG_IGN);
	signal(SIGCHLD, SIG_DFL);
	state->limits =
		(struct server_limits){ s->conf->request_chars, s->conf->queue_chars,
					s->conf->request_seconds, (size_t)s->conf->file_bytes };
	state->keys = s->keys;
	state->has_keys = s->keys.n > 0;
	state->cors = s->conf->cors;
	state->host_names = s->conf->host_names;
	state->pivots = s->conf->pivot;
	state->glossaries = s->conf->glossary.items;
	state->n_glossaries = s->conf->glossary.n;
	state->n_decoders = s->n_models;
	state->max_connections = s->max_connections;
	for (size_t i = 0; i < s->n_models; i++) {
		decoder_link_begin(&state->decoders[i], (int)i);
		memcpy(state->decoders[i].source, s->models[i].source, DECODER_LANGUAGE);
		memcpy(state->decoders[i].target, s->models[i].target, DECODER_LANGUAGE);
	}
	sandbox_begin(&box);
	sandbox_enter(&box, SANDBOX_SERVER);
	guess = language_guess_new(e);
	state->guess = guess;
	state->queue = guess ? queue_new(state->limits.queue_chars, e) : NULL;
	rc = state->queue ? server_loop_run(state, s->sockets.fds, s->sockets.n, control, e)
			  : e->code;
	queue_free(state->queue);
	language_guess_free(guess);
	free(state);
	return rc;
}

static int start_listener(struct supervisor *s, struct err *e)
{
	int pair[2];

	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair))
		return err_set_errno(e, ERR_INTERNAL, "no sockets for the listener");
	s->control = pair[0];
	s->listener = fork();
	if (s->listener < 0) {
		close(pair[1]);
		return err_set_errno(e, ERR_NOMEM, "the listener cannot be started");
	}
	if (!s->listener) {
		struct err fault = { 0 };

		close(pair[0]);
		prctl(PR_SET_PDEATHSIG, SIGTERM);
		if (run_listener(s, pair[1], &fault))
			fprintf(stderr, "werkbank serve: %s\n", fault.text);
		_exit(fault.code ? err_exit_status(fault.code) : 0);
	}
	close(pair[1]);
	return 0;
}

/* ---- the supervisor's life ---- */

static int start_due(struct supervisor *s, struct err *e)
{
	const double now = clock_mono_s();

	for (size_t i = 0; i < s->n_models; i++)
		if (s->models[i].start_at <= now && start_decoder(s, (int)i, e))
			return e->code;
	return 0;
}

static struct timespec supervisor_timeout(const struct supervisor *s)
{
	double seconds = 3600;

	for (size_t i = 0; i < s->n_models; i++)
		seconds = fmin(seconds, s->models[i].start_at - clock_mono_s());
	seconds = fmax(seconds, 0);
	return (struct timespec){ (time_t)seconds, (long)(fmod(seconds, 1) * 1e9) };
}

/* Has the listener ended? */
static bool listener_ended(struct supervisor *s, int *status)
{
	if (waitpid(s->listener, status, WNOHANG) != s->listener)
		return false;
	s->listener = -1;
	return true;
}

/* Reads the key file again. Without a good one the old keys stay. */
static void reload_keys(struct supervisor *s)
{
	struct server_note note = { .kind = NOTE_KEYS };
	struct iovec parts[] = { { &note, sizeof(note) }, { &s->new_keys, sizeof(s->new_keys) } };
	const struct msghdr m = { .msg_iov = parts, .msg_iovlen = 2 };
	struct err fault = { 0 };

	if (!s->conf->key_file)
		return;
	if (!server_keys_read(&s->new_keys, s->conf->key_file, &fault) &&
	    sendmsg(s->control, &m, MSG_NOSIGNAL) < 0)
		err_set_errno(&fault, ERR_INTERNAL, "the listener cannot be reached");
	if (fault.code)
		fprintf(stderr, "werkbank serve: %s: the old keys stay\n", fault.text);
}

static void reload(struct supervisor *s)
{
	reload_keys(s);
	for (size_t i = 0; i < s->n_models; i++) {
		s->models[i].start_at = 0;
		s->models[i].deaths = s->models[i].failures = 0;
	}
}

static int supervise(struct supervisor *s, struct err *e)
{
	bool is_ending = false;
	int status = 0;

	while (!listener_ended(s, &status)) {
		struct pollfd p = { .fd = s->control, .events = POLLIN };
		struct timespec timeout;

		if (!is_ending && start_due(s, e))
			return e->code;
		timeout = supervisor_timeout(s);
		if (!child_ended && !reload_is_asked && (is_ending || !end_is_asked))
			ppoll(&p, 1, &timeout, &s->waits);
		child_ended = 0;
		take_notes(s);
		if (collect_children(s, e))
			return e->code;
		announce(s);
		if (reload_is_asked && !is_ending)
			reload(s);
		reload_is_asked = 0;
		if (end_is_asked && !is_ending) {
			is_ending = true;
			server_notify("STOPPING=1");
			server_sockets_close(&s->sockets); /* … and so does the listener */
			proc_signal(s->listener, SIGTERM);
		}
		if (p.revents & POLLHUP)
			s->control = -1; /* poll() leaves it out */
	}
	if (WIFEXITED(status) && !WEXITSTATUS(status) && is_ending)
		return 0;
	if (WIFSIGNALED(status))
		return err_set(e, ERR_INTERNAL, "signal %d ended the listener", WTERMSIG(status));
	return err_set(e, ERR_INTERNAL, "the listener ended with exit status %d",
		       WEXITSTATUS(status));
}

/* A decoder ends with its input, which ended with the listener; SIGTERM and SIGKILL help one that does not. */
static void end_decoder(struct proc *decoder, double until)
{
	int status;

	while (!proc_try_wait(decoder, &status)) {
		if (clock_mono_s() >= until) {
			proc_stop(decoder, DECODER_STOP_S);
			return;
		}
		nanosleep(&(struct timespec){ .tv_nsec = 10000000 }, NULL);
	}
}

static void end_children(struct supervisor *s)
{
	const double until = clock_mono_s() + DECODER_END_S;

	if (s->listener > 0) {
		proc_signal(s->listener, SIGTERM);
		waitpid(s->listener, NULL, 0);
	}
	for (size_t i = 0; i < ARRAY_LEN(s->children); i++)
		if (s->children[i].proc.pid >= 0)
			end_decoder(&s->children[i].proc, until);
}

static void catch_signals(struct supervisor *s)
{
	static const int numbers[] = { SIGCHLD, SIGHUP, SIGTERM, SIGINT };
	struct sigaction action = { .sa_handler = note_signal };
	sigset_t set;

	sigemptyset(&set);
	for (size_t i = 0; i < ARRAY_LEN(numbers); i++) {
		sigaction(numbers[i], &action, NULL);
		sigaddset(&set, numbers[i]);
	}
	signal(SIGPIPE, SIG_IGN);
	sigprocmask(SIG_BLOCK, &set, &s->waits);
	for (size_t i = 0; i < ARRAY_LEN(numbers); i++)
		sigdelset(&s->waits, numbers[i]);
}

/* A connection needs a file. Few connections are allowed if the user may not open more files. */
static int raise_file_limit(struct supervisor *s, struct err *e)
{
	const rlim_t others = 32 + 6 * SERVER_MAX_MODELS, want = others + SERVER_MAX_CONNECTIONS;
	struct rlimit files;

	s->max_connections = SERVER_MAX_CONNECTIONS;
	if (getrlimit(RLIMIT_NOFILE, &files))
		return 0;
	if (files.rlim_cur < want) {
		files.rlim_cur = MIN(want, files.rlim_max);
		if (setrlimit(RLIMIT_NOFILE, &files) || files.rlim_cur <= others)
			return err_set(e, ERR_UNAVAILABLE,
				       "only %llu files may be open: the server needs %llu, "
				       "better %llu (ulimit -n)",
				       (unsigned long long)files.rlim_cur,
				       (unsigned long long)others + 1, (unsigned long long)want);
	}
	if (files.rlim_cur < want) {
		s->max_connections = (size_t)(files.rlim_cur - others);
		fprintf(stderr,
			"werkbank serve: at most %zu connections: only %llu files may be open "
			"(ulimit -n)\n",
			s->max_connections, (unsigned long long)files.rlim_cur);
	}
	return 0;
}

static int open_server(struct supervisor *s, struct err *e)
{
	for (const char *p = s->conf->cors ? s->conf->cors : ""; *p; p++)
		if (*p <= ' ' || *p >= 0x7f)
			return err_set(e, ERR_USAGE,
				       "--cors: an origin is like https://example.org, or *");
	if (list_models(s, e) ||
	    (s->conf->key_file && server_keys_read(&s->keys, s->conf->key_file, e)) ||
	    server_sockets_open(&s->sockets, s->conf->listen, e))
		return e->code;
	if (s->sockets.is_public && !s->keys.n)
		return err_set(e, ERR_PERM,
			       "%s can be reached from other hosts: give --key-file, or listen on "
			       "127.0.0.1",
			       s->conf->listen);
	return raise_file_limit(s, e);
}

int server_run(struct conf *c, struct err *e)
{
	struct supervisor *s = mem_alloc(1, sizeof(*s), e);
	int rc;

	if (!s)
		return e->code;
	s->conf = c;
	s->control = s->listener = -1;
	for (size_t i = 0; i < ARRAY_LEN(s->children); i++)
		s->children[i].proc.pid = -1;
	rc = open_server(s, e);
	if (!rc) {
		catch_signals(s);
		rc = start_listener(s, e);
	}
	if (!rc)
		rc = supervise(s, e);
	end_children(s);
	if (s->control >= 0)
		close(s->control);
	server_sockets_close(&s->sockets);
	for (size_t i = 0; i < s->n_models; i++)
		for (size_t k = 0; k < s->models[i].n_words; k++)
			free(s->models[i].words[k]);
	free(s);
	return rc;
}
