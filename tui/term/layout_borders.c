/* layout_borders.c - see layout_borders.h */
#include "tui/term/layout_borders.h"

#include <string.h>

#include "share/base/util.h"

static struct layout_borders *followed; /* borrowed; NULL: nobody follows */

void layout_follow_borders(struct layout_borders *b, int view)
{
	followed = b;
	if (!b)
		return;
	b->view = view;
	b->n_drawn = 0;
}

void layout_forget_drawn(void)
{
	if (followed)
		followed->n_drawn = 0;
}

static bool is_same_border(const struct layout_border *a, const struct layout_border *b)
{
	return a->view == b->view && !memcmp(&a->r, &b->r, sizeof(a->r)) &&
	       a->is_column == b->is_column && a->n == b->n && a->part == b->part;
}

/* The moved border like this one; NULL: it was not moved. */
static struct layout_border *find_moved(struct layout_borders *b, const struct layout_border *like)
{
	for (size_t i = 0; i < b->n_moved; i++)
		if (is_same_border(&b->moved[i], like))
			return &b->moved[i];
	return NULL;
}

/* The size of a part can change: it takes a share of the space. */
static bool is_flexible(const struct layout_part *p)
{
	return p->weight > 0 && p->max != p->min;
}

/* Give the part before the border this size, as far as both parts can have it; they keep their sum. */
static void resize_parts(const struct layout_part *parts, int *sizes, size_t part, int size)
{
	const struct layout_part *next = &parts[part + 1];
	const int sum = sizes[part] + sizes[part + 1];
	int low = MAX(parts[part].min, 1), high = sum - MAX(next->min, 1);

	if (parts[part].max)
		high = MIN(high, parts[part].max);
	if (next->max)
		low = MAX(low, sum - next->max);
	if (low > high)
		return;
	sizes[part] = MAX(low, MIN(size, high));
	sizes[part + 1] = sum - sizes[part];
}

void layout_place_borders(struct rect r, bool is_column, const struct layout_part *parts, size_t n,
			  int *sizes)
{
	int at = is_column ? r.col : r.row;

	for (size_t i = 0; followed && i + 1 < n; at += sizes[i++]) {
		struct layout_border border = {
			.view = followed->view, .r = r, .is_column = is_column, .n = n, .part = i
		};
		const struct layout_border *moved = find_moved(followed, &border);

		if (!sizes[i] || !sizes[i + 1] || !is_flexible(&parts[i]) ||
		    !is_flexible(&parts[i + 1]))
			continue;
		if (moved)
			resize_parts(parts, sizes, i, moved->size);
		border.size = sizes[i];
		border.last = at + sizes[i];
		border.first = border.last - 1;
		if (followed->n_drawn < LAYOUT_BORDERS)
			followed->drawn[followed->n_drawn++] = border;
	}
}

/* Hold the border at the pressed cell, if there is one; of several, the one that was divided last. */
static void hold_border(struct layout_borders *b, const struct mouse *m)
{
	b->is_held = false;
	for (size_t i = b->n_drawn; i-- > 0 && !b->is_held;) {
		const struct layout_border *x = &b->drawn[i];
		const int cell = x->is_column ? m->col : m->row;

		if (!layout_has_cell(x->r, m->row, m->col) || cell < x->first || cell > x->last)
			continue;
		b->held = *x;
		b->grip = x->last - cell;
		b->is_held = true;
	}
}

static void move_border(struct layout_borders *b, const struct mouse *m)
{
	const int start = b->held.last - b->held.size;
	struct layout_border *moved = find_moved(b, &b->held);

	if (!moved) {
		if (b->n_moved == LAYOUT_MOVED)
			memmove(b->moved, b->moved + 1, --b->n_moved * sizeof(*b->moved));
		moved = &b->moved[b->n_moved++];
		*moved = b->held;
	}
	moved->size = (b->held.is_column ? m->col : m->row) + b->grip - start;
}

bool layout_mouse_border(struct layout_borders *b, const struct mouse *m)
{
	const bool was_held = b->is_held;

	switch (m->kind) {
	case MOUSE_PRESS:
		b->is_held = false;
		if (m->button == 1)
			hold_border(b, m);
		return false;
	case MOUSE_DRAG:
		if (was_held)
			move_border(b, m);
		return was_held;
	case MOUSE_RELEASE:
		b->is_held = false;
		return was_held;
	case MOUSE_WHEEL_UP:
	case MOUSE_WHEEL_DOWN:
		break;
	}
	return false;
}
