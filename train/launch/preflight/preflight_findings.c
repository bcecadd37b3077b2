/* preflight_findings.c - adds findings to hosts, and prints the result of the check; see preflight.h */
#include <assert.h>
#include <math.h>
#include <stdarg.h>
#include <string.h>

#include "share/base/file.h"
#include "share/base/mem.h"
#include "share/base/text.h"
#include "share/base/util.h"
#include "share/format/json.h"
#include "train/launch/preflight/preflight_internal.h"

void preflight_add_finding(struct preflight_host *h, enum finding_level level, const char *what,
			   const char *fmt, ...)
{
	struct err lost;
	size_t cap = h->n_findings;
	struct finding *f;
	va_list ap;

	if (mem_grow(&h->findings, &cap, h->n_findings + 1, sizeof(*h->findings), &lost))
		return;
	f = &h->findings[h->n_findings++];
	*f = (struct finding){ .level = level };
	snprintf(f->what, sizeof(f->what), "%s", what);
	va_start(ap, fmt);
	vsnprintf(f->text, sizeof(f->text), fmt, ap);
	va_end(ap);
}

static const char *const level_names[] = { "ok", "warning", "error" };

static enum finding_level worst_finding_level(const struct preflight_host *h)
{
	enum finding_level worst = h->alive ? FINDING_OK : FINDING_ERROR;

	for (size_t k = 0; k < h->n_findings; k++)
		worst = MAX(worst, h->findings[k].level);
	return worst;
}

/* value -1: unknown. unit 1: print an integer. */
static void print_scaled_amount(FILE *out, int width, int64_t value, double unit)
{
	if (value < 0)
		fprintf(out, "  %*s", width, "-");
	else if (unit > 1)
		fprintf(out, "  %*.1f", width, (double)value / unit);
	else
		fprintf(out, "  %*lld", width, (long long)value);
}

static void print_host_row(const struct preflight_host *h, int width, FILE *out)
{
	fprintf(out, "%-*s  %-7s  %5d", width, h->host->name, level_names[worst_finding_level(h)],
		h->host->slots);
	print_scaled_amount(out, 5, h->cores, 1);
	print_scaled_amount(out, 4, h->gpus, 1);
	print_scaled_amount(out, 8, h->memory, 1e9);
	print_scaled_amount(out, 7, h->disk_free, 1e9);
	if (h->alive)
		fprintf(out, "  %7.2f", fabs(h->clock_skew_s) < 0.005 ? 0 : h->clock_skew_s);
	else
		fprintf(out, "  %7s", "-");
	fprintf(out, "  %-10s  %s\n", h->interface[0] ? h->interface : "-",
		h->address[0] ? h->address : "-");
}

void preflight_print(const struct preflight_check *p, FILE *out)
{
	int width = (int)strlen("host");
	size_t alive = 0, errors = 0, warnings = 0;

	for (size_t i = 0; i < p->n; i++)
		width = MAX(width, (int)strlen(p->hosts[i].host->name));
	fprintf(out,
		"%-*s  %-7s  slots  cores  GPUs  mem. GB  disk GB  clock s  interface   "
		"address\n",
		width, "host", "state");
	for (size_t i = 0; i < p->n; i++)
		print_host_row(&p->hosts[i], width, out);
	for (size_t i = 0; i < p->n; i++)
		for (size_t k = 0; k < p->hosts[i].n_findings; k++) {
			const struct finding *f = &p->hosts[i].findings[k];

			assert(f->level <= p->worst);
			fprintf(out, "%s  %s: %s\n", level_names[f->level], f->what, f->text);
			errors += f->level == FINDING_ERROR;
			warnings += f->level == FINDING_WARNING;
		}
	for (size_t i = 0; i < p->n; i++)
		alive += p->hosts[i].alive;
	if (p->network[0])
		fprintf(out, "network between the hosts: %s\n", p->network);
	if (p->latency_s > 0)
		fprintf(out, "latency between the hosts: at most %.2f ms\n", 1e3 * p->latency_s);
	fprintf(out, "verdict: %s: %zu of %zu host%s answered, %zu error%s, %zu warning%s\n",
		p->worst == FINDING_ERROR ? "a training cannot start" : "a training can start",
		alive, p->n, text_plural((double)p->n), errors, text_plural(errors), warnings,
		text_plural(warnings));
}

static void put_known_int(struct json_writer *w, const char *key, int64_t value)
{
	if (value >= 0)
		json_put_int(w, key, value);
}

static void put_host_object(struct json_writer *w, const struct preflight_host *h)
{
	json_open(w, '{');
	json_put_str(w, "host", h->host->name);
	json_put_int(w, "slots", h->host->slots);
	json_put_str(w, "state", level_names[worst_finding_level(h)]);
	json_put_bool(w, "alive", h->alive);
	json_put_real(w, "seconds", h->seconds);
	if (h->alive)
		json_put_real(w, "login_s", h->login_s);
	put_known_int(w, "cores", h->cores);
	put_known_int(w, "gpus", h->gpus);
	put_known_int(w, "memory", h->memory);
	put_known_int(w, "disk_free", h->disk_free);
	if (h->alive)
		json_put_real(w, "clock_skew_s", h->clock_skew_s);
	if (h->interface[0])
		json_put_str(w, "interface", h->interface);
	if (h->address[0])
		json_put_str(w, "address", h->address);
	json_put_open(w, "findings", '[');
	for (size_t k = 0; k < h->n_findings; k++) {
		json_open(w, '{');
		json_put_str(w, "level", level_names[h->findings[k].level]);
		json_put_str(w, "what", h->findings[k].what);
		json_put_str(w, "text", h->findings[k].text);
		json_close(w, '}');
	}
	json_close(w, ']');
	json_close(w, '}');
}

int preflight_print_json(const struct preflight_check *p, struct err *e)
{
	struct buf b = { 0 };
	struct json_writer w = { .out = &b };
	int rc;

	json_open(&w, '{');
	json_put_str(&w, "verdict", level_names[p->worst]);
	if (p->network[0])
		json_put_str(&w, "network", p->network);
	json_put_open(&w, "hosts", '[');
	for (size_t i = 0; i < p->n; i++)
		put_host_object(&w, &p->hosts[i]);
	json_close(&w, ']');
	if (p->latency_s > 0)
		json_put_real(&w, "latency_s", p->latency_s);
	json_close(&w, '}');
	buf_add_char(&b, '\n');
	rc = file_put_stdout(&b, e);
	buf_free(&b);
	return rc;
}
