/* host_file.c - see host_file.h */
#include "train/host/host_file.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "share/base/text.h"

static void host_choose_root(char *to, size_t room, const char *variable, const char *otherwise)
{
	const char *given = getenv(variable);

	snprintf(to, room, "%s", given && *given ? given : otherwise);
}

void host_roots_find(struct host_roots *r)
{
	host_choose_root(r->proc, sizeof(r->proc), "WERKBANK_PROC_ROOT", "/proc");
	host_choose_root(r->sys, sizeof(r->sys), "WERKBANK_SYS_ROOT", "/sys");
	host_choose_root(r->nvml, sizeof(r->nvml), "WERKBANK_NVML", "");
}

/* Files of /proc and /sys have no size, and some return their text in several pieces. */
static int64_t read_path(char *to, size_t room, const char *path)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	size_t have = 0;
	ssize_t n = -1;

	if (fd < 0)
		return -1;
	while (have + 1 < room) {
		n = read(fd, to + have, room - 1 - have);
		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			break;
		have += (size_t)n;
	}
	close(fd);
	to[have] = 0;
	return n < 0 && !have ? -1 : (int64_t)have;
}

int64_t host_read(char *to, size_t room, const char *fmt, ...)
{
	char path[700];
	va_list ap;
	int n;

	assert(room > 0);
	to[0] = 0;
	va_start(ap, fmt);
	n = vsnprintf(path, sizeof(path), fmt, ap);
	va_end(ap);
	return n < 0 || (size_t)n >= sizeof(path) ? -1 : read_path(to, room, path);
}

bool host_read_number(double *value, const char *fmt, ...)
{
	char path[700], text[64];
	va_list ap;
	int n;

	va_start(ap, fmt);
	n = vsnprintf(path, sizeof(path), fmt, ap);
	va_end(ap);
	if (n < 0 || (size_t)n >= sizeof(path) || read_path(text, sizeof(text), path) <= 0)
		return false;
	return text_to_real(text_trim(text), value) && isfinite(*value);
}

bool host_number(const char **at, uint64_t *value)
{
	const char *p = *at;
	uint64_t v = 0;

	while (*p == ' ' || *p == '\t')
		p++;
	if (*p < '0' || *p > '9')
		return false;
	for (; *p >= '0' && *p <= '9'; p++) {
		unsigned digit = (unsigned)(*p - '0');

		if (v > (UINT64_MAX - digit) / 10)
			return false;
		v = v * 10 + digit;
	}
	*at = p;
	*value = v;
	return true;
}

static int is_visible_name(const struct dirent *entry)
{
	return entry->d_name[0] != '.';
}

int host_list_folder(const char *folder, struct dirent ***names)
{
	int n = scandir(folder, names, is_visible_name, versionsort);

	if (n < 0)
		*names = NULL;
	return MAX(n, 0);
}

void host_free_list(struct dirent **names, int n)
{
	for (int i = 0; i < n; i++)
		free(names[i]);
	free(names);
}

const char *host_next_line(const char *at)
{
	const char *end = strchr(at, '\n');

	return end ? end + 1 : at + strlen(at);
}

double host_counter_rate(struct host_counter *c, uint64_t now, double at)
{
	bool usable = c->started && now >= c->last && at > c->at;
	double rate = usable ? (double)(now - c->last) / (at - c->at) : NAN;

	*c = (struct host_counter){ now, at, true };
	return rate;
}

double host_known_rate(struct host_counter *c, bool is_known, uint64_t now, double at)
{
	if (is_known)
		return host_counter_rate(c, now, at);
	c->started = false;
	return NAN;
}

void host_mean_add(struct host_mean *m, double value, double weight)
{
	if (!isfinite(value) || !(weight > 0))
		return;
	m->peak = m->weight > 0 ? fmax(m->peak, value) : value;
	m->sum += value * weight;
	m->weight += weight;
}

double host_mean_collect(struct host_mean *m, double *peak)
{
	double mean = m->weight > 0 ? m->sum / m->weight : NAN;

	if (peak)
		*peak = m->weight > 0 ? m->peak : NAN;
	*m = (struct host_mean){ 0 };
	return mean;
}
