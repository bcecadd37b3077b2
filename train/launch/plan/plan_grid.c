/* plan_grid.c - see plan_grid.h */
#include "train/launch/plan/plan_grid.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "share/base/mem.h"
#include "share/base/text.h"
#include "share/base/util.h"
#include "train/common/network.h"
#include "train/launch/plan/plan_run.h"

typedef int list_word_fn(void *to, const char *word, struct err *e);

/* Call add_word_fn for each word of "a,b,c"; *n is the length of its list so far. */
static int for_each_list_word(const char *list, size_t *n, list_word_fn *add_word_fn, void *to,
			      struct err *e)
{
	char *copy = mem_strdup(list, e), *at = copy, *word;
	int rc = copy ? 0 : e->code;

	while (!rc && (word = strsep(&at, ",")) != NULL) {
		word = text_trim(word);
		if (!*word)
			continue;
		if (*n >= PLAN_MAX_LIST)
			rc = err_set(e, ERR_USAGE,
				     "a plan has at most %d values of each option: \"%s\"",
				     PLAN_MAX_LIST, list);
		else
			rc = add_word_fn(to, word, e);
	}
	free(copy);
	return rc;
}

static int add_hosts_count(void *to, const char *word, struct err *e)
{
	struct plan_grid *g = to;
	int64_t n;

	if (!text_to_int(word, &n) || n < 1 || n > PLAN_MAX_HOSTS)
		return err_set(e, ERR_USAGE,
			       "--hosts-count: \"%s\" is not a number of hosts (1 to %d)", word,
			       PLAN_MAX_HOSTS);
	g->hosts[g->n_hosts++] = n;
	return 0;
}

static int add_link_speed(void *to, const char *word, struct err *e)
{
	struct plan_grid *g = to;
	double bytes_s;

	if (network_rate_read(word, &bytes_s, e))
		return err_prefix(e, "--link");
	g->links[g->n_links++] = bytes_s * PLAN_PAYLOAD;
	return 0;
}

/* ---- --vary ------------------------------------------------------------ */

/* conf_set() parses each value, so it has the range and words of the option itself. */
struct varied {
	struct plan_grid *grid;
	struct conf scratch;
	char name[40]; /* of the option, with dashes */
};

static size_t *varied_list_length(struct plan_grid *g, const char *name)
{
	const struct {
		const char *name;
		size_t *n;
	} all[] = {
		{ "wire", &g->n_wire },		{ "micro-batches", &g->n_micro_batches },
		{ "local-steps", &g->n_local }, { "overlap-reduce", &g->n_overlap },
		{ "bucket-mb", &g->n_bucket },	{ "shard-optimizer", &g->n_shard },
	};

	for (size_t i = 0; i < ARRAY_LEN(all); i++)
		if (!strcmp(all[i].name, name))
			return all[i].n;
	return NULL;
}

static int add_varied_value(void *to, const char *word, struct err *e)
{
	struct varied *v = to;
	struct plan_grid *g = v->grid;
	struct plan_setup w;

	if (conf_set(&v->scratch, v->name, word, "--vary", e))
		return err_prefix(e, "--vary");
	plan_setup_from_conf(&w, &v->scratch);
	if (!strcmp(v->name, "wire"))
		g->wire[g->n_wire++] = w.wire;
	else if (!strcmp(v->name, "micro-batches"))
		g->micro_batches[g->n_micro_batches++] = w.micro_batches;
	else if (!strcmp(v->name, "local-steps"))
		g->local[g->n_local++] = w.local_steps;
	else if (!strcmp(v->name, "overlap-reduce"))
		g->overlap[g->n_overlap++] = w.overlap;
	else if (!strcmp(v->name, "bucket-mb"))
		g->bucket[g->n_bucket++] = w.bucket_bytes;
	else
		g->shard[g->n_shard++] = w.shard;
	return 0;
}

static int read_varied_option(struct plan_grid *g, const char *text, struct err *e)
{
	static const char *const names[] = { "wire",	       "micro-batches", "local-steps",
					     "overlap-reduce", "bucket-mb",	"shard-optimizer" };
	struct varied v = { .grid = g };
	struct conf_row row;
	const char *equals = strchr(text, '=');
	size_t length = equals ? (size_t)(equals - text) : 0, *n;
	char hint[TEXT_HINT_MAX];
	int rc;

	if (!equals || length == 0 || length >= sizeof(v.name))
		return err_set(e, ERR_USAGE,
			       "--vary \"%s\": expected NAME=VALUE,VALUE, for "
			       "example wire=fp32,bf16",
			       text);
	snprintf(v.name, sizeof(v.name), "%.*s", (int)length, text);
	if (conf_find_row(v.name, &row)) /* former names count too */
		snprintf(v.name, sizeof(v.name), "%s", row.name);
	for (char *p = v.name; *p; p++)
		*p = *p == '_' ? '-' : *p;
	n = varied_list_length(g, v.name);
	if (!n)
		return err_set(e, ERR_USAGE,
			       "--vary: a plan cannot vary \"%s\"%s; it varies wire, "
			       "micro-batches, local-steps, overlap-reduce, bucket-mb and "
			       "shard-optimizer",
			       v.name,
			       text_hint(hint, text_nearest(v.name, names, ARRAY_LEN(names))));
	rc = conf_init(&v.scratch, e);
	if (!rc)
		rc = for_each_list_word(equals + 1, n, add_varied_value, &v, e);
	if (!rc && *n == 0)
		rc = err_set(e, ERR_USAGE, "--vary %s: give at least one value", v.name);
	conf_free(&v.scratch);
	return rc;
}

/* ---- the whole --------------------------------------------------------- */

static void fill_grid_defaults(struct plan_grid *g, const struct plan_setup *base)
{
	static const int64_t hosts[] = { 1, 2, 4, 8, 16, 64, 256, 1024 };

	if (g->n_hosts == 0)
		for (; g->n_hosts < ARRAY_LEN(hosts); g->n_hosts++)
			g->hosts[g->n_hosts] = hosts[g->n_hosts];
	if (g->n_wire == 0)
		g->wire[g->n_wire++] = base->wire;
	if (g->n_micro_batches == 0)
		g->micro_batches[g->n_micro_batches++] = base->micro_batches;
	if (g->n_local == 0)
		g->local[g->n_local++] = base->local_steps;
	if (g->n_overlap == 0)
		g->overlap[g->n_overlap++] = base->overlap;
	if (g->n_bucket == 0)
		g->bucket[g->n_bucket++] = base->bucket_bytes;
	if (g->n_shard == 0)
		g->shard[g->n_shard++] = base->shard;
}

int plan_grid_read(struct plan_grid *g, const struct conf *c, const struct plan_setup *base,
		   struct err *e)
{
	int rc = 0;

	memset(g, 0, sizeof(*g));
	g->payload = PLAN_PAYLOAD;
	for (size_t i = 0; !rc && i < c->hosts_count.n; i++)
		rc = for_each_list_word(c->hosts_count.items[i], &g->n_hosts, add_hosts_count, g,
					e);
	for (size_t i = 0; !rc && i < c->link.n; i++)
		rc = for_each_list_word(c->link.items[i], &g->n_links, add_link_speed, g, e);
	for (size_t i = 0; !rc && i < c->vary.n; i++)
		rc = read_varied_option(g, c->vary.items[i], e);
	if (!rc && c->hosts_count.n && g->n_hosts == 0)
		rc = err_set(e, ERR_USAGE, "--hosts-count: give at least one number");
	if (!rc && c->link.n && g->n_links == 0)
		rc = err_set(e, ERR_USAGE, "--link: give at least one speed");
	if (!rc)
		fill_grid_defaults(g, base);
	if (!rc && plan_grid_row_count(g) > PLAN_MAX_ROWS)
		rc = err_set(e, ERR_USAGE,
			     "this plan has %zu rows, more than %d: give fewer values",
			     plan_grid_row_count(g), PLAN_MAX_ROWS);
	return rc;
}

size_t plan_grid_row_count(const struct plan_grid *g)
{
	/* PLAN_MAX_LIST to the eighth power is below 2^64 */
	return MAX(g->n_links, 1) * g->n_hosts * g->n_wire * g->n_micro_batches * g->n_local *
	       g->n_overlap * g->n_bucket * g->n_shard;
}

/* Split off the lowest digit of *i in this base. */
static size_t next_grid_digit(size_t *i, size_t base)
{
	size_t d = *i % base;

	assert(base > 0);
	*i /= base;
	return d;
}

void plan_grid_row(const struct plan_grid *g, size_t i, const struct plan_setup *base,
		   struct plan_setup *way)
{
	assert(i < plan_grid_row_count(g));
	*way = *base;
	way->overlap = g->overlap[next_grid_digit(&i, g->n_overlap)];
	way->bucket_bytes = g->bucket[next_grid_digit(&i, g->n_bucket)];
	way->shard = g->shard[next_grid_digit(&i, g->n_shard)];
	way->local_steps = g->local[next_grid_digit(&i, g->n_local)];
	way->micro_batches = g->micro_batches[next_grid_digit(&i, g->n_micro_batches)];
	way->wire = g->wire[next_grid_digit(&i, g->n_wire)];
	way->hosts = g->hosts[next_grid_digit(&i, g->n_hosts)];
	if (g->n_links)
		way->link_bytes_s = g->links[next_grid_digit(&i, g->n_links)];
}
