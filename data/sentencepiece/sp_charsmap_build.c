/*
 * sp_charsmap_build.c - writes the table of normalisation rules: see sp_charsmap.h
 *
 * First, the sorted rules become a minimal automaton: nodes with equal values and equal children
 * are one node (they are interned as bytes). So 225,000 rules need only 45,000 units. Then each
 * node gets a base where all of its children find free units.
 */
#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "data/sentencepiece/sp_charsmap.h"
#include "data/words/intern.h"
#include "share/base/mem.h"
#include "share/base/util.h"

#define BLOCK	  256		      /* a base and its children are in one block */
#define MAX_UNITS (UINT32_C(1) << 21) /* offsets have 21 bits */
#define MAX_FROM  1024		      /* bytes of a rule's left side, at most */
#define HAS_VALUE (UINT32_C(1) << 8)
#define IS_VALUE  (UINT32_C(1) << 31)
#define NO_VALUE  UINT32_MAX
#define TRIES	  256		/* free units to look at before a new block is begun */
#define WINDOW	  (256 * BLOCK) /* only the last units are searched for free ones */

struct edge {
	uint32_t child;
	uint32_t byte;
};

struct open_node { /* a node on the path of the current rule */
	uint32_t value;
	struct edge *edges; /* owned */
	size_t n, cap;
};

struct builder {
	struct intern texts; /* right sides … */
	uint32_t *starts;    /* owned: … and where each begins in text_bytes */
	size_t cap_starts;
	struct buf text_bytes;
	struct open_node *path; /* owned: (n_path) */
	size_t n_path;
	struct intern nodes; /* the value, then the edges, as bytes */
	struct buf scratch;
	/* the double array */
	uint32_t *units;	  /* owned */
	bool *is_taken, *is_base; /* owned: (n_units) */
	uint32_t *bases;	  /* owned: (nodes) */
	size_t n_units, cap_units, cap_taken, cap_base, first_free;
};

static int compare_rules(const void *a, const void *b)
{
	const struct charsmap_rule *x = a, *y = b;
	int d = memcmp(x->from, y->from, MIN(x->n, y->n));

	return d ? d : (x->n > y->n) - (x->n < y->n);
}

/* ---- the automaton ---- */

static int builder_add_text(struct builder *b, const char *text, size_t n, uint32_t *start,
			    struct err *e)
{
	int32_t i, known = b->texts.n;

	if (intern_add(&b->texts, text, n, &i, e) ||
	    mem_grow(&b->starts, &b->cap_starts, (size_t)known + 1, sizeof(*b->starts), e))
		return e->code;
	if (i == known) {
		if (b->text_bytes.len > INT32_MAX)
			return err_set(e, ERR_DATA,
				       "the normalisation rules have more than %d bytes of text",
				       INT32_MAX);
		b->starts[i] = (uint32_t)b->text_bytes.len;
		buf_add(&b->text_bytes, text, n);
		buf_add_char(&b->text_bytes, 0);
	}
	*start = b->starts[i];
	return buf_check(&b->text_bytes, e);
}

/* Intern a node that has all of its children. Its place on the path is empty afterwards. */
static int close_node(struct builder *b, size_t depth, int32_t *number, struct err *e)
{
	struct open_node *o = &b->path[depth];

	buf_clear(&b->scratch);
	buf_add(&b->scratch, &o->value, sizeof(o->value));
	if (o->n)
		buf_add(&b->scratch, o->edges, o->n * sizeof(*o->edges));
	o->value = NO_VALUE;
	o->n = 0;
	if (buf_check(&b->scratch, e))
		return e->code;
	return intern_add(&b->nodes, b->scratch.data, b->scratch.len, number, e);
}

/* Intern the nodes on the path of this rule that are deeper than depth. */
static int close_path(struct builder *b, const struct charsmap_rule *rule, size_t depth,
		      struct err *e)
{
	for (size_t d = rule->n; d > depth; d--) {
		struct open_node *parent = &b->path[d - 1];
		int32_t number;

		if (close_node(b, d, &number, e) ||
		    mem_grow(&parent->edges, &parent->cap, parent->n + 1, sizeof(*parent->edges),
			     e))
			return e->code;
		parent->edges[parent->n++] =
			(struct edge){ .child = (uint32_t)number,
				       .byte = (unsigned char)rule->from[d - 1] };
	}
	return 0;
}

static size_t common_prefix(const struct charsmap_rule *a, const struct charsmap_rule *b)
{
	size_t n = 0;

	while (n < a->n && n < b->n && a->from[n] == b->from[n])
		n++;
	return n;
}

static int make_nodes(struct builder *b, const struct charsmap_rule *rules, size_t n, int32_t *root,
		      struct err *e)
{
	size_t longest = 0;

	for (size_t i = 0; i < n; i++) {
		if (!rules[i].n || rules[i].n > MAX_FROM)
			return err_set(e, ERR_DATA,
				       "a normalisation rule for %zu bytes, expected 1 to %d",
				       rules[i].n, MAX_FROM);
		longest = MAX(longest, rules[i].n);
	}
	b->n_path = longest + 1;
	b->path = mem_alloc(b->n_path, sizeof(*b->path), e);
	if (!b->path)
		return e->code;
	for (size_t d = 0; d < b->n_path; d++)
		b->path[d].value = NO_VALUE;
	for (size_t i = 0; i < n; i++) {
		if (i && close_path(b, &rules[i - 1], common_prefix(&rules[i - 1], &rules[i]), e))
			return e->code;
		if (builder_add_text(b, rules[i].to, rules[i].n_to, &b->path[rules[i].n].value, e))
			return e->code;
	}
	if (n && close_path(b, &rules[n - 1], 0, e))
		return e->code;
	return close_node(b, 0, root, e);
}

/* ---- the double array ---- */

static size_t node_edges(const struct builder *b, int32_t node, const char **edges, uint32_t *value)
{
	size_t n;
	const char *bytes = intern_text(&b->nodes, node, &n);

	memcpy(value, bytes, sizeof(*value));
	*edges = bytes + sizeof(*value);
	return (n - sizeof(*value)) / sizeof(struct edge);
}

static struct edge get_edge(const char *edges, size_t i)
{
	struct edge edge;

	memcpy(&edge, edges + i * sizeof(edge), sizeof(edge));
	return edge;
}

static int add_block(struct builder *b, struct err *e)
{
	size_t n = b->n_units + BLOCK;

	if (n > MAX_UNITS)
		return err_set(e, ERR_DATA,
			       "too many normalisation rules: the table has at most %u units",
			       MAX_UNITS);
	if (mem_grow(&b->units, &b->cap_units, n, sizeof(*b->units), e) ||
	    mem_grow(&b->is_taken, &b->cap_taken, n, sizeof(*b->is_taken), e) ||
	    mem_grow(&b->is_base, &b->cap_base, n, sizeof(*b->is_base), e))
		return e->code;
	for (; b->n_units < n; b->n_units++) {
		b->units[b->n_units] = IS_VALUE; /* no child of any node */
		b->is_taken[b->n_units] = b->is_base[b->n_units] = false;
	}
	return 0;
}

static bool is_base_free(const struct builder *b, size_t base, const char *edges, size_t n,
			 bool has_value)
{
	if (b->is_base[base] || (has_value && b->is_taken[base]))
		return false;
	for (size_t i = 0; i < n; i++)
		if (b->is_taken[base ^ get_edge(edges, i).byte])
			return false;
	return true;
}

/* Find a base for a node and occupy the units of its children. */
static int builder_place_node(struct builder *b, int32_t node, struct err *e)
{
	const char *edges;
	uint32_t value;
	size_t n = node_edges(b, node, &edges, &value), at, base, tries = 0;
	uint32_t first = value != NO_VALUE || !n ? 0 : get_edge(edges, 0).byte;

	if (b->n_units > WINDOW)
		b->first_free = MAX(b->first_free, b->n_units - WINDOW);
	while (b->first_free < b->n_units && b->is_taken[b->first_free])
		b->first_free++;
	for (at = b->first_free;; at++) {
		if (at == b->n_units && add_block(b, e))
			return e->code;
		if (b->is_taken[at])
			continue;
		base = at ^ first;
		if (is_base_free(b, base, edges, n, value != NO_VALUE))
			break;
		if (++tries == TRIES && b->n_units - at > BLOCK)
			at = b->n_units - BLOCK;
	}
	assert(base / BLOCK == at / BLOCK && !b->is_base[base]);
	b->is_base[base] = true;
	b->bases[node] = (uint32_t)base;
	if (value != NO_VALUE) {
		b->is_taken[base] = true;
		b->units[base] = value | IS_VALUE;
	}
	for (size_t i = 0; i < n; i++)
		b->is_taken[base ^ get_edge(edges, i).byte] = true;
	return 0;
}

static uint32_t offset_bits(size_t from, size_t to)
{
	return (uint32_t)(from ^ to) << 10;
}

/* All bases are known: write the units that lead to them. */
static void link_nodes(struct builder *b, int32_t root)
{
	b->units[0] = offset_bits(0, b->bases[root]);
	for (int32_t node = 0; node < b->nodes.n; node++) {
		const char *edges, *ignored;
		uint32_t value;
		size_t n = node_edges(b, node, &edges, &value);

		for (size_t i = 0; i < n; i++) {
			struct edge edge = get_edge(edges, i);
			size_t at = b->bases[node] ^ edge.byte;

			node_edges(b, (int32_t)edge.child, &ignored, &value);
			b->units[at] = edge.byte | (value != NO_VALUE ? HAS_VALUE : 0) |
				       offset_bits(at, b->bases[edge.child]);
		}
	}
}

struct sized {
	int32_t node;
	size_t n;
};

/* Nodes with many children first; small nodes fill the gaps. */
static int compare_sized(const void *a, const void *b)
{
	const struct sized *x = a, *y = b;

	if (x->n != y->n)
		return x->n > y->n ? -1 : 1;
	return (x->node > y->node) - (x->node < y->node);
}

static int make_units(struct builder *b, int32_t root, struct err *e)
{
	struct sized *order = mem_alloc((size_t)b->nodes.n, sizeof(*order), e);
	int rc = 0;

	b->bases = mem_alloc((size_t)b->nodes.n, sizeof(*b->bases), e);
	if (!order || !b->bases || add_block(b, e)) {
		free(order);
		return e->code;
	}
	b->is_taken[0] = b->is_base[0] = true; /* unit 0 is the root */
	for (int32_t i = 0; i < b->nodes.n; i++) {
		const char *edges;
		uint32_t value;

		order[i] = (struct sized){ .node = i, .n = node_edges(b, i, &edges, &value) };
		order[i].n += value != NO_VALUE;
	}
	qsort(order, (size_t)b->nodes.n, sizeof(*order), compare_sized);
	for (int32_t i = 0; !rc && i < b->nodes.n; i++)
		rc = builder_place_node(b, order[i].node, e);
	free(order);
	if (!rc)
		link_nodes(b, root);
	return rc;
}

static void put_u32(struct buf *out, uint32_t value)
{
	for (int i = 0; i < 4; i++)
		buf_add_char(out, (char)(value >> (8 * i)));
}

int charsmap_build(struct charsmap_rule *rules, size_t n, struct buf *out, struct err *e)
{
	struct builder b = { 0 };
	int32_t root = 0;
	int rc;

	if (n)
		qsort(rules, n, sizeof(*rules), compare_rules);
	rc = make_nodes(&b, rules, n, &root, e);
	if (!rc)
		rc = make_units(&b, root, e);
	if (!rc) {
		put_u32(out, (uint32_t)(b.n_units * sizeof(*b.units)));
		for (size_t i = 0; i < b.n_units; i++)
			put_u32(out, b.units[i]);
		buf_add(out, buf_text(&b.text_bytes), b.text_bytes.len);
		if (!b.text_bytes.len)
			buf_add_char(out, 0);
		rc = buf_check(out, e);
	}
	for (size_t d = 0; d < b.n_path && b.path; d++)
		free(b.path[d].edges);
	free(b.path);
	intern_free(&b.texts);
	intern_free(&b.nodes);
	buf_free(&b.text_bytes);
	buf_free(&b.scratch);
	free(b.starts);
	free(b.units);
	free(b.is_taken);
	free(b.is_base);
	free(b.bases);
	return rc;
}
