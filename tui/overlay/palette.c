/* palette.c - items of the command palette and their order; see palette.h. */
#include "tui/overlay/palette.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "share/base/mem.h"
#include "share/base/util.h"
#include "tui/context/completion_names.h"
#include "tui/context/line_history.h"
#include "tui/context/view.h"
#include "tui/term/fuzzy.h"

#define HISTORY_FILE "commands" /* in the folder of the other state files of the user */

enum {
	SCORE_HELP = FUZZY_LETTER, /* a part of the line that only the help contains */
	SCORE_RECENT = 4 * FUZZY_LETTER,
	SCORE_HERE = 3 * FUZZY_LETTER,
	SCORE_ACTION = FUZZY_LETTER / 2,
};

/* ---- items ---- */

static struct palette_row *add_palette_item(struct palette *p, enum palette_kind kind,
					    const char *group, const char *name, const char *help)
{
	struct palette_row *to;
	struct err ignored;

	if (strlen(name) >= PALETTE_NAME ||
	    mem_grow(&p->items, &p->cap_items, p->n_items + 1, sizeof(*p->items), &ignored))
		return NULL;
	to = &p->items[p->n_items++];
	*to = (struct palette_row){ .kind = kind, .help = help };
	snprintf(to->name, sizeof(to->name), "%s", name);
	snprintf(to->group, sizeof(to->group), "%s", group);
	return to;
}

/* Actions that only move, or that the palette itself would answer. */
static bool is_left_out(enum action a)
{
	return a <= ACTION_END || a == ACTION_PALETTE || a == ACTION_BACK;
}

static bool is_group_of_tab(const char *group)
{
	static const char *const names[] = {
#define TAB(id, name) #name,
#include "tui/context/tabs.def"
#undef TAB
	};

	for (size_t i = 0; i < ARRAY_LEN(names); i++)
		if (!strcmp(names[i], group))
			return true;
	return false;
}

/* own: the actions of the view in front, else those of every view, else those of other views. */
enum action_owner { OWNER_HERE, OWNER_COMMON, OWNER_OTHER, N_OWNERS };

static void add_actions(struct palette *p, const struct app_context *w, enum action_owner owner)
{
	for (int a = 1; a < ACTION_COUNT; a++) {
		const struct action_info *info = &action_infos[a];
		bool here = w->view && !strcmp(info->group, w->view);
		bool common = keys_group_is_common(info->group);
		struct palette_row *to;

		if (owner != (here     ? OWNER_HERE
			      : common ? OWNER_COMMON
				       : OWNER_OTHER) ||
		    is_left_out((enum action)a) ||
		    (owner == OWNER_OTHER && !is_group_of_tab(info->group)))
			continue;
		to = add_palette_item(p, PALETTE_ACTION, owner == OWNER_OTHER ? info->group : "",
				      info->name, info->help);
		if (!to)
			return;
		to->action = (enum action)a;
		to->score = owner == OWNER_HERE ? SCORE_HERE : SCORE_ACTION;
		keys_describe(w->keymap, to->action, to->keys, sizeof(to->keys));
	}
}

static void add_commands(struct palette *p)
{
	struct conf_command_row c;

	/* "watch" is the workbench itself */
	for (size_t i = 0; conf_command_at(i, &c); i++)
		if (strcmp(c.name, "watch"))
			add_palette_item(p, PALETTE_COMMAND, "$", c.name, c.help);
}

static void add_palette_names(struct palette *p, const struct app_context *w,
			      enum palette_kind kind)
{
	bool is_run = kind == PALETTE_RUN;
	struct workspace_names l;
	struct err ignored;

	if (completion_names_list(&l, w->workspace, is_run ? "runs" : "corpora", &ignored))
		return;
	for (size_t i = 0; i < l.n; i++)
		add_palette_item(p, kind, is_run ? "run" : "corpus", l.items[i],
				 is_run ? "show this run" : "show this corpus");
	workspace_names_free(&l);
}

/* ---- recent items ---- */

/* How an item is stored: "run.save" of actions.def, "run NAME", a command line. */
static void history_key(const struct palette_row *row, char *out, size_t size)
{
	switch (row->kind) {
	case PALETTE_ACTION:
		snprintf(out, size, "%s.%s", action_infos[row->action].group,
			 action_infos[row->action].name);
		break;
	case PALETTE_RUN:
	case PALETTE_CORPUS:
		snprintf(out, size, "%s %s", row->group, row->name);
		break;
	default:
		snprintf(out, size, "%s", row->name);
	}
}

void palette_remember(const struct app_context *w, const struct palette_row *row)
{
	char *path = context_state_path(w, HISTORY_FILE), key[PALETTE_NAME + 40];
	struct err ignored;

	history_key(row, key, sizeof(key));
	if (path)
		line_history_add(path, key, &ignored);
	free(path);
}

static struct palette_row *find_item(struct palette *p, const char *key)
{
	char own[PALETTE_NAME + 40];

	for (size_t i = 0; i < p->n_items; i++) {
		history_key(&p->items[i], own, sizeof(own));
		if (p->items[i].kind != PALETTE_COMMAND && !strcmp(own, key))
			return &p->items[i];
	}
	return NULL;
}

/* The help of the command of a line; NULL: the line is no command line of this version. */
static const char *line_help(const char *line)
{
	struct conf_command_row c;
	size_t n = strcspn(line, " ");

	for (size_t i = 0; conf_command_at(i, &c); i++)
		if (strlen(c.name) == n && !memcmp(c.name, line, n))
			return c.help;
	return NULL;
}

/* Mark the latest items; a stored command line becomes an item. */
static void mark_recent(struct palette *p, const struct app_context *w)
{
	char *path = context_state_path(w, HISTORY_FILE);
	int left = PALETTE_RECENT;

	if (path)
		line_history_read(&p->line, path);
	free(path);
	for (size_t i = p->line.n_history; i-- > 0 && left > 0;) {
		const char *key = p->line.history[i];
		struct palette_row *row = find_item(p, key);

		if (!row && line_help(key) &&
		    (row = add_palette_item(p, PALETTE_LINE, "$", key, line_help(key))))
			row->score = SCORE_ACTION;
		if (!row || row->is_recent)
			continue;
		row->is_recent = true;
		row->score += SCORE_RECENT * left--;
	}
}

int palette_open(struct palette *p, const struct app_context *w, struct err *e)
{
	for (int owner = 0; owner < N_OWNERS; owner++)
		add_actions(p, w, (enum action_owner)owner);
	add_commands(p);
	add_palette_names(p, w, PALETTE_RUN);
	add_palette_names(p, w, PALETTE_CORPUS);
	mark_recent(p, w);
	return palette_update(p, w, e);
}

void palette_close(struct palette *p)
{
	edit_close(&p->line);
	free(p->items);
	free(p->rows);
	*p = (struct palette){ 0 };
}

/* ---- search ---- */

static int compare_rows(const void *left, const void *right)
{
	const struct palette_row *a = left, *b = right;

	if (a->score != b->score)
		return a->score > b->score ? -1 : 1;
	return a->action != b->action ? (a->action < b->action ? -1 : 1) : strcmp(a->name, b->name);
}

/* How well an item fits all parts of the line; 0: it does not. Sets its marks. */
static int rate_item(struct palette_row *row, const char *line)
{
	int score = row->is_recent && *line ? SCORE_RECENT : row->score;

	row->marks = 0;
	while (*(line += strspn(line, " "))) {
		size_t n = strcspn(line, " ");
		char part[PALETTE_NAME];
		int fits;

		snprintf(part, sizeof(part), "%.*s", (int)MIN(n, sizeof(part) - 1), line);
		fits = fuzzy_score(row->name, part, &row->marks);
		if (!fits && (strcasestr(row->group, part) || strcasestr(row->help, part)))
			fits = SCORE_HELP;
		if (!fits)
			return 0;
		score += fits;
		line += n;
	}
	return score + 1;
}

/* Whether the line is a command line; finds its command and its last word. */
static bool find_line_command(struct palette *p, const char *line)
{
	size_t start = strspn(line, " "), n = strcspn(line + start, " ");
	const char *last = strrchr(line, ' ');
	struct conf_command_row c;

	p->command = (struct conf_command_row){ 0 };
	if (!line[start + n])
		return false;
	p->word_at = (size_t)(last + 1 - line);
	for (size_t i = 0; conf_command_at(i, &c); i++)
		if (strlen(c.name) == n && !memcmp(c.name, line + start, n))
			p->command = c;
	return p->command.name != NULL;
}

/* A line of digits is a step of the run in front, up to its latest step. */
static bool add_step_row(struct palette *p, const struct app_context *w, const char *line)
{
	const size_t n = strlen(line);
	struct palette_row row = { .kind = PALETTE_STEP,
				   .group = "step",
				   .help = "show this step in the plots of the run" };

	if (!n || n > 18 || strspn(line, "0123456789") != n ||
	    strtoll(line, NULL, 10) > context_last_step(w))
		return false;
	snprintf(row.name, sizeof(row.name), "%s", line);
	p->rows[p->n_rows++] = row;
	return true;
}

int64_t palette_row_step(const struct palette_row *row)
{
	assert(row->kind == PALETTE_STEP);
	return strtoll(row->name, NULL, 10);
}

int palette_update(struct palette *p, const struct app_context *w, struct err *e)
{
	const char *line = edit_text(&p->line);

	p->n_rows = 0;
	if (find_line_command(p, line))
		return palette_add_words(p, w, e);
	if (mem_grow(&p->rows, &p->cap_rows, p->n_items + 1, sizeof(*p->rows), e))
		return e->code;
	if (add_step_row(p, w, line))
		return 0;
	for (size_t i = 0; i < p->n_items; i++) {
		int score = rate_item(&p->items[i], line);

		if (!score)
			continue;
		p->rows[p->n_rows] = p->items[i];
		p->rows[p->n_rows++].score = score;
	}
	/* without typed letters the order of the items stays, after the recent ones */
	for (size_t i = 0; !*line && i < p->n_rows; i++)
		if (!p->rows[i].is_recent)
			p->rows[i].score = -(int)i;
	qsort(p->rows, p->n_rows, sizeof(*p->rows), compare_rows);
	return 0;
}
