/* prompt.c - see prompt.h */
#include "tui/prompt.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "share/base/mem.h"
#include "share/base/util.h"
#include "tui/draw.h"
#include "tui/layout.h"

#define BOX_COLS   76
#define BOX_ROWS   22

void prompt_close(struct prompt *p)
{
	for (size_t i = 0; i < p->n_choices; i++)
		free(p->choices[i]);
	free(p->choices);
	free(p->title);
	free(p->text);
	free(p->answer);
	edit_close(&p->line);
	*p = (struct prompt){ 0 };
}

int prompt_ask(struct prompt *p, const struct question *q, struct err *e)
{
	prompt_close(p);
	p->kind = q->kind;
	p->id = q->id;
	p->title = mem_strdup(q->title ? q->title : "", e);
	p->text = mem_strdup(q->text ? q->text : "", e);
	p->choices = mem_alloc(q->n_choices + 1, sizeof(*p->choices), e);
	if (!p->title || !p->text || !p->choices)
		goto fail;
	for (size_t i = 0; i < q->n_choices; i++, p->n_choices++)
		if (!(p->choices[i] = mem_strdup(q->choices[i], e)))
			goto fail;
	if (q->kind == QUESTION_LINE && edit_set(&p->line, p->text, e))
		goto fail;
	p->open = true;
	return 0;
fail:
	prompt_close(p);
	return e->code;
}

/* ---- choices ---- */

/* Letters of ASCII count the same in both cases. */
static bool contains(const char *text, const char *word)
{
	size_t n = strlen(word);

	for (; *text; text++)
		if (!strncasecmp(text, word, n))
			return true;
	return !n;
}

/* Choice number k of those that pass the filter; NULL: there are fewer. */
static char *passing(const struct prompt *p, size_t k)
{
	for (size_t i = 0; i < p->n_choices; i++)
		if (contains(p->choices[i], edit_text(&p->line)) && !k--)
			return p->choices[i];
	return NULL;
}

static size_t n_passing(const struct prompt *p)
{
	size_t n = 0;

	while (passing(p, n))
		n++;
	return n;
}

/* ---- keys ---- */

static enum prompt_state answer(struct prompt *p, const char *text)
{
	struct err ignored;

	p->answer = text ? mem_strdup(text, &ignored) : NULL;
	return PROMPT_ANSWERED;
}

static enum prompt_state key_yes_no(struct prompt *p, int key)
{
	if (key == 'y' || key == 'Y')
		return answer(p, "yes");
	if (key == 'n' || key == 'N' || key == 'q')
		return answer(p, NULL);
	return key == 'c' ? PROMPT_COPY : PROMPT_OPEN;
}

static enum prompt_state key_text(struct prompt *p, int key)
{
	switch (key) {
	case 'j':
	case KEY_NAME_DOWN: p->top++; break;
	case 'k':
	case KEY_NAME_UP:   p->top = MAX(p->top - 1, 0); break;
	case ' ':
	case KEY_NAME_PAGE_DOWN: p->top += BOX_ROWS - 6; break;
	case KEY_NAME_PAGE_UP:   p->top = MAX(p->top - BOX_ROWS + 6, 0); break;
	case 'c': return PROMPT_COPY;
	case 'q':
	case '\r': return answer(p, NULL);
	default: break;
	}
	return PROMPT_OPEN;
}

static enum prompt_state key_choice(struct prompt *p, int key)
{
	size_t n = n_passing(p);

	switch (key) {
	case '\r':
		return n ? answer(p, passing(p, p->chosen)) : PROMPT_OPEN;
	case '\t':
	case 'N' & 0x1F:
	case KEY_NAME_DOWN: p->chosen += p->chosen + 1 < n; break;
	case 'P' & 0x1F:
	case KEY_NAME_BACKTAB:
	case KEY_NAME_UP:   p->chosen -= p->chosen > 0; break;
	case KEY_NAME_PAGE_DOWN: p->chosen = n ? MIN(p->chosen + 10, n - 1) : 0; break;
	case KEY_NAME_PAGE_UP:   p->chosen -= MIN(p->chosen, (size_t)10); break;
	default:
		if (edit_key(&p->line, key) == EDIT_CHANGED)
			p->chosen = 0;
	}
	return PROMPT_OPEN;
}

enum prompt_state prompt_key(struct prompt *p, int key)
{
	if (key == 0x1B || key == ('C' & 0x1F) || key == ('G' & 0x1F))
		return answer(p, NULL);
	switch (p->kind) {
	case QUESTION_YES_NO: return key_yes_no(p, key);
	case QUESTION_TEXT:   return key_text(p, key);
	case QUESTION_CHOICE: return key_choice(p, key);
	case QUESTION_LINE:   break;
	}
	if (key == '\r')
		return answer(p, edit_text(&p->line));
	edit_key(&p->line, key);
	return PROMPT_OPEN;
}

enum prompt_state prompt_paste(struct prompt *p, const char *text)
{
	/* A pasted "y" must never be an answer. */
	if (p->kind == QUESTION_LINE || p->kind == QUESTION_CHOICE)
		edit_paste(&p->line, text);
	return PROMPT_OPEN;
}

/* ---- drawing ---- */

static void draw_line(struct prompt *p, struct grid *g, struct span at)
{
	edit_draw(&p->line, g, (struct rect){ at.row, at.col, 1, at.width }, at.style, true);
}

/* Draws text by lines; returns the rows they take. rows 0 only counts. */
static int draw_words(struct grid *g, struct rect r, int skip, const char *text)
{
	int line = 0;

	while (*text) {
		size_t n = strcspn(text, "\n");
		char part[1024];
		struct span at = { r.row + MAX(line - skip, 0), r.col, r.cols, STYLE_NORMAL };
		int lines;

		memcpy(part, text, MIN(n, sizeof(part) - 1));
		part[MIN(n, sizeof(part) - 1)] = 0;
		lines = draw_text_wrapped(g, at, MAX(r.rows - MAX(line - skip, 0), 0),
					  MAX(skip - line, 0), part);
		line += MAX(lines, 1);
		text += n + (text[n] == '\n');
	}
	return line;
}

static void draw_choices(const struct prompt *p, struct grid *g, struct rect r)
{
	size_t n = n_passing(p), rows = (size_t)MAX(r.rows, 1), top = 0;

	if (p->chosen >= rows)
		top = p->chosen - rows + 1;
	if (!n)
		draw_text(g, r.row, r.col, r.cols, STYLE_DIM, "nothing like this");
	for (size_t i = 0; i < rows && top + i < n; i++) {
		bool chosen = top + i == p->chosen;
		int row = r.row + (int)i;

		if (chosen)
			for (int col = 0; col < r.cols; col++)
				grid_put(g, row, r.col + col, STYLE_SELECTED, ' ');
		grid_put(g, row, r.col, chosen ? STYLE_SELECTED : STYLE_NORMAL,
			 chosen ? 0x25B8 : ' ');
		draw_text(g, row, r.col + 2, r.cols - 2, chosen ? STYLE_SELECTED : STYLE_NORMAL,
			  passing(p, top + i));
	}
}

static const char *foot_of(const struct prompt *p)
{
	switch (p->kind) {
	case QUESTION_YES_NO: return *p->text ? "y yes   n no   c copy" : "y yes   n no";
	case QUESTION_TEXT:   return "Esc back   c copy";
	case QUESTION_CHOICE: return "Enter take   Up Down   type to narrow   Esc back";
	case QUESTION_LINE:   break;
	}
	return "Enter done   Esc back";
}

/* No room for a box: the last row. */
static void draw_small(struct prompt *p, struct grid *g)
{
	struct span at = { g->rows - 1, 0, g->cols, STYLE_FOCUS };

	for (int col = 0; col < g->cols; col++)
		grid_put(g, at.row, col, STYLE_FOCUS, ' ');
	at.col = MIN(draw_text(g, at.row, 0, g->cols, STYLE_FOCUS, p->title) + 1, g->cols / 2);
	at.width = g->cols - at.col;
	if (p->kind == QUESTION_LINE)
		draw_line(p, g, at);
	else if (p->kind == QUESTION_CHOICE && passing(p, p->chosen))
		draw_text(g, at.row, at.col, at.width, STYLE_SELECTED, passing(p, p->chosen));
	else
		draw_text(g, at.row, at.col, at.width, STYLE_DIM, foot_of(p));
}

static int rows_wanted(const struct prompt *p, struct grid *g, int cols)
{
	int words = draw_words(g, (struct rect){ 0, 0, 0, cols }, 0, p->text);

	if (p->kind == QUESTION_LINE)
		return 3;
	if (p->kind == QUESTION_CHOICE)
		return 3 + (int)MIN(p->n_choices, (size_t)BOX_ROWS);
	return words + 1 + (words > 0);
}

void prompt_draw(struct prompt *p, struct grid *g)
{
	int cols = MIN(g->cols - 2, BOX_COLS), rows;
	struct rect box, r;
	struct span line;

	if (g->rows < 6 || g->cols < 24) {
		draw_small(p, g);
		return;
	}
	rows = MIN(MIN(rows_wanted(p, g, cols - 4) + 2, BOX_ROWS), g->rows);
	box = (struct rect){ (g->rows - rows) / 2, (g->cols - cols) / 2, rows, cols };
	for (int row = 0; row < rows; row++)
		for (int col = 0; col < cols; col++)
			grid_put(g, box.row + row, box.col + col, STYLE_NORMAL, ' ');
	draw_box(g, box, p->title, true);
	r = layout_inside(box);
	r.col++;
	r.cols -= 2;
	draw_text(g, r.row + r.rows - 1, r.col, r.cols, STYLE_DIM, foot_of(p));
	line = (struct span){ r.row, r.col, r.cols, STYLE_BRIGHT };
	if (p->kind == QUESTION_LINE) {
		draw_line(p, g, line);
	} else if (p->kind == QUESTION_CHOICE) {
		draw_line(p, g, line);
		draw_choices(p, g, (struct rect){ r.row + 1, r.col, r.rows - 2, r.cols });
	} else {
		draw_words(g, (struct rect){ r.row, r.col, r.rows - 1, r.cols }, p->top, p->text);
	}
}
