/* run_layouts.c - which panes the run view shows; see run_layouts.h. */
#include "tui/views/run_layouts.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

#include "share/base/text.h"
#include "tui/term/draw.h"

#define BIT(pane) (1u << (pane))
#define MENU_COLS 46
#define MENU_ROWS 8

/* The panes by their letters; names are those of the saved state. */
static const struct {
	char letter;
	const char *name, *title;
} menu_panes[PANE_COUNT] = {
	[PANE_LOSS] = { 'n', "nll", "NLL" },
	[PANE_BLEU] = { 'b', "bleu", "BLEU" },
	[PANE_SPEED] = { 't', "speed", "tokens/s" },
	[PANE_SPLIT] = { 's', "step", "step" },
	[PANE_RATE] = { 'r', "rate", "learning rate" },
	[PANE_GRAD] = { 'g', "gradient", "gradient norm" },
	[PANE_SAMPLES] = { 'm', "samples", "samples" },
	[PANE_LOG] = { 'l', "log", "log" },
};

static const char *const size_names[LAYOUT_SIZES] = { "narrow", "middle", "wide" };
static const char *const size_ranges[LAYOUT_SIZES] = { "up to 99", "100 to 149", "150 and more" };

/* All; the two main curves with samples; the curves; the texts. */
static const unsigned first_layouts[RUN_LAYOUTS] = {
	LAYOUT_ALL_PANES,
	BIT(PANE_LOSS) | BIT(PANE_BLEU) | BIT(PANE_SAMPLES),
	LAYOUT_ALL_PANES & ~(BIT(PANE_SAMPLES) | BIT(PANE_LOG)),
	BIT(PANE_SAMPLES) | BIT(PANE_LOG),
};

static unsigned panes_of_text(const char *text)
{
	unsigned shown = 0;

	while (*(text += strspn(text, " "))) {
		size_t n = strcspn(text, " ");

		for (int i = 0; i < PANE_COUNT; i++)
			if (strlen(menu_panes[i].name) == n &&
			    !strncmp(menu_panes[i].name, text, n))
				shown |= BIT(i);
		text += n;
	}
	return shown;
}

static void layout_key(char out[40], int size, int number)
{
	if (number)
		snprintf(out, 40, "run.layout.%s.%d", size_names[size], number);
	else
		snprintf(out, 40, "run.layout.%s", size_names[size]);
}

void run_layouts_read(struct run_layouts *l, const struct app_context *w)
{
	char key[40];
	const char *text;
	int64_t number;

	memset(l, 0, sizeof(*l));
	for (int size = 0; size < LAYOUT_SIZES; size++) {
		layout_key(key, size, 0);
		text = context_get_saved(w, key);
		if (text && text_to_int(text, &number) && number >= 1 && number <= RUN_LAYOUTS)
			l->chosen[size] = (int)number - 1;
		for (int i = 0; i < RUN_LAYOUTS; i++) {
			layout_key(key, size, i + 1);
			text = context_get_saved(w, key);
			l->shown[size][i] = text ? panes_of_text(text) : 0;
			if (!l->shown[size][i])
				l->shown[size][i] = first_layouts[i];
		}
	}
}

/* What is as the program comes with it is not saved. */
void run_layouts_save(const struct run_layouts *l, struct app_context *w)
{
	char key[40], text[100];

	for (int size = 0; size < LAYOUT_SIZES; size++) {
		layout_key(key, size, 0);
		snprintf(text, sizeof(text), "%d", l->chosen[size] + 1);
		context_set_saved(w, key, l->chosen[size] ? text : NULL);
		for (int i = 0; i < RUN_LAYOUTS; i++) {
			size_t used = 0;

			layout_key(key, size, i + 1);
			*text = 0;
			for (int pane = 0; pane < PANE_COUNT; pane++)
				if (l->shown[size][i] & BIT(pane))
					used += (size_t)snprintf(text + used, sizeof(text) - used,
								 "%s%s", used ? " " : "",
								 menu_panes[pane].name);
			assert(used < sizeof(text));
			context_set_saved(w, key,
					  l->shown[size][i] == first_layouts[i] ? NULL : text);
		}
	}
}

unsigned run_layouts_shown(const struct run_layouts *l, enum layout_size size)
{
	return l->shown[size][l->chosen[size]];
}

bool run_layouts_key(struct run_layouts *l, enum layout_size size, int key)
{
	unsigned *shown = &l->shown[size][l->chosen[size]];

	if (key >= '1' && key < '1' + RUN_LAYOUTS) {
		l->chosen[size] = key - '1';
		return true;
	}
	for (int i = 0; i < PANE_COUNT; i++)
		if (key == menu_panes[i].letter) {
			/* the last pane stays */
			if (*shown != BIT(i))
				*shown ^= BIT(i);
			return true;
		}
	return false;
}

/* ---- the menu ---- */

static void draw_menu_pane(struct grid *g, int row, int col, int width, int pane, bool is_shown)
{
	char letter[2] = { menu_panes[pane].letter, 0 };

	if (width < 8)
		return;
	draw_text(g, row, col, 1, STYLE_BRIGHT, letter);
	draw_text(g, row, col + 2, 3, is_shown ? STYLE_GOOD : STYLE_DIM, is_shown ? "[x]" : "[ ]");
	draw_text(g, row, col + 6, width - 6, is_shown ? STYLE_NORMAL : STYLE_DIM,
		  menu_panes[pane].title);
}

void run_layouts_draw_menu(const struct run_layouts *l, enum layout_size size, struct grid *g,
			   struct rect body)
{
	int cols = MIN(MENU_COLS, body.cols), rows = MIN(MENU_ROWS, body.rows);
	struct rect box = { body.row + body.rows - rows, body.col + body.cols - cols, rows, cols };
	struct rect in = layout_inside(box);
	unsigned shown = run_layouts_shown(l, size);
	int col = in.col + 1;
	char title[60];

	for (int r = box.row; r < box.row + box.rows; r++)
		for (int c = box.col; c < box.col + box.cols; c++)
			grid_put(g, r, c, STYLE_NORMAL, ' ');
	snprintf(title, sizeof(title), "panes, %s columns", size_ranges[size]);
	draw_box(g, box, title, true);
	if (in.rows < 1)
		return;
	col += draw_text(g, in.row, col, in.cols - 1, STYLE_DIM, "layout ");
	for (int i = 0; i < RUN_LAYOUTS && col + 3 < in.col + in.cols; i++, col += 4) {
		bool front = i == l->chosen[size];
		char digit = (char)('1' + i);
		char text[] = { front ? '[' : ' ', digit, front ? ']' : ' ', '\0' };

		draw_text(g, in.row, col, 3, front ? STYLE_FOCUS : STYLE_BRIGHT, text);
	}
	for (int i = 0; i < PANE_COUNT; i++)
		if (1 + i / 2 < in.rows)
			draw_menu_pane(g, in.row + 1 + i / 2, in.col + 1 + i % 2 * (in.cols / 2),
				       in.cols / 2 - 1, i, shown & BIT(i));
	if (in.rows > 5)
		draw_text(g, in.row + 5, in.col + 1, in.cols - 1, STYLE_DIM,
			  "saved for this size; Esc or Enter ends");
}
