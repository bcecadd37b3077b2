/*
 * piece_trie.c - builds the double array of a trie of pieces: see piece_trie.h
 *
 * The keys are sorted, so a node is a range of keys with the same first bytes. The children of a node get
 * base at which all of their units are free. The search for a base is short, so building takes time in
 * proportion to the number of nodes.
 */
#include "data/sentencepiece/piece_trie.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "share/base/mem.h"
#include "share/base/util.h"

#define FREE	  UINT32_MAX /* check of a unit that is no node */
#define NO_PARENT (UINT32_MAX - 1)
#define ALPHABET  256
#define MAX_TRIES 256 /* units of a search before its begin moves */

struct open_node {
	uint32_t node;
	size_t first, end; /* its keys */
	uint32_t depth;	   /* bytes that its keys share */
};

struct trie_builder {
	struct piece_trie *t;
	const struct piece_key *keys;
	size_t first_free, first_wide; /* units where the search for a base begins */
	struct open_node *open; /* owned: a stack of nodes whose children are still missing */
	size_t n_open, cap_open;
};

int piece_key_compare(const void *a, const void *b)
{
	const struct piece_key *x = a, *y = b;
	int d = memcmp(x->text, y->text, MIN(x->n, y->n));

	return d ? d : (x->n > y->n) - (x->n < y->n);
}

static int grow_units(struct piece_trie *t, size_t n, struct err *e)
{
	if (n <= t->n_units)
		return 0;
	n = MAX(n, t->n_units + t->n_units / 4 + ALPHABET);
	if (n >= NO_PARENT)
		return err_set(e, ERR_DATA, "the vocabulary is too large for a trie");
	if (mem_grow(&t->units, &t->cap_units, n, sizeof(*t->units), e))
		return e->code;
	for (; t->n_units < n; t->n_units++)
		t->units[t->n_units] = (struct piece_unit){ 0, FREE, -1 };
	return 0;
}

/*
 * Find a base for children with these bytes (n >= 1, ascending). A single child fits into the first free
 * unit. Several are searched from another place, which moves on when the search becomes long.
 */
static int find_base(struct trie_builder *b, const unsigned char *bytes, size_t n, size_t *base,
		     struct err *e)
{
	struct piece_trie *t = b->t;
	size_t *from = n == 1 ? &b->first_free : &b->first_wide, tries = 0;

	while (*from < t->n_units && t->units[*from].check != FREE)
		++*from;
	for (size_t at = MAX(*from, (size_t)bytes[0] + 1);; at++, tries++) {
		size_t i = 0;

		if (grow_units(t, at + 2 * ALPHABET, e))
			return e->code;
		*base = at - bytes[0];
		while (i < n && t->units[*base + bytes[i]].check == FREE)
			i++;
		if (i < n)
			continue;
		if (tries > MAX_TRIES)
			*from = at - MAX_TRIES / 2;
		return 0;
	}
}

static int open_child(struct trie_builder *b, struct open_node node, struct err *e)
{
	if (mem_grow(&b->open, &b->cap_open, b->n_open + 1, sizeof(*b->open), e))
		return e->code;
	b->open[b->n_open++] = node;
	return 0;
}

/* Add the children of a node. The first child is opened last, so it is the next one. */
static int add_children(struct trie_builder *b, struct open_node o, struct err *e)
{
	struct piece_unit *u = &b->t->units[o.node];
	unsigned char bytes[ALPHABET];
	size_t starts[ALPHABET + 1], n = 0, base = 0;

	if (b->keys[o.first].n == o.depth)
		u->id = b->keys[o.first++].id;
	for (size_t i = o.first; i < o.end; i++) {
		unsigned char c = (unsigned char)b->keys[i].text[o.depth];

		if (n && bytes[n - 1] == c)
			continue;
		assert(!n || bytes[n - 1] < c);
		bytes[n] = c;
		starts[n++] = i;
	}
	if (!n)
		return 0;
	starts[n] = o.end;
	if (find_base(b, bytes, n, &base, e))
		return e->code;
	b->t->units[o.node].base = (uint32_t)base;
	for (size_t i = n; i-- > 0;) {
		struct open_node child = { (uint32_t)(base + bytes[i]), starts[i], starts[i + 1],
					   o.depth + 1 };

		b->t->units[child.node].check = o.node;
		if (open_child(b, child, e))
			return e->code;
	}
	return 0;
}

int piece_trie_build(struct piece_trie *t, const struct piece_key *keys, size_t n, struct err *e)
{
	struct trie_builder b = { .t = t, .keys = keys, .first_free = 1, .first_wide = 1 };
	int rc = grow_units(t, 2 * ALPHABET, e);

	if (!rc) {
		t->units[PIECE_TRIE_ROOT].check = NO_PARENT;
		rc = n ? open_child(&b, (struct open_node){ PIECE_TRIE_ROOT, 0, n, 0 }, e) : 0;
	}
	while (!rc && b.n_open)
		rc = add_children(&b, b.open[--b.n_open], e);
	free(b.open);
	if (rc)
		piece_trie_free(t);
	return rc;
}

void piece_trie_free(struct piece_trie *t)
{
	free(t->units);
	*t = (struct piece_trie){ 0 };
}
