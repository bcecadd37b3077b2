/* hosts.c - see hosts.h */
#include "train/launch/remote/hosts.h"

#include <arpa/inet.h>
#include <assert.h>
#include <ctype.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

#include "share/base/buf.h"
#include "share/base/file.h"
#include "share/base/mem.h"
#include "share/base/text.h"
#include "share/base/util.h"

#define MAX_FILE   ((size_t)16 << 20)
#define MAX_NAME   253
#define MAX_LABEL  63
#define SSH_PORT   22
#define USER_PORTS 1024 /* in a hostfile, NAME:NUMBER with a NUMBER from here on is a port */

/* ---- names ---- */

static bool is_address6(const char *name)
{
	struct in6_addr address;

	return inet_pton(AF_INET6, name, &address) == 1;
}

/* RFC 1123, but _ is allowed because people use it. */
static bool is_host_name(const char *name)
{
	size_t label = 0, n = strlen(name);

	if (!n || n > MAX_NAME)
		return false;
	for (size_t i = 0; i < n; i++) {
		char c = name[i];

		if (c == '.') {
			if (!label || name[i - 1] == '-')
				return false;
			label = 0;
			continue;
		}
		if (!isalnum((unsigned char)c) && c != '_' && (c != '-' || !label))
			return false;
		if (++label > MAX_LABEL)
			return false;
	}
	/* a fully qualified name may end with a dot */
	return name[n - 1] != '-' && (label || n > 1);
}

int hosts_add(struct hosts *h, const char *name, int64_t slots, int64_t port, struct err *e)
{
	struct host *x;

	if (!is_host_name(name) && !is_address6(name))
		return err_set(e, ERR_DATA, "\"%.100s\" is not a valid host name", name);
	if (slots < 1 || slots > HOSTS_MAX_SLOTS)
		return err_set(e, ERR_DATA, "%lld slots on %s: expected 1 to %d", (long long)slots,
			       name, HOSTS_MAX_SLOTS);
	if (port < 0 || port > 65535)
		return err_set(e, ERR_DATA, "port %lld on %s: expected 1 to 65535", (long long)port,
			       name);
	x = hosts_find(h, name);
	if (x) {
		if (port && x->port && x->port != port)
			return err_set(e, ERR_DATA, "%s is listed with port %d and with port %lld",
				       name, x->port, (long long)port);
		if (x->slots + slots > HOSTS_MAX_SLOTS)
			return err_set(e, ERR_DATA, "%s has more than %d slots", name,
				       HOSTS_MAX_SLOTS);
		x->slots += (int32_t)slots;
		x->port = port ? (int32_t)port : x->port;
		return 0;
	}
	if (h->n == HOSTS_MAX)
		return err_set(e, ERR_DATA, "more than %d hosts are listed", HOSTS_MAX);
	if (mem_grow(&h->all, &h->cap, h->n + 1, sizeof(*h->all), e))
		return e->code;
	x = &h->all[h->n];
	*x = (struct host){ mem_strdup(name, e), (int32_t)slots, (int32_t)port };
	return x->name ? (h->n++, 0) : e->code;
}

/* ---- the parser's position, for messages ---- */

struct host_parser {
	struct hosts *hosts;
	const char *source; /* name of the hostfile; NULL: a list on the command line */
	int64_t line;
	const char *text;     /* of the current line */
	const int32_t *tasks; /* Slurm: slots of each host, in order; NULL: use the text's slots */
	size_t n_tasks, next_task;
};

/*
 * Prefix the message with the position of at. ERR_DATA is kept for a hostfile and becomes
 * ERR_USAGE for a list.
 */
static int prefix_host_position(const struct host_parser *p, const char *at, struct err *e)
{
	size_t column = (size_t)(at - p->text) + 1;

	assert(at >= p->text);
	if (e->code != ERR_DATA)
		return e->code; /* out of memory has no position */
	if (p->source)
		return err_prefix(e, "%s:%lld:%zu", p->source, (long long)p->line, column);
	e->code = ERR_USAGE;
	return err_prefix(e, "host list, column %zu", column);
}

/* The error of a text that is not as expected, with the position of at. */
static int host_error(const struct host_parser *p, const char *at, struct err *e, const char *fmt,
		      ...) PRINTF_LIKE(4, 5);

static int host_error(const struct host_parser *p, const char *at, struct err *e, const char *fmt,
		      ...)
{
	char text[sizeof(e->text)];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	err_set(e, ERR_DATA, "%s", text);
	return prefix_host_position(p, at, e);
}

/* Parse the digits from at to end; false: not a number, or more than 9 digits. */
static bool parse_host_number(const char *at, const char *end, int64_t *number)
{
	int64_t x = 0;

	if (at == end || end - at > 9)
		return false;
	for (; at < end; at++) {
		if (!isdigit((unsigned char)*at))
			return false;
		x = x * 10 + (*at - '0');
	}
	*number = x;
	return true;
}

/* ---- Slurm's brackets ---- */

struct bracket_expansion {
	struct host_parser *p;
	int64_t slots, port;
};

static int add_expanded_host(const struct bracket_expansion *x, const char *name, struct err *e)
{
	struct host_parser *p = x->p;
	int64_t slots = x->slots;

	if (p->tasks) {
		if (p->next_task == p->n_tasks)
			return err_set(e, ERR_DATA, "SLURM_TASKS_PER_NODE covers only %zu host%s",
				       p->n_tasks, text_plural((double)p->n_tasks));
		slots = p->tasks[p->next_task++];
	}
	return hosts_add(p->hosts, name, slots, x->port, e);
}

static int expand_brackets(const struct bracket_expansion *x, const char *head, const char *rest,
			   const char *end, struct err *e);

/*
 * Expand one item "07" or "01-08" (from … to) of a bracket. Each number follows head, with as many
 * digits as the first number has; rest … end is the text after the bracket.
 */
static int expand_bracket_range(const struct bracket_expansion *x, const char *head,
				const char *from, const char *to, const char *rest, const char *end,
				struct err *e)
{
	const char *dash = memchr(from, '-', (size_t)(to - from));
	int64_t first = 0, last = 0;
	char name[MAX_NAME + 1];

	if (!parse_host_number(from, dash ? dash : to, &first) ||
	    (dash && !parse_host_number(dash + 1, to, &last)) || (dash && last < first))
		return err_set(e, ERR_DATA,
			       "\"%.*s\" is not a range: expected for example [01-08,12]",
			       (int)MIN(to - from, 100), from);
	if (!dash)
		last = first;
	if (last - first >= HOSTS_MAX)
		return err_set(e, ERR_DATA, "the range \"%.*s\" has more than %d hosts",
			       (int)MIN(to - from, 100), from, HOSTS_MAX);
	for (int64_t i = first; i <= last; i++) {
		int n = snprintf(name, sizeof(name), "%s%0*lld", head,
				 (int)((dash ? dash : to) - from), (long long)i);

		if (n < 0 || n > MAX_NAME)
			return err_set(e, ERR_DATA, "\"%.100s…\" is too long for a host's name",
				       head);
		if (expand_brackets(x, name, rest, end, e))
			return e->code;
	}
	return 0;
}

/* Add all hosts that head followed by rest … end names; rest may contain brackets. */
static int expand_brackets(const struct bracket_expansion *x, const char *head, const char *rest,
			   const char *end, struct err *e)
{
	const char *open = memchr(rest, '[', (size_t)(end - rest)), *close, *comma;
	const char *stop = open ? open : end;
	char name[MAX_NAME + 1];
	int n = snprintf(name, sizeof(name), "%s%.*s", head, (int)MIN(stop - rest, 1000), rest);

	if (n < 0 || n > MAX_NAME)
		return err_set(e, ERR_DATA, "\"%.100s…\" is too long for a host's name", name);
	if (!open)
		return add_expanded_host(x, name, e);
	close = memchr(open, ']', (size_t)(end - open));
	if (!close)
		return err_set(e, ERR_DATA, "\"%.*s\" lacks its closing bracket",
			       (int)MIN(end - open, 100), open);
	for (const char *from = open + 1; from <= close; from = comma + 1) {
		comma = memchr(from, ',', (size_t)(close - from));
		if (!comma)
			comma = close;
		if (expand_bracket_range(x, name, from, comma, close + 1, end, e))
			return e->code;
	}
	return 0;
}

/* ---- one host ---- */

/* Parse NAME[:NUMBER] from at to end; slots: of slots= in the same line, 0: none. */
static int parse_host(struct host_parser *p, const char *at, const char *end, int64_t slots,
		      struct err *e)
{
	struct bracket_expansion x = { .p = p, .slots = slots ? slots : 1 };
	const char *colon = memrchr(at, ':', (size_t)(end - at)), *name_end = end;
	char address[MAX_NAME + 1];
	size_t n = (size_t)(end - at);
	int64_t number;
	bool in_brackets = *at == '[', is_address;

	assert(at < end); /* so *at is a character of the item */
	snprintf(address, sizeof(address), "%.*s", (int)MIN(n, sizeof(address) - 1), at);
	is_address = is_address6(address);
	if (memchr(at, '@', n))
		return host_error(p, at, e,
				  "\"%.*s\" contains a user name: set the user in ~/.ssh/config",
				  (int)MIN(n, 100), at);
	if (colon && !is_address && (!in_brackets || colon[-1] == ']')) {
		if (!parse_host_number(colon + 1, end, &number) || number < 1)
			return host_error(p, colon + 1, e,
					  "\"%.*s\" is not a number of slots: expected NAME:SLOTS",
					  (int)MIN(end - colon - 1, 100), colon + 1);
		name_end = colon;
		if (p->source && (slots || number == SSH_PORT || number >= USER_PORTS))
			x.port = number;
		else
			x.slots = number;
	}
	if (in_brackets) {
		if (name_end - at > MAX_NAME)
			return host_error(p, at, e, "\"%.100s…\" is too long for an IPv6 address",
					  address);
		snprintf(address, sizeof(address), "%.*s", (int)(name_end - at), at);
		if (name_end[-1] != ']')
			return host_error(p, at, e, "\"%.100s\" lacks its closing bracket",
					  address);
		address[name_end - at - 1] = 0;
		if (!is_address6(address + 1))
			return host_error(p, at, e, "\"%.100s\" is not an IPv6 address",
					  address + 1);
	}
	if (is_address || in_brackets
		    ? add_expanded_host(&x, in_brackets ? address + 1 : address, e)
		    : expand_brackets(&x, "", at, name_end, e))
		return prefix_host_position(p, at, e);
	return 0;
}

/* ---- a list ---- */

static bool is_host_separator(char c)
{
	return c == ',' || c == ' ' || c == '\t' || c == '\r';
}

/* The end of the item that begins at at: the next separator outside brackets. */
static const char *host_item_end(const char *at)
{
	int depth = 0;

	for (; *at && (depth || !is_host_separator(*at)); at++)
		depth += (*at == '[') - (*at == ']' && depth > 0);
	return at;
}

static int parse_host_list(struct host_parser *p, struct err *e)
{
	const char *at = p->text, *end;

	for (;; at = end) {
		while (is_host_separator(*at))
			at++;
		if (!*at)
			return 0;
		end = host_item_end(at);
		if (parse_host(p, at, end, 0, e))
			return e->code;
	}
}

/* ---- a file ---- */

/* Parse KEY=VALUE, blanks around = allowed, and move *at after it. *slots: only set by slots=. */
static int parse_hostfile_key(const struct host_parser *p, const char **at, int64_t *slots,
			      struct err *e)
{
	const char *key = *at, *value, *end;
	size_t n = strcspn(key, "= \t");

	value = key + n + strspn(key + n, " \t");
	if (*value != '=')
		return host_error(p, key, e, "\"%.*s\": expected slots=NUMBER after the host",
				  (int)MIN(n, 100), key);
	value += 1 + strspn(value + 1, " \t");
	end = value + strcspn(value, " \t\r");
	*at = end;
	if ((n == 5 && !strncmp(key, "slots", n)) || (n == 3 && !strncmp(key, "cpu", n)) ||
	    (n == 5 && !strncmp(key, "count", n)))
		return parse_host_number(value, end, slots) && *slots > 0
			       ? 0
			       : host_error(
					 p, value, e,
					 "\"%.*s\" is not a number of slots: expected slots=NUMBER",
					 (int)MIN(end - value, 100), value);
	if (n == 9 && (!strncmp(key, "max_slots", n) || !strncmp(key, "max-slots", n)))
		return 0;
	return host_error(p, key, e, "unknown key \"%.*s\": expected slots=NUMBER",
			  (int)MIN(n, 100), key);
}

static int parse_hostfile_line(struct host_parser *p, char *line, struct err *e)
{
	const char *at = line + strspn(line, " \t"), *end, *key;
	int64_t slots = 0;

	line[strcspn(line, "#")] = 0;
	p->text = line;
	if (!strchr(line, '='))
		return parse_host_list(p, e);
	end = at + strcspn(at, " \t=");
	if (*end == '=')
		return host_error(p, at, e, "expected a host name at the beginning of the line");
	for (key = end; *(key += strspn(key, " \t\r"));)
		if (parse_hostfile_key(p, &key, &slots, e))
			return e->code;
	return parse_host(p, at, end, slots, e);
}

static int read_hosts_text(struct hosts *h, struct buf *text, const char *source, struct err *e)
{
	struct host_parser p = { .hosts = h, .source = source };
	char *line = text->data, *next;
	const char *start = buf_text(text) + strspn(buf_text(text), " \t\r\n");

	if (strlen(buf_text(text)) != text->len)
		return err_set(e, ERR_DATA,
			       "%s: contains a NUL byte: expected a text file with one host a line",
			       source);
	if (*start == '{' || (*start == '[' && strpbrk(start, "{\"")))
		return hosts_read_aws(h, buf_text(text), text->len, source, e);
	for (; line && *line; line = next) {
		next = strchr(line, '\n');
		if (next)
			*next++ = 0;
		p.line++;
		if (parse_hostfile_line(&p, line, e))
			return e->code;
	}
	return h->n ? 0 : err_set(e, ERR_DATA, "%s: lists no host", source);
}

static int read_hostfile(struct hosts *h, const char *path, struct err *e)
{
	struct buf text = { 0 };
	bool is_stdin = !strcmp(path, "-");
	int rc = file_read_all(is_stdin ? "/dev/stdin" : path, MAX_FILE, &text, e);

	if (!rc)
		rc = read_hosts_text(h, &text, is_stdin ? "standard input" : path, e);
	buf_free(&text);
	return rc;
}

/* ---- Slurm ---- */

/* Expand "2(x3),1" to 2 2 2 1; *tasks is owned by the caller, also on failure. */
static int read_slurm_tasks(const char *text, int32_t **tasks, size_t *n, struct err *e)
{
	size_t cap = 0;

	for (const char *at = text; *at;) {
		char *end;
		long count = strtol(at, &end, 10), times = 1;

		if (end != at && end[0] == '(' && end[1] == 'x') {
			times = strtol(end + 2, &end, 10);
			if (*end == ')')
				end++;
			else
				times = 0;
		}
		if (end == at || count < 1 || count > HOSTS_MAX_SLOTS || times < 1 ||
		    times > HOSTS_MAX || (*end && *end != ','))
			return err_set(
				e, ERR_DATA,
				"SLURM_TASKS_PER_NODE is \"%.100s\": expected for example 2(x3),1",
				text);
		if (mem_grow(tasks, &cap, *n + (size_t)times, sizeof(**tasks), e))
			return e->code;
		while (times--)
			(*tasks)[(*n)++] = (int32_t)count;
		at = end + (*end == ',');
	}
	return 0;
}

static int read_slurm_hosts(struct hosts *h, const struct hosts_env *env, struct err *e)
{
	struct host_parser p = { .hosts = h, .text = env->slurm_nodelist };
	int32_t *tasks = NULL;
	size_t n = 0;
	int rc = 0;

	if (!env->slurm_nodelist)
		return err_set(e, ERR_USAGE,
			       "slurm: SLURM_JOB_NODELIST is not set: run this inside a Slurm "
			       "job");
	if (env->slurm_tasks)
		rc = read_slurm_tasks(env->slurm_tasks, &tasks, &n, e);
	p.tasks = env->slurm_tasks ? tasks : NULL;
	p.n_tasks = n;
	if (!rc)
		rc = parse_host_list(&p, e);
	assert(p.next_task <= p.n_tasks);
	free(tasks);
	return rc;
}

/* ---- choice of the format ---- */

struct hosts_env hosts_env_get(void)
{
	return (struct hosts_env){ getenv("PBS_NODEFILE"), getenv("SLURM_JOB_NODELIST"),
				   getenv("SLURM_TASKS_PER_NODE") };
}

int hosts_read(struct hosts *h, const char *spec, const struct hosts_env *env, struct err *e)
{
	struct host_parser p = { .hosts = h, .text = spec };

	if (!strcmp(spec, "slurm"))
		return read_slurm_hosts(h, env, e);
	if (!strcmp(spec, "pbs"))
		return env->pbs_nodefile
			       ? read_hostfile(h, env->pbs_nodefile, e)
			       : err_set(e, ERR_USAGE,
					 "pbs: PBS_NODEFILE is not set: run this inside a PBS job");
	if (!strcmp(spec, "-") || strchr(spec, '/') || file_size(spec) >= 0)
		return read_hostfile(h, spec, e);
	if (parse_host_list(&p, e))
		return e->code;
	if (h->n)
		return 0;
	return err_set(e, ERR_USAGE, "the host list is empty: give for example a:2,b:2, or a file");
}

/* ---- questions about a list ---- */

int64_t hosts_total_slots(const struct hosts *h)
{
	int64_t sum = 0;

	for (size_t i = 0; i < h->n; i++)
		sum += h->all[i].slots;
	return sum;
}

struct host *hosts_find(const struct hosts *h, const char *name)
{
	for (size_t i = 0; i < h->n; i++)
		if (!strcasecmp(h->all[i].name, name))
			return &h->all[i];
	return NULL;
}

/* The short name of this host ("node7" of "node7.cluster.example") counts as this host, too. */
bool host_is_local(const struct host *host)
{
	static const char *const always[] = { "localhost", "127.0.0.1", "::1" };
	const char *name = host->name;
	char ours[256] = "";
	size_t n;

	for (size_t i = 0; i < ARRAY_LEN(always); i++)
		if (!strcasecmp(name, always[i]))
			return true;
	if (gethostname(ours, sizeof(ours) - 1) || !ours[0])
		return false;
	n = strcspn(ours, ".");
	return !strcasecmp(name, ours) || (!strncasecmp(name, ours, n) && !name[n]);
}

bool hosts_are_local(const struct hosts *h)
{
	return !h || h->n == 0 || (h->n == 1 && host_is_local(&h->all[0]));
}

void hosts_free(struct hosts *h)
{
	for (size_t i = 0; i < h->n; i++)
		free(h->all[i].name);
	free(h->all);
	*h = (struct hosts){ 0 };
}
