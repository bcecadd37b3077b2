/* app_context.c - stores the requests of views; see app_context.h. */
#include "tui/context/app_context.h"

#include <assert.h>
#include <fcntl.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "share/base/file.h"
#include "share/base/mem.h"
#include "share/base/text.h"
#include "share/workspace/paths.h"
#include "share/workspace/workspace_names.h"
#include "tui/context/jobs.h"
#include "tui/context/view.h"
#include "tui/context/view_requests.h"
#include "tui/run/run_history.h"

#define COPY_MAX      100000 /* bytes; terminals refuse more */
#define COMMAND_WORDS 20     /* words of context_run_in_workspace() */

int context_open(struct app_context *w, const char *workspace, struct err *e)
{
	*w = (struct app_context){ .workspace = workspace,
				   .addresses = "",
				   .silence = "",
				   .trouble = "",
				   .plot_step = NAN };
	if (!(w->requests = mem_alloc(1, sizeof(*w->requests), e)) || !(w->jobs = jobs_new(e))) {
		free(w->requests);
		return e->code;
	}
	w->requests->show_tab = w->requests->mouse = w->requests->pictures = -1;
	w->pictures = "";
	return 0;
}

void context_close(struct app_context *w)
{
	struct view_requests *requests = w->requests;

	jobs_free(w->jobs);
	history_free(w->history);
	if (requests) {
		prompt_close(&requests->prompt);
		saved_state_free(&requests->saved);
		free(requests->state_folder);
		free(requests->tab_text);
		wizard_free(requests->wizard);
		requests_clear_command(requests);
		buf_free(&requests->copy);
		free(requests);
	}
	*w = (struct app_context){ 0 };
}

int context_choose_run(struct app_context *w, const char *name, struct err *e)
{
	struct run_history *h = history_open(w->workspace, name, e);

	if (!h)
		return e->code;
	history_free(w->history);
	w->history = h;
	w->run = h->name;
	w->trouble = "";
	w->plot_step = NAN;
	w->requests->news |= NEWS_RUN;
	return 0;
}

char **context_run_names(const struct app_context *w, size_t *n, struct err *e)
{
	struct workspace_names l;

	*n = 0;
	if (workspace_run_names(&l, w->workspace, e))
		return NULL;
	*n = l.n;
	return l.items;
}

void context_go_to_tab(struct app_context *w, int tab)
{
	w->requests->show_tab = tab;
}

int64_t context_last_step(const struct app_context *w)
{
	return w->history ? w->history->step : -1;
}

void context_show_step(struct app_context *w, int64_t step)
{
	w->plot_step = (double)step;
	context_go_to_tab(w, TAB_RUN);
}

void context_send_text(struct app_context *w, int tab, const char *text)
{
	struct err e;

	free(w->requests->tab_text);
	w->requests->tab_text = mem_strdup(text, &e);
	w->requests->show_tab = tab;
}

void context_notify(struct app_context *w, enum style style, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(w->requests->message, sizeof(w->requests->message), fmt, ap);
	va_end(ap);
	w->requests->message_style = style;
	w->requests->message_time = w->now;
	w->requests->message_is_brief = false;
	w->requests->redraw = true;
}

void context_ask_text(struct app_context *w, enum question_kind kind, int id, const char *title,
		      const char *text)
{
	context_ask(w, &(struct question){ .kind = kind, .id = id, .title = title, .text = text });
}

void context_ask_choice(struct app_context *w, int id, const char *title,
			const char *const *choices, size_t n)
{
	context_ask(w, &(struct question){ .kind = QUESTION_CHOICE,
					   .id = id,
					   .title = title,
					   .choices = choices,
					   .n_choices = n });
}

void context_ask(struct app_context *w, const struct question *q)
{
	struct view_requests *requests = w->requests;
	struct err e = { 0 };

	assert(q->kind != QUESTION_CHOICE || q->choices || !q->n_choices);
	/* The previous question is cancelled: its caller gets a NULL answer. */
	if (requests->prompt.open && requests->n_cancelled < ARRAY_LEN(requests->cancelled))
		requests->cancelled[requests->n_cancelled++] =
			(struct cancelled_question){ requests->prompt.owner, requests->prompt.id };
	if (prompt_ask(&requests->prompt, q, &e)) {
		context_notify(w, STYLE_BAD, "%s", e.text);
		return;
	}
	requests->prompt.owner = requests->caller;
	w->has_question = true;
	requests->redraw = true;
}

void context_copy_text(struct app_context *w, const char *text)
{
	buf_clear(&w->requests->copy);
	if (strlen(text) > COPY_MAX) {
		context_notify(w, STYLE_WARN,
			       "not copied: %zu bytes, and a clipboard takes at most 100,000",
			       strlen(text));
		return;
	}
	buf_add_str(&w->requests->copy, text);
	w->requests->has_copy = true;
}

/* ---- files ---- */

/* Create a new file NAME, or NAME-2.EXT and so on; out gets its name. -1: see errno. */
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

void context_write_file(struct app_context *w, const char *name, const char *text)
{
	char path[300];
	struct err e = { 0 };
	int fd = create_beside(name, path, sizeof(path));
	FILE *f = fd >= 0 ? fdopen(fd, "w") : NULL;
	size_t n = strlen(text);
	bool fine;

	if (!f) {
		err_set_errno(&e, ERR_CANTCREAT, "%.200s: cannot be written", path);
		context_notify(w, STYLE_BAD, "%s", e.text);
		if (fd >= 0)
			close(fd);
		return;
	}
	fine = fwrite(text, 1, n, f) == n;
	if (fclose(f) || !fine) {
		err_set_errno(&e, ERR_IO, "%.200s: cannot be written", path);
		unlink(path);
		context_notify(w, STYLE_BAD, "%s", e.text);
		return;
	}
	context_notify(w, STYLE_GOOD, "written: %s", path);
}

void context_screenshot(struct app_context *w)
{
	w->requests->screenshot = true;
}

/* ---- commands ---- */

void requests_clear_command(struct view_requests *requests)
{
	jobs_free_words(requests->command);
	free(requests->command_title);
	requests->command = NULL;
	requests->command_title = NULL;
}

static int store_command(struct view_requests *requests, const char *title, const char *const *argv,
			 struct err *e)
{
	requests_clear_command(requests);
	requests->shows_output = false;
	requests->command_title = mem_strdup(title, e);
	requests->command = jobs_copy_words(argv, e);
	if (requests->command_title && requests->command)
		return 0;
	requests_clear_command(requests);
	return e->code;
}

/* The title of a question about a command that this workbench does not run itself. */
static const char *title_of_copy(const struct app_context *w)
{
	if (*w->addresses)
		return "the workspace is on another host: copy this command to run it there";
	return "--readonly: copy this command to run it elsewhere";
}

void context_run_command(struct app_context *w, const char *title, const char *const *argv)
{
	struct view_requests *requests = w->requests;
	struct buf line = { 0 };
	struct err e = { 0 };
	int caller = requests->caller;

	if (store_command(requests, title, argv, &e)) {
		context_notify(w, STYLE_BAD, "%s", e.text);
		return;
	}
	jobs_command_text(argv, &line);
	requests->caller = CALLER_COMMAND;
	context_ask_text(w, w->readonly ? QUESTION_TEXT : QUESTION_YES_NO, 0,
			 w->readonly ? title_of_copy(w) : "run this command?", buf_text(&line));
	requests->caller = caller;
	buf_free(&line);
}

/* The workspace as a command on its own host names it; out: room for its path. */
static const char *workspace_there(const struct app_context *w, char *out, size_t size)
{
	const char *path = *w->addresses ? strchr(w->addresses + strlen("ssh://"), '/') : NULL,
		   *run;

	if (!*w->addresses)
		return w->workspace;
	if (!path || strstr(path, ", ssh://"))
		return "WORKSPACE"; /* several hosts: which one is not known here */
	path += text_starts_with(path, "/~/");
	run = strstr(path, "/runs/");
	snprintf(out, size, "%.*s", run ? (int)(run - path) : (int)strlen(path), path);
	return out;
}

void context_run_in_workspace(struct app_context *w, const char *title, const char *const *argv)
{
	const char *words[COMMAND_WORDS + 3];
	char there[400];
	size_t n = 0;

	for (size_t i = 0; argv[i]; i++) {
		assert(i < COMMAND_WORDS);
		words[n++] = argv[i];
		if (i == 1) {
			words[n++] = "-C";
			words[n++] = workspace_there(w, there, sizeof(there));
		}
	}
	words[n] = NULL;
	context_run_command(w, title, words);
}

void context_run_line(struct app_context *w, const char *title, const char *const *words)
{
	const char *argv[COMMAND_WORDS + 1] = { "werkbank" };
	size_t n = 1;

	for (size_t i = 0; words[i]; i++) {
		assert(n < COMMAND_WORDS);
		argv[n++] = words[i];
	}
	argv[n] = NULL;
	if (conf_accepts_option(words[0], "workspace"))
		context_run_in_workspace(w, title, argv);
	else
		context_run_command(w, title, argv);
	w->requests->shows_output = true;
}

void context_act(struct app_context *w, enum action action)
{
	w->requests->action = action;
}

void context_open_wizard(struct app_context *w, const struct wizard_form *form)
{
	struct err e = { 0 };
	char *usual = paths_workspace(NULL, &e), there[400];
	bool named = !usual || strcmp(usual, w->workspace);
	struct wizard *z;

	free(usual);
	named = named && conf_accepts_option(form->command, "workspace");
	if (!(z = wizard_new(form, named ? workspace_there(w, there, sizeof(there)) : NULL, &e))) {
		context_notify(w, STYLE_BAD, "%s", e.text);
		return;
	}
	wizard_free(w->requests->wizard);
	w->requests->wizard = z;
	w->requests->redraw = true;
}

/* ---- saved state ---- */

const char *context_get_saved(const struct app_context *w, const char *key)
{
	return saved_state_get(&w->requests->saved, key);
}

void context_set_saved(struct app_context *w, const char *key, const char *value)
{
	saved_state_set(&w->requests->saved, key, value);
}

char *context_state_path(const struct app_context *w, const char *name)
{
	struct err ignored;

	return w->requests->state_folder
		       ? file_path(&ignored, "%s%s", w->requests->state_folder, name)
		       : NULL;
}

void context_set_pictures(struct app_context *w, bool on)
{
	w->requests->pictures = on;
}

void context_set_look(struct app_context *w, const char *theme, int mouse)
{
	if (theme)
		snprintf(w->requests->new_theme, sizeof(w->requests->new_theme), "%s", theme);
	w->requests->mouse = mouse;
	w->requests->redraw = true;
}

void context_save_sentences(struct app_context *w, bool saves)
{
	w->saves_sentences = saves;
	context_set_saved(w, "translate.save-sentences", saves ? NULL : "no");
}

void context_wake_on_fd(struct app_context *w, int fd)
{
	if (fd >= 0 && w->requests->n_wake_fds < CONTEXT_WAKE_FDS)
		w->requests->wake_fds[w->requests->n_wake_fds++] = fd;
}
