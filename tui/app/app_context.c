/* app_context.c - see app_context.h */
#include "tui/app/app_context.h"

#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "share/base/file.h"
#include "share/base/mem.h"
#include "share/base/paths.h"
#include "tui/run/run_history.h"
#include "tui/app/jobs.h"
#include "tui/run/workspace_names.h"
#include "tui/app/view_requests.h"

#define COPY_MAX 100000	/* bytes: terminals refuse more, some of them much less */

int world_open(struct world *w, const char *workspace, struct err *e)
{
	*w = (struct world){ .workspace = workspace, .trouble = "" };
	if (!(w->wishes = mem_alloc(1, sizeof(*w->wishes), e)) || !(w->jobs = jobs_new(e))) {
		free(w->wishes);
		return e->code;
	}
	w->wishes->go = w->wishes->mouse = -1;
	return 0;
}

void world_close(struct world *w)
{
	struct world_wishes *wish = w->wishes;

	jobs_free(w->jobs);
	history_free(w->history);
	if (wish) {
		prompt_close(&wish->prompt);
		keep_free(&wish->keep);
		free(wish->state_folder);
		wizard_free(wish->wizard);
		wishes_forget_command(wish);
		buf_free(&wish->copy);
		free(wish);
	}
	*w = (struct world){ 0 };
}

int world_choose_run(struct world *w, const char *name, struct err *e)
{
	struct history *h = history_open(w->workspace, name, e);

	if (!h)
		return e->code;
	history_free(w->history);
	w->history = h;
	w->run = h->name;
	w->trouble = "";
	w->wishes->news |= NEWS_RUN;
	return 0;
}

char **world_runs(const struct world *w, size_t *n, struct err *e)
{
	struct names l;

	*n = 0;
	if (names_of_runs(&l, w->workspace, e))
		return NULL;
	*n = l.n;
	return l.items;
}

void world_go(struct world *w, int tab)
{
	w->wishes->go = tab;
}

void world_say(struct world *w, enum style style, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(w->wishes->said, sizeof(w->wishes->said), fmt, ap);
	va_end(ap);
	w->wishes->said_style = style;
	w->wishes->said_at = w->now;
	w->wishes->redraw = true;
}

void world_ask(struct world *w, const struct question *q)
{
	struct world_wishes *wish = w->wishes;
	struct err e = { 0 };

	/* Whoever asked before hears that nothing came of it. */
	if (wish->prompt.open && wish->n_called_off < ARRAY_LEN(wish->called_off))
		wish->called_off[wish->n_called_off++] =
			(struct called_off){ wish->prompt.owner, wish->prompt.id };
	if (prompt_ask(&wish->prompt, q, &e)) {
		world_say(w, STYLE_BAD, "%s", e.text);
		return;
	}
	wish->prompt.owner = wish->caller;
	w->asking = true;
	wish->redraw = true;
}

void world_copy(struct world *w, const char *text)
{
	buf_clear(&w->wishes->copy);
	if (strlen(text) > COPY_MAX) {
		world_say(w, STYLE_WARN, "too long for a clipboard over a terminal (%zu bytes)",
			  strlen(text));
		return;
	}
	buf_add_str(&w->wishes->copy, text);
	w->wishes->copies = true;
}

/* ---- files ---- */

/* A new file called name, or NAME-2.EXT and so on; the name it got in out. -1: errno says why. */
static int create_beside(const char *name, char *out, size_t size)
{
	const char *dot = strrchr(name, '.');
	int stem = dot && dot > name ? (int)(dot - name) : (int)strlen(name), fd = -1;

	snprintf(out, size, "%s", name);
	for (int i = 2; i < 1000; i++) {
		fd = open(out, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
		if (fd >= 0 || !file_exists(out))
			return fd;
		snprintf(out, size, "%.*s-%d%s", stem, name, i, name + stem);
	}
	return fd;
}

void world_export(struct world *w, const char *name, const char *text)
{
	char path[300];
	struct err e = { 0 };
	int fd = create_beside(name, path, sizeof(path));
	FILE *f = fd >= 0 ? fdopen(fd, "w") : NULL;
	size_t n = strlen(text);
	bool fine;

	if (!f) {
		err_set_errno(&e, ERR_CANTCREAT, "%.200s: cannot be written", path);
		world_say(w, STYLE_BAD, "%s", e.text);
		if (fd >= 0)
			close(fd);
		return;
	}
	fine = fwrite(text, 1, n, f) == n;
	if (fclose(f) || !fine) {
		err_set_errno(&e, ERR_IO, "%.200s: cannot be written", path);
		unlink(path);
		world_say(w, STYLE_BAD, "%s", e.text);
		return;
	}
	world_say(w, STYLE_GOOD, "written: %s", path);
}

void world_screenshot(struct world *w)
{
	w->wishes->screenshot = true;
}

/* ---- commands ---- */

void wishes_forget_command(struct world_wishes *wish)
{
	for (size_t i = 0; wish->command && wish->command[i]; i++)
		free(wish->command[i]);
	free(wish->command);
	free(wish->command_title);
	wish->command = NULL;
	wish->command_title = NULL;
}

static int keep_command(struct world_wishes *wish, const char *title, const char *const *argv,
			struct err *e)
{
	size_t n = 0;

	wishes_forget_command(wish);
	while (argv[n])
		n++;
	wish->command_title = mem_strdup(title, e);
	wish->command = mem_alloc(n + 1, sizeof(*wish->command), e);
	for (size_t i = 0; wish->command && i < n; i++)
		if (!(wish->command[i] = mem_strdup(argv[i], e)))
			break;
	if (wish->command_title && wish->command && wish->command[n ? n - 1 : 0])
		return 0;
	wishes_forget_command(wish);
	return e->code;
}

void world_run(struct world *w, const char *title, const char *const *argv)
{
	struct world_wishes *wish = w->wishes;
	struct buf line = { 0 };
	struct err e = { 0 };
	int caller = wish->caller;

	if (keep_command(wish, title, argv, &e)) {
		world_say(w, STYLE_BAD, "%s", e.text);
		return;
	}
	jobs_command_text(argv, &line);
	wish->caller = CALLER_COMMAND;
	world_ask(w, &(struct question){
			.kind = w->readonly ? QUESTION_TEXT : QUESTION_YES_NO,
			.title = w->readonly ? "only to look (--readonly): to be typed elsewhere"
					     : "run this command?",
			.text = buf_text(&line),
		});
	wish->caller = caller;
	buf_free(&line);
}

void world_wizard(struct world *w, const struct wizard_form *form)
{
	struct err e = { 0 };
	char *usual = paths_workspace(NULL, &e);
	bool named = !usual || strcmp(usual, w->workspace);
	struct wizard *z;

	free(usual);
	named = named && conf_takes(form->command, "workspace");
	if (!(z = wizard_new(form, named ? w->workspace : NULL, &e))) {
		world_say(w, STYLE_BAD, "%s", e.text);
		return;
	}
	wizard_free(w->wishes->wizard);
	w->wishes->wizard = z;
	w->wishes->redraw = true;
}

/* ---- what is remembered ---- */

const char *world_recall(const struct world *w, const char *key)
{
	return keep_get(&w->wishes->keep, key);
}

void world_keep(struct world *w, const char *key, const char *value)
{
	keep_set(&w->wishes->keep, key, value);
}

char *world_state_path(const struct world *w, const char *name)
{
	struct err ignored;

	return w->wishes->state_folder ? file_path(&ignored, "%s%s", w->wishes->state_folder, name)
				       : NULL;
}

void world_set_look(struct world *w, const char *theme, int mouse)
{
	if (theme)
		snprintf(w->wishes->look, sizeof(w->wishes->look), "%s", theme);
	w->wishes->mouse = mouse;
	w->wishes->redraw = true;
}

void world_wake_on(struct world *w, int fd)
{
	if (fd >= 0 && w->wishes->n_wakes < WORLD_WAKES)
		w->wishes->wakes[w->wishes->n_wakes++] = fd;
}
