/* drop_ledger_read.c - incremental index and filter of ledger.tsv (see drop_ledger_read.h) */
#include "data/inspect/drop_ledger_read.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "share/base/file.h"
#include "share/base/mem.h"
#include "share/base/util.h"

struct drop_rows {
	struct map map;
	size_t at;	  /* bytes of the file that are indexed */
	uint64_t *starts; /* owned: (n) offset of each row */
	uint8_t *rules;	  /* owned: (n) enum clean_rule of each row */
	size_t n, cap_starts, cap_rules;
	int64_t counts[CLEAN_N_RULES];
	/* the filter */
	enum clean_rule rule;
	const struct text_filter *filter; /* borrowed; NULL: any text */
	uint32_t *wanted;		  /* owned: selected rows; unused while unfiltered */
	size_t n_wanted, cap_wanted;
	size_t n_filtered; /* rows that the filter has examined; n_wanted <= n_filtered <= n */
};

static size_t drop_row_end(const struct drop_rows *l, size_t from)
{
	const unsigned char *end = memchr(l->map.data + from, '\n', l->map.len - from);

	return end ? (size_t)(end - l->map.data) : l->map.len;
}

struct drop_rows *drop_rows_open(const char *path, struct err *e)
{
	struct drop_rows *l = mem_alloc(1, sizeof(*l), e);

	if (!l)
		return NULL;
	if (map_open(&l->map, path, e)) {
		free(l);
		return NULL;
	}
	if (l->map.len) /* skip the names of the columns */
		l->at = MIN(drop_row_end(l, 0) + 1, l->map.len);
	return l;
}

void drop_rows_free(struct drop_rows *l)
{
	if (!l)
		return;
	map_close(&l->map);
	free(l->starts);
	free(l->rules);
	free(l->wanted);
	free(l);
}

static bool drop_rows_is_unfiltered(const struct drop_rows *l)
{
	return l->rule == CLEAN_KEEP && !l->filter;
}

void drop_rows_filter(struct drop_rows *l, enum clean_rule rule, const struct text_filter *filter)
{
	l->rule = rule;
	l->filter = filter && *filter->text ? filter : NULL;
	l->n_wanted = l->n_filtered = 0;
}

/* The field at *at; advances *at past it. After the end of the row: an empty field. */
static struct drop_row_field drop_row_next_field(const char **at, const char *end)
{
	const char *tab = *at < end ? memchr(*at, '\t', (size_t)(end - *at)) : NULL;
	struct drop_row_field f = { *at, (size_t)((tab ? tab : end) - *at) };

	*at = tab ? tab + 1 : end;
	return f;
}

static enum clean_rule drop_row_rule(struct drop_row_field f)
{
	char name[32];

	if (f.n >= sizeof(name))
		return CLEAN_KEEP;
	memcpy(name, f.text, f.n);
	name[f.n] = 0;
	return clean_rule_find(name);
}

static void drop_row_parse(const struct drop_rows *l, size_t start, size_t end,
			   struct drop_row *row)
{
	const char *at = (const char *)l->map.data + start, *stop = (const char *)l->map.data + end;

	row->file = drop_row_next_field(&at, stop);
	row->line = drop_row_next_field(&at, stop);
	row->rule = drop_row_rule(drop_row_next_field(&at, stop));
	row->source = drop_row_next_field(&at, stop);
	row->target = drop_row_next_field(&at, stop);
}

static int drop_rows_index_row(struct drop_rows *l, struct err *e)
{
	size_t end = drop_row_end(l, l->at);
	struct drop_row row;

	if (l->n >= UINT32_MAX)
		return err_set(e, ERR_DATA, "ledger.tsv has more than %u rows", UINT32_MAX);
	if (mem_grow(&l->starts, &l->cap_starts, l->n + 1, sizeof(*l->starts), e) ||
	    mem_grow(&l->rules, &l->cap_rules, l->n + 1, sizeof(*l->rules), e))
		return e->code;
	drop_row_parse(l, l->at, end, &row);
	l->starts[l->n] = l->at;
	l->rules[l->n++] = (uint8_t)row.rule;
	l->counts[row.rule]++;
	l->at = MIN(end + 1, l->map.len);
	return 0;
}

static int drop_rows_filter_row(struct drop_rows *l, struct err *e)
{
	size_t start = l->starts[l->n_filtered], n = drop_row_end(l, start) - start;
	bool wanted = l->rule == CLEAN_KEEP || l->rules[l->n_filtered] == (uint8_t)l->rule;

	if (wanted && l->filter)
		wanted = text_filter_matches_bytes(l->filter, (const char *)l->map.data + start, n);
	if (wanted) {
		if (mem_grow(&l->wanted, &l->cap_wanted, l->n_wanted + 1, sizeof(*l->wanted), e))
			return e->code;
		l->wanted[l->n_wanted++] = (uint32_t)l->n_filtered;
	}
	l->n_filtered++;
	assert(l->n_wanted <= l->n_filtered && l->n_filtered <= l->n);
	return 0;
}

int drop_rows_scan(struct drop_rows *l, size_t bytes, struct err *e)
{
	size_t until = l->map.len - l->at > bytes ? l->at + bytes : l->map.len, seen = 0;
	size_t from = l->at, first = l->n_filtered;

	while (l->at < until)
		if (drop_rows_index_row(l, e))
			return e->code;
	while (!drop_rows_is_unfiltered(l) && l->n_filtered < l->n && seen < bytes) {
		seen += (l->n_filtered + 1 < l->n ? l->starts[l->n_filtered + 1] : l->at) -
			l->starts[l->n_filtered];
		if (drop_rows_filter_row(l, e))
			return e->code;
	}
	/* release the scanned pages: a huge ledger must not fill the memory */
	if (l->at > from)
		map_drop_pages(l->map.data + from, l->at - from);
	if (l->n_filtered > first)
		map_drop_pages(l->map.data + l->starts[first], seen);
	return l->at < l->map.len || (!drop_rows_is_unfiltered(l) && l->n_filtered < l->n);
}

size_t drop_rows_n(const struct drop_rows *l)
{
	return drop_rows_is_unfiltered(l) ? l->n : l->n_wanted;
}

int64_t drop_rows_of_rule(const struct drop_rows *l, enum clean_rule rule)
{
	return rule == CLEAN_KEEP ? (int64_t)l->n : rule < CLEAN_N_RULES ? l->counts[rule] : 0;
}

double drop_rows_scanned(const struct drop_rows *l)
{
	double of = (double)MAX(l->map.len, (size_t)1);
	size_t n_filtered = l->n_filtered < l->n ? l->starts[l->n_filtered] : l->at;

	return (double)(drop_rows_is_unfiltered(l) ? l->at : n_filtered) / of;
}

void drop_rows_get(const struct drop_rows *l, size_t i, struct drop_row *row)
{
	size_t at = drop_rows_is_unfiltered(l) ? i : l->wanted[i];

	assert(i < drop_rows_n(l));
	drop_row_parse(l, l->starts[at], drop_row_end(l, l->starts[at]), row);
}
