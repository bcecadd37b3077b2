/* markup_place.c - puts pairs and items around the words of a translation; see markup.h */
#include <assert.h>
#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "eval/document/markup.h"
#include "share/base/mem.h"
#include "share/base/text.h"
#include "share/base/util.h"

/* Where a node stands: target words lo … hi - 1; an item or an empty pair: lo == hi, before word lo. */
struct node_place {
	int32_t node;
	size_t lo, hi;
	size_t n_words; /* of a pair: words that belong to it */
};

/* A word of the translation, or a part of one. */
struct placed_word {
	size_t at, end, source, source_end;
	int32_t inside; /* innermost pair, -1: none or not aligned */
	int32_t owner;	/* child of the pair in work; -1: the pair itself; -2: nobody */
	int32_t taken;	/* child that got the word, -1: none */
};

struct placing {
	const struct markup *m;
	const struct markup_target *t;
	struct placed_word *words; /* (n_words) owned */
	size_t n_words, cap;
	struct node_place *places; /* (m->n) owned: the children of each pair are together */
	size_t *first;	   /* (m->n + 2) owned: places of the children of node i - 1 begin here */
	size_t *by_source; /* (n_words) owned: aligned words of the pair in work by source */
	size_t n_by_source;
	struct buf *out;
	size_t pending, pending_end; /* blanks of the translation that are not written yet */
	bool wants_blank;
	const struct markup_node *solid; /* item after which no word stands yet; NULL: none */
	size_t last_word;		 /* 1 + the word that was written last; 0: none */
};

/* ---- words ---- */

static bool is_blank_range(const char *text, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (!isspace((unsigned char)text[i]))
			return false;
	return true;
}

/* Does a word begin or end with this byte of a text: a letter or a digit? */
static bool is_word_part(const char *text, size_t n, size_t at, bool is_end)
{
	uint32_t c = 0;

	while (is_end && at && ((unsigned char)text[at] & 0xc0) == 0x80)
		at--;
	if ((unsigned char)text[at] < 0x80)
		return isalnum((unsigned char)text[at]);
	(void)utf8_decode(text + at, n - at, &c);
	return c > 0xbf && (c & ~0x7fU) != 0x2000 && (c & ~0x3fU) != 0x3000 && c < 0xff00;
}

/* The innermost pair of a source word; of several the deepest. */
static int32_t pair_of_source(const struct markup *m, size_t from, size_t end)
{
	int32_t best = -1;

	for (size_t i = from; i < end; i++)
		if (m->inside[i] > best) /* parents come before children */
			best = m->inside[i];
	return best;
}

static int add_placed(struct placing *p, size_t at, size_t end, size_t source, size_t source_end,
		      struct err *e)
{
	if (mem_grow(&p->words, &p->cap, p->n_words + 1, sizeof(*p->words), e))
		return e->code;
	p->words[p->n_words++] = (struct placed_word){
		.at = at,
		.end = end,
		.source = source,
		.source_end = source_end,
		.inside = source_end > source ? pair_of_source(p->m, source, source_end) : -1
	};
	return 0;
}

/* Cuts a word that equals its source word where the source has tags. cuts: is there a tag before this byte? */
static int cut_placed_word(struct placing *p, const struct markup_word *w, const bool *cuts,
			   struct err *e)
{
	const size_t n = w->end - w->at;
	const bool is_copy = n == w->source_end - w->source &&
			     !memcmp(p->t->text + w->at, p->m->text.data + w->source, n);
	size_t from = 0;

	if (w->source_end <= w->source)
		return add_placed(p, w->at, w->end, 0, 0, e);
	if (!is_copy)
		return add_placed(p, w->at, w->end, w->source, w->source_end, e);
	for (size_t i = 1; i <= n; i++)
		if (i == n || cuts[w->source + i]) {
			if (add_placed(p, w->at + from, w->at + i, w->source + from, w->source + i,
				       e))
				return e->code;
			from = i;
		}
	return 0;
}

static int list_placed_words(struct placing *p, struct err *e)
{
	const struct markup *m = p->m;
	bool *cuts = mem_alloc(m->text.len + 1, sizeof(*cuts), e);
	int rc = cuts ? 0 : e->code;

	for (size_t i = 0; i < m->n && !rc; i++)
		cuts[m->nodes[i].at] = cuts[m->nodes[i].end] = true;
	for (size_t i = 0; i < p->t->n_words && !rc; i++) {
		assert(p->t->words[i].end <= p->t->n && p->t->words[i].source_end <= m->text.len);
		rc = cut_placed_word(p, &p->t->words[i], cuts, e);
	}
	free(cuts);
	return rc;
}

/* ---- the places of one pair's children ---- */

static struct node_place *children_of(const struct placing *p, int32_t node, size_t *n)
{
	*n = p->first[node + 2] - p->first[node + 1];
	return p->places + p->first[node + 1];
}

/* The child of `node` that holds the pair; -1: none. */
static int32_t child_holding(const struct markup *m, int32_t node, int32_t pair)
{
	while (pair >= 0 && m->nodes[pair].parent != node)
		pair = m->nodes[pair].parent;
	return pair;
}

/* The plain text of a pair without blanks around it; of node -1: all. */
static void trimmed_text(const struct markup *m, int32_t node, size_t *at, size_t *end)
{
	*at = node < 0 ? 0 : m->nodes[node].at;
	*end = node < 0 ? m->text.len : m->nodes[node].end;
	while (*at < *end && isspace((unsigned char)m->text.data[*at]))
		++*at;
	while (*end > *at && isspace((unsigned char)m->text.data[*end - 1]))
		--*end;
}

static int compare_by_words(const void *a, const void *b)
{
	const struct node_place *x = a, *y = b;

	if (x->n_words != y->n_words)
		return x->n_words < y->n_words ? -1 : 1;
	return x->node - y->node;
}

static int compare_by_place(const void *a, const void *b)
{
	const struct node_place *x = a, *y = b;
	const int x_has = x->hi > x->lo, y_has = y->hi > y->lo;

	if (x->lo != y->lo)
		return x->lo < y->lo ? -1 : 1;
	return x_has != y_has ? x_has - y_has : x->node - y->node;
}

static int compare_by_node(const void *a, const void *b)
{
	return ((const struct node_place *)a)->node - ((const struct node_place *)b)->node;
}

/* The best run of words for a child among those between `from` and `to`: its own words count 1, others against it. */
static void take_best_run(struct placing *p, struct node_place *c, size_t from, size_t to)
{
	int64_t best = 0, sum = 0, n_own = 0; /* own words since begin */
	size_t begin = from;

	c->lo = c->hi = from;
	for (size_t i = from; i < to; i++) {
		const struct placed_word *w = &p->words[i];

		const bool is_own = w->taken < 0 && w->owner == c->node;

		sum += is_own ? 1 : w->owner == -1 ? -1 : w->owner == -2 ? 0 : -2;
		n_own += is_own;
		if (w->taken >= 0 || sum < 0 || !n_own) {
			sum = n_own = 0;
			begin = i + 1;
		} else if (is_own && sum >= best && (sum > best || begin == c->lo)) {
			best = sum;
			c->lo = begin;
			c->hi = i + 1;
		}
	}
	for (size_t i = c->lo; i < c->hi; i++)
		p->words[i].taken = c->node;
}

/* Text of a DOCX paragraph must be inside a run: words between runs join the run before them. */
static void extend_runs(struct placing *p, struct node_place *c, size_t n, size_t lo, size_t hi)
{
	struct node_place *last = NULL;

	qsort(c, n, sizeof(*c), compare_by_place);
	for (size_t i = 0; i < n; i++) {
		if (c[i].hi == c[i].lo)
			continue;
		if (last)
			last->hi = c[i].lo;
		else
			c[i].lo = lo;
		last = &c[i];
	}
	if (last)
		last->hi = hi;
	for (size_t i = 0; i < n; i++)
		for (size_t k = c[i].lo; k < c[i].hi; k++)
			p->words[k].taken = c[i].node;
	qsort(c, n, sizeof(*c), compare_by_node);
}

/* Finds whose words the words lo … hi - 1 are, and the hull of each child's. */
static void label_words(struct placing *p, int32_t node, struct node_place *c, size_t n, size_t lo,
			size_t hi)
{
	for (size_t i = 0; i < n; i++)
		c[i].n_words = c[i].lo = c[i].hi = 0;
	for (size_t i = lo; i < hi; i++) {
		struct placed_word *w = &p->words[i];
		struct node_place key = { .node = child_holding(p->m, node, w->inside) };
		struct node_place *child =
			n && key.node >= 0 ? bsearch(&key, c, n, sizeof(*c), compare_by_node)
					   : NULL;

		w->taken = -1;
		w->owner = w->source_end > w->source ? key.node : -2;
		if (!child)
			continue;
		if (!child->n_words++)
			child->lo = i;
		child->hi = i + 1;
	}
}

/* Places the pairs among the children of a pair that has the words lo … hi - 1. */
static void place_pairs(struct placing *p, int32_t node, size_t lo, size_t hi)
{
	size_t n, at, end, child_at, child_end;
	struct node_place *c = children_of(p, node, &n);

	label_words(p, node, c, n, lo, hi);
	trimmed_text(p->m, node, &at, &end);
	qsort(c, n, sizeof(*c), compare_by_words);
	for (size_t i = 0; i < n; i++) {
		if (!p->m->nodes[c[i].node].is_pair)
			continue;
		trimmed_text(p->m, c[i].node, &child_at, &child_end);
		if (child_at == at && child_end == end && end > at) { /* all text of its parent */
			c[i].lo = lo;
			c[i].hi = hi;
			for (size_t k = lo; k < hi; k++)
				p->words[k].taken = c[i].node;
		} else if (c[i].n_words) {
			take_best_run(p, &c[i], c[i].lo, c[i].hi);
		}
	}
	qsort(c, n, sizeof(*c), compare_by_node);
	if (p->m->kind == MARKUP_RUNS)
		extend_runs(p, c, n, lo, hi);
}

static int compare_sources(const void *a, const void *b, void *words)
{
	const struct placed_word *w = words;
	const size_t x = *(const size_t *)a, y = *(const size_t *)b;

	if (w[x].source != w[y].source)
		return w[x].source < w[y].source ? -1 : 1;
	return x < y ? -1 : 1;
}

static void sort_by_source(struct placing *p, size_t lo, size_t hi)
{
	p->n_by_source = 0;
	for (size_t i = lo; i < hi; i++)
		if (p->words[i].source_end > p->words[i].source)
			p->by_source[p->n_by_source++] = i;
	qsort_r(p->by_source, p->n_by_source, sizeof(*p->by_source), compare_sources, p->words);
}

/* Number of words in by_source whose source begins before this byte. */
static size_t count_sources_before(const struct placing *p, size_t at)
{
	size_t from = 0, to = p->n_by_source;

	while (from < to) {
		const size_t mid = from + (to - from) / 2;

		if (p->words[p->by_source[mid]].source < at)
			from = mid + 1;
		else
			to = mid;
	}
	return from;
}

/* The gap at the same share of the length. */
static size_t gap_by_length(const struct placing *p, size_t at, size_t lo, size_t hi)
{
	const double want = (double)at / (double)MAX(p->m->text.len, (size_t)1) * (double)p->t->n;

	for (; lo < hi; lo++) {
		const double middle = ((double)p->words[lo].at + (double)p->words[lo].end) / 2;

		if (middle >= want)
			break;
	}
	return lo;
}

/* The gap of an item, or of a pair without words, among the words lo … hi - 1 of its parent. */
static size_t find_gap(const struct placing *p, const struct markup_node *x, size_t lo, size_t hi)
{
	size_t at, end, k, gap;
	int32_t taken;

	trimmed_text(p->m, x->parent, &at, &end);
	if (x->at <= at)
		return lo;
	if (x->at >= end)
		return hi;
	k = count_sources_before(p, x->at);
	if (x->by_length)
		gap = gap_by_length(p, x->at, lo, hi);
	else if (!x->blank_before && x->blank_after && k) /* touches the word before it */
		gap = p->by_source[k - 1] + 1;
	else
		gap = k < p->n_by_source ? p->by_source[k] : hi;
	if (x->breaks && hi - lo > 1) /* a line break inside stays inside */
		gap = MIN(MAX(gap, lo + 1), hi - 1);
	if (gap <= lo || gap >= hi)
		return gap;
	taken = p->words[gap].taken;
	if (taken >= 0 &&
	    p->words[gap - 1].taken == taken) { /* inside a sibling: to its nearer end */
		size_t from = gap, to = gap;

		while (from > lo && p->words[from - 1].taken == taken)
			from--;
		while (to < hi && p->words[to].taken == taken)
			to++;
		gap = gap - from < to - gap ? from : to;
	}
	return gap;
}

/* Marks around nothing are text in Markdown: a pair without words gets the nearest word that is free. */
static void take_nearest_word(struct placing *p, struct node_place *c, size_t lo, size_t hi)
{
	const size_t gap = c->lo;

	for (size_t k = 0; k < 2; k++) {
		const size_t i = gap - k;

		if (gap < lo + k || i >= hi || p->words[i].taken >= 0 ||
		    !is_word_part(p->t->text, p->t->n, p->words[i].at, false))
			continue;
		p->words[i].taken = c->node;
		c->lo = i;
		c->hi = i + 1;
		return;
	}
}

static void place_children(struct placing *p, int32_t node, size_t lo, size_t hi)
{
	size_t n;
	struct node_place *c = children_of(p, node, &n);
	bool is_sorted = false;

	if (!n)
		return;
	place_pairs(p, node, lo, hi);
	for (size_t i = 0; i < n; i++) {
		if (c[i].hi > c[i].lo)
			continue;
		if (!is_sorted)
			sort_by_source(p, lo, hi);
		is_sorted = true;
		c[i].lo = c[i].hi = find_gap(p, &p->m->nodes[c[i].node], lo, hi);
		if (p->m->kind == MARKUP_MARKDOWN && p->m->nodes[c[i].node].is_pair)
			take_nearest_word(p, &c[i], lo, hi);
	}
	for (size_t i = 0; i < n; i++)
		if (p->m->nodes[c[i].node].is_pair)
			place_children(p, c[i].node, c[i].lo, c[i].hi);
	qsort(c, n, sizeof(*c), compare_by_place);
}

/* ---- writing ---- */

static void write_plain(struct placing *p, size_t from, size_t to)
{
	if (p->m->kind == MARKUP_NONE)
		buf_add(p->out, p->t->text + from, to - from);
	else
		spellings_write(&p->m->spellings, p->t->text, from, to, p->t->n, p->out);
}

static bool ends_with_blank(const struct buf *b)
{
	return !b->len || isspace((unsigned char)b->data[b->len - 1]);
}

/* Writes the blanks between the last word and what comes now. */
static void write_pending(struct placing *p)
{
	if (p->pending_end > p->pending)
		write_plain(p, p->pending, p->pending_end);
	else if (p->wants_blank && !ends_with_blank(p->out))
		buf_add_char(p->out, ' ');
	p->pending = p->pending_end = 0;
	p->wants_blank = false;
}

static void write_open(struct placing *p, const struct markup_node *x)
{
	static const char bare[] = "<w:t>";
	const size_t n = sizeof(bare) - 1;

	if (p->m->kind == MARKUP_RUNS && x->open.n >= n &&
	    !memcmp(x->open.bytes + x->open.n - n, bare, n)) {
		buf_add(p->out, x->open.bytes, x->open.n - 1);
		buf_add_str(p->out, " xml:space=\"preserve\">");
	} else {
		buf_add(p->out, x->open.bytes, x->open.n);
	}
}

/* Is this word the translation of the word that has the byte of the source? */
static bool is_word_of(const struct placing *p, const struct placed_word *w, size_t at)
{
	const struct markup *m = p->m;

	return is_word_part(m->text.data, m->text.len, at, false) && w->source <= at &&
	       at < w->source_end;
}

/* Before word i: a blank parts it from an item that did not touch it in the source. */
static void part_from_item(struct placing *p, size_t i)
{
	const struct markup_node *x = p->solid;
	const struct placed_word *w = &p->words[i];
	const struct buf *text = &p->m->text;
	size_t at = x ? x->at : 0;

	p->solid = NULL;
	if (x && x->blank_before && !x->blank_after && at < text->len && text->data[at] == ' ')
		at++; /* the blank before the item */
	if (x && p->pending_end == p->pending && is_word_part(p->t->text, p->t->n, w->at, false) &&
	    !(at < text->len && is_word_of(p, w, at)))
		p->wants_blank = true;
}

/* Must a blank stand between the last word and this item? */
static bool stands_apart(const struct placing *p, const struct markup_node *x)
{
	const struct placed_word *w = &p->words[p->last_word - (p->last_word > 0)];
	size_t at = x->at;

	if (!x->is_solid || !p->last_word || !is_word_part(p->t->text, p->t->n, w->end - 1, true))
		return false;
	while (at && ((unsigned char)p->m->text.data[at - 1] & 0xc0) == 0x80)
		at--;
	return !at || !is_word_of(p, w, at - 1);
}

/* An item between runs, where blanks stand in the text of runs only. */
static void write_run_item(struct placing *p, const struct markup_node *x)
{
	const size_t i = p->last_word, next = i < p->n_words ? p->words[i].at : p->t->n;
	const bool has_blank = x->at && p->m->text.data[x->at - 1] == ' ';

	if (x->is_solid &&
	    (p->solid ? has_blank : stands_apart(p, x) && p->words[i - 1].end == next))
		buf_add_str(p->out, "<w:r><w:t xml:space=\"preserve\"> </w:t></w:r>");
	write_open(p, x);
}

/* After an item: no word joins what a reader sees of it. */
static void note_item(struct placing *p, const struct markup_node *x)
{
	if (x->is_solid)
		p->solid = x;
	if (x->is_solid || x->breaks)
		p->last_word = 0;
}

/* Writes an item with the blanks that it had in the source. is_inner: words stand before and after it. */
static void write_markup_item(struct placing *p, const struct markup_node *x, bool is_inner)
{
	const bool is_blank = is_blank_range(p->t->text + p->pending, p->pending_end - p->pending);
	const bool has_gap = p->pending_end > p->pending || p->wants_blank;

	const bool is_apart = stands_apart(p, x);

	if (p->m->kind == MARKUP_RUNS) {
		write_run_item(p, x);
		note_item(p, x);
		return;
	}
	if (x->blank_before || !is_blank || is_apart ||
	    (has_gap && !x->blank_after && !x->breaks)) {
		if (!has_gap && (x->blank_before || is_apart) && !ends_with_blank(p->out))
			buf_add_char(p->out, ' ');
		write_pending(p);
	}
	note_item(p, x);
	buf_add(p->out, x->open.bytes, x->open.n);
	if (x->breaks && !x->blank_after) {
		p->pending = p->pending_end = 0;
		p->wants_blank = false;
	} else if (x->blank_after && (has_gap || !is_inner)) {
		p->wants_blank = true;
	}
}

static void write_children(struct placing *p, int32_t node, size_t lo, size_t hi);

/* is_last: no word of the pair around it comes after it. */
static void write_node(struct placing *p, const struct node_place *c, bool is_last)
{
	const struct markup_node *x = &p->m->nodes[c->node];

	if (p->m->kind == MARKUP_MARKDOWN && x->is_pair && c->hi == c->lo &&
	    strchr("*_~", *x->open.bytes)) { /* emphasis of nothing: only what is in it */
		write_children(p, c->node, c->lo, c->hi);
		return;
	}
	if (!x->is_pair) {
		write_markup_item(p, x, c->lo > 0 && c->lo < p->n_words);
		return;
	}
	if (c->hi > c->lo && p->m->kind != MARKUP_RUNS)
		part_from_item(p, c->lo);
	if ((c->hi > c->lo || !is_last) && p->m->kind != MARKUP_RUNS)
		write_pending(p); /* an empty pair at the end stands before the blank */
	write_open(p, x);
	write_children(p, c->node, c->lo, c->hi);
	buf_add(p->out, x->close.bytes, x->close.n);
}

static void write_word(struct placing *p, size_t i)
{
	const struct placed_word *w = &p->words[i];
	const size_t next = i + 1 < p->n_words ? p->words[i + 1].at : p->t->n;

	part_from_item(p, i);
	write_pending(p);
	write_plain(p, w->at, w->end);
	p->last_word = i + 1;
	p->pending = w->end;
	p->pending_end = next;
	if (p->m->kind == MARKUP_RUNS || !is_blank_range(p->t->text + w->end, next - w->end))
		write_pending(p); /* text must stay inside its run */
}

static void write_children(struct placing *p, int32_t node, size_t lo, size_t hi)
{
	size_t n, k = 0;
	const struct node_place *c = children_of(p, node, &n);

	for (size_t i = lo; i <= hi; i++) {
		while (k < n && c[k].lo == i && (i < hi || c[k].hi == i)) {
			const bool has_words = c[k].hi > c[k].lo;

			if (has_words)
				i = c[k].hi;
			write_node(p, &c[k++], i == hi);
		}
		if (i < hi)
			write_word(p, i);
	}
	assert(k == n);
}

static int list_children(struct placing *p, struct err *e)
{
	const struct markup *m = p->m;

	p->places = mem_alloc(m->n, sizeof(*p->places), e);
	p->first = mem_alloc(m->n + 3, sizeof(*p->first), e);
	p->by_source = mem_alloc(p->n_words, sizeof(*p->by_source), e);
	if (!p->places || !p->first || !p->by_source)
		return e->code;
	for (size_t i = 0; i < m->n; i++) /* counted two places ahead, then summed */
		p->first[m->nodes[i].parent + 3]++;
	for (size_t i = 1; i < m->n + 3; i++)
		p->first[i] += p->first[i - 1];
	for (size_t i = 0; i < m->n; i++)
		p->places[p->first[m->nodes[i].parent + 2]++].node = (int32_t)i;
	return 0;
}

int markup_write(const struct markup *m, const struct markup_target *t, struct buf *out,
		 struct err *e)
{
	struct placing p = { .m = m, .t = t, .out = out };
	int rc = 0;

	if (t->n == m->text.len && !memcmp(t->text, buf_text(&m->text), t->n)) {
		buf_add(out, m->source.bytes, m->source.n);
		return buf_check(out, e);
	}
	rc = list_placed_words(&p, e);
	if (!rc)
		rc = list_children(&p, e);
	if (!rc) {
		p.pending_end = p.n_words ? p.words[0].at : t->n;
		write_pending(&p);
		place_children(&p, -1, 0, p.n_words);
		write_children(&p, -1, 0, p.n_words);
		p.wants_blank = false; /* no word comes */
		if (m->kind != MARKUP_RUNS || p.pending_end > p.pending)
			write_pending(&p);
		rc = buf_check(out, e);
	}
	free(p.words);
	free(p.places);
	free(p.first);
	free(p.by_source);
	return rc;
}
