/* host_cpu.c - see host_cpu.h */
#include "train/host/host_cpu.h"

#include <math.h>
#include <string.h>

#include "share/base/cgroup.h"
#include "share/base/text.h"

/* cpu user nice system idle iowait irq softirq steal; guests are within user and nice. */
bool host_cpu_times(const char *stat, uint64_t *busy, uint64_t *total)
{
	uint64_t v[8] = { 0 };
	size_t n = 0;

	if (strncmp(stat, "cpu ", 4) != 0)
		return false;
	stat += 4;
	while (n < ARRAY_LEN(v) && host_number(&stat, &v[n]))
		n++;
	if (n < 4)
		return false;
	*total = 0;
	for (size_t i = 0; i < n; i++)
		*total += v[i];
	*busy = *total - v[3] - v[4];
	return true;
}

static bool find_kib(const char *text, const char *name, double *bytes)
{
	size_t n = strlen(name);
	uint64_t kib;

	for (; *text; text = host_next_line(text))
		if (!strncmp(text, name, n)) {
			text += n;
			if (!host_number(&text, &kib))
				return false;
			*bytes = (double)kib * 1024;
			return true;
		}
	return false;
}

bool host_memory(const char *meminfo, double *total, double *available)
{
	return find_kib(meminfo, "MemTotal:", total) &&
	       find_kib(meminfo, "MemAvailable:", available) && *available <= *total;
}

void host_memory_read(const struct host_roots *roots, double *total, double *available)
{
	char text[4096];

	if (host_read(text, sizeof(text), "%s/meminfo", roots->proc) <= 0 ||
	    !host_memory(text, total, available))
		*total = *available = NAN;
	cgroup_limit_memory(roots->proc, roots->sys, total, available);
}

bool host_pressure(const char *pressure, uint64_t *waited_us)
{
	const char *end, *at;

	if (strncmp(pressure, "some ", 5) != 0)
		return false;
	end = host_next_line(pressure);
	at = strstr(pressure, " total=");
	if (!at || at >= end)
		return false;
	at += strlen(" total=");
	return host_number(&at, waited_us);
}

static double share_of_waits(struct host_counter *c, const struct host_roots *roots,
			     const char *name, double at)
{
	char text[300];
	uint64_t us = 0;
	bool is_known = host_read(text, sizeof(text), "%s/pressure/%s", roots->proc, name) > 0 &&
			host_pressure(text, &us);
	double rate = host_known_rate(c, is_known, us, at) * 1e-6;

	return rate > 1 ? 1 : rate;
}

/* NAN: unknown. */
static double busy_share(struct host_cpu *c, const char *stat)
{
	uint64_t busy, total;
	double share = NAN;

	if (!host_cpu_times(stat, &busy, &total)) {
		c->started = false;
		return NAN;
	}
	/* on some kernels idle times decrease slightly: ignore such a sample */
	if (c->started && total > c->total && busy >= c->busy && busy - c->busy <= total - c->total)
		share = (double)(busy - c->busy) / (double)(total - c->total);
	c->busy = busy;
	c->total = total;
	c->started = true;
	return share;
}

void host_cpu_sample(struct host_cpu *c, const struct host_roots *roots, double at,
		     struct host_cpu_now *now)
{
	char text[4096];
	char *blank;

	*now = (struct host_cpu_now){ NAN, NAN, NAN, NAN, NAN, NAN, NAN };
	host_read(text, sizeof(text), "%s/stat", roots->proc);
	now->busy = busy_share(c, text);
	if (host_read(text, sizeof(text), "%s/loadavg", roots->proc) > 0) {
		blank = strpbrk(text, " \n");
		if (blank)
			*blank = 0;
		if (!text_to_real(text, &now->load) || !isfinite(now->load) || now->load < 0)
			now->load = NAN;
	}
	host_memory_read(roots, &now->memory_total, &now->memory_available);
	now->waits_cpu = share_of_waits(&c->waits[0], roots, "cpu", at);
	now->waits_io = share_of_waits(&c->waits[1], roots, "io", at);
	now->waits_memory = share_of_waits(&c->waits[2], roots, "memory", at);
}
