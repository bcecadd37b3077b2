/* drop_ledger_read.c - see drop_ledger_read.h */
#include "data/drop_ledger_read.h"

#include <stdlib.h>
#include <string.h>

#include "share/base/file.h"
#include "share/base/mem.h"
#include "share/base/util.h"

#define MAX_WORD 100

struct ledger_rows {
	struct map map;
	size_t   at;		/* bytes whose rows are known */
	uint64_t *starts;	/* owned: (n) */
	uint8_t  *rules;	/* owned: (n) */
	size_t   n, cap_starts, cap_rules;
	int64_t  counts[CLEAN_N_RULES];
	/* the filter */
	enum clean_rule rule;
	char     word[MAX_WORD + 1];
	uint32_t *wanted;	/* owned: rows; unused while everything is wanted */
	size_t   n_wanted, cap_wanted, judged;
};

static size_t line_end(const struct ledger_rows *l, size_t from)
{
	const unsigned char *end = memchr(l->map.data + from, '\n', l->map.len - from);

	return end ? (size_t)(end - l->map.data) : l->map.len;
}

struct ledger_rows *ledger_rows_open(const char *path, struct err *e)
{
	struct ledger_rows *l = mem_alloc(1, sizeof(*l), e);

	if (!l)
		return NULL;
	if (map_open(&l->map, path, e)) {
		free(l);
		return NULL;
	}
	if (l->map.len)		/* names of columns */
		l->at = MIN(line_end(l, 0) + 1, l->map.len);
	return l;
}

void ledger_rows_free(struct ledger_rows *l)
{
	if (!l)
		return;
	map_close(&l->map);
	free(l->starts);
	free(l->rules);
	free(l->wanted);
	free(l);
}

static bool wants_all(const struct ledger_rows *l)
{
	return l->rule == CLEAN_KEEP && !l->word[0];
}

void ledger_rows_filter(struct ledger_rows *l, enum clean_rule rule, const char *word)
{
	size_t n = MIN(strlen(word), (size_t)MAX_WORD);

	l->rule = rule;
	memcpy(l->word, word, n);
	l->word[n] = 0;
	l->n_wanted = l->judged = 0;
}

/* The field at *at, which moves behind it; an empty one where the row has ended. */
static struct ledger_field next_field(const char **at, const char *end)
{
	const char *tab = *at < end ? memchr(*at, '\t', (size_t)(end - *at)) : NULL;
	struct ledger_field f = { *at, (size_t)((tab ? tab : end) - *at) };

	*at = tab ? tab + 1 : end;
	return f;
}

static enum clean_rule rule_of(struct ledger_field f)
{
	char name[32];

	if (f.n >= sizeof(name))
		return CLEAN_KEEP;
	memcpy(name, f.text, f.n);
	name[f.n] = 0;
	return clean_rule_find(name);
}

static void read_row(const struct ledger_rows *l, size_t start, size_t end, struct ledger_row *row)
{
	const char *at = (const char *)l->map.data + start, *stop = (const char *)l->map.data + end;

	row->file = next_field(&at, stop);
	row->line = next_field(&at, stop);
	row->rule = rule_of(next_field(&at, stop));
	row->source = next_field(&at, stop);
	row->target = next_field(&at, stop);
}

static int index_row(struct ledger_rows *l, struct err *e)
{
	size_t end = line_end(l, l->at);
	struct ledger_row row;

	if (l->n >= UINT32_MAX)
		return err_set(e, ERR_DATA, "a ledger of more than %u rows", UINT32_MAX);
	if (mem_grow(&l->starts, &l->cap_starts, l->n + 1, sizeof(*l->starts), e) ||
	    mem_grow(&l->rules, &l->cap_rules, l->n + 1, sizeof(*l->rules), e))
		return e->code;
	read_row(l, l->at, end, &row);
	l->starts[l->n] = l->at;
	l->rules[l->n++] = (uint8_t)row.rule;
	l->counts[row.rule]++;
	l->at = MIN(end + 1, l->map.len);
	return 0;
}

static int judge_row(struct ledger_rows *l, struct err *e)
{
	size_t start = l->starts[l->judged], n = line_end(l, start) - start;
	bool wanted = l->rule == CLEAN_KEEP || l->rules[l->judged] == (uint8_t)l->rule;

	if (wanted && l->word[0])
		wanted = memmem(l->map.data + start, n, l->word, strlen(l->word)) != NULL;
	if (wanted) {
		if (mem_grow(&l->wanted, &l->cap_wanted, l->n_wanted + 1, sizeof(*l->wanted), e))
			return e->code;
		l->wanted[l->n_wanted++] = (uint32_t)l->judged;
	}
	l->judged++;
	return 0;
}

int ledger_rows_more(struct ledger_rows *l, size_t bytes, struct err *e)
{
	size_t until = l->map.len - l->at > bytes ? l->at + bytes : l->map.len, seen = 0;
	size_t from = l->at, first = l->judged;

	while (l->at < until)
		if (index_row(l, e))
			return e->code;
	while (!wants_all(l) && l->judged < l->n && seen < bytes) {
		seen += (l->judged + 1 < l->n ? l->starts[l->judged + 1] : l->at) -
			l->starts[l->judged];
		if (judge_row(l, e))
			return e->code;
	}
	/* the few rows on the screen are read again soon enough */
	if (l->at > from)
		map_forget(l->map.data + from, l->at - from);
	if (l->judged > first)
		map_forget(l->map.data + l->starts[first], seen);
	return l->at < l->map.len || (!wants_all(l) && l->judged < l->n);
}

size_t ledger_rows_n(const struct ledger_rows *l)
{
	return wants_all(l) ? l->n : l->n_wanted;
}

int64_t ledger_rows_count(const struct ledger_rows *l, enum clean_rule rule)
{
	return rule == CLEAN_KEEP ? (int64_t)l->n : rule < CLEAN_N_RULES ? l->counts[rule] : 0;
}

double ledger_rows_known(const struct ledger_rows *l)
{
	double of = (double)MAX(l->map.len, (size_t)1);
	size_t judged = l->judged < l->n ? l->starts[l->judged] : l->at;

	return (double)(wants_all(l) ? l->at : judged) / of;
}

void ledger_rows_get(const struct ledger_rows *l, size_t i, struct ledger_row *row)
{
	size_t at = wants_all(l) ? i : l->wanted[i];

	read_row(l, l->starts[at], line_end(l, l->starts[at]), row);
}
