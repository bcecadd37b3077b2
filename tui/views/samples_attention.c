/* samples_attention.c - a console without a screen of its own; see samples_attention.h. */
#include "tui/views/samples_attention.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "share/base/clock.h"
#include "share/base/mem.h"
#include "share/base/number_format.h"
#include "tui/run/checkpoints.h"
#include "tui/term/draw.h"
#include "tui/term/reaction.h"
#include "tui/translate/attention_map.h"

#define NAMED_CHECKPOINTS 5

/* Whether the run has a checkpoint of the step; if not, which ones it has. */
static int find_samples_checkpoint(const char *workspace, const char *run, int64_t step,
				   struct err *e)
{
	char number[NUMBER_TEXT_BYTES];
	struct buf names = { 0 };
	struct checkpoints list;
	int rc = 0;

	if (checkpoints_list(&list, workspace, run, e))
		return e->code;
	for (size_t i = 0; i < list.n && list.steps[i] != step; i++)
		if (i < NAMED_CHECKPOINTS)
			buf_printf(&names, "%s%s", i ? "; " : "",
				   format_count(number, list.steps[i]));
		else if (i == NAMED_CHECKPOINTS)
			buf_add_str(&names, "; ...");
	for (size_t i = 0; i < list.n; i++)
		if (list.steps[i] == step)
			goto out;
	format_count(number, step);
	if (list.n)
		rc = err_set(e, ERR_NOINPUT,
			     "the checkpoint of step %s was removed; steps with a checkpoint: %s",
			     number, buf_text(&names));
	else
		rc = err_set(e, ERR_NOINPUT, "this run has no checkpoint, so no map of attention");
out:
	buf_free(&names);
	checkpoints_free(&list);
	return rc;
}

int samples_attention_show(struct samples_attention *a, const struct app_context *w,
			   const char *run, int64_t step, struct err *e)
{
	struct console *c = &a->console;

	if (find_samples_checkpoint(w->workspace, run, step, e))
		return e->code;
	samples_attention_close(a);
	if (console_open(c, w->workspace, e))
		return e->code;
	c->follow = false;
	a->is_open = true;
	a->step = step;
	/* maps are wanted, alternatives are not */
	c->has_extra[EXTRA_MAP] = c->extra_alone = true;
	if (console_set_checkpoint(c, 0, run, step, e)) {
		samples_attention_close(a);
		return e->code;
	}
	return 0;
}

void samples_attention_close(struct samples_attention *a)
{
	if (a->is_open)
		console_close(&a->console);
	free(a->translation);
	*a = (struct samples_attention){ 0 };
}

int samples_attention_ask(struct samples_attention *a, const char *source, const char *translation,
			  struct err *e)
{
	struct console *c = &a->console;
	char *copy;

	if (!a->is_open)
		return 0;
	a->has_pair = translation && *translation;
	if (!a->has_pair || (a->translation && !strcmp(a->translation, translation) &&
			     c->asked_text && !strcmp(c->asked_text, source)))
		return 0;
	if (!(copy = mem_strdup(translation, e)))
		return e->code;
	free(a->translation);
	a->translation = copy;
	c->token = 0;
	if (edit_set(&c->input, source, e))
		return e->code;
	return console_set_prefix(c, translation, clock_mono_s() + CONSOLE_DEBOUNCE_S, e);
}

unsigned samples_attention_update(struct samples_attention *a, struct app_context *w)
{
	double now = clock_mono_s(), due;
	unsigned reaction;
	int fds[8];
	size_t n;

	if (!a->is_open)
		return REACT_NOTHING;
	reaction = console_update(&a->console, now) ? REACT_REDRAW : REACT_NOTHING;
	n = console_fds(&a->console, fds, ARRAY_LEN(fds));
	for (size_t i = 0; i < n; i++)
		context_wake_on_fd(w, fds[i]);
	due = console_due(&a->console, now);
	if (due <= 0)
		reaction |= REACT_AGAIN;
	if (console_busy(&a->console) || due < 0.5)
		reaction |= REACT_SOON;
	return reaction;
}

bool samples_attention_act(struct samples_attention *a, enum action action)
{
	struct console *c = &a->console;
	const struct service_translation *t = console_shown_translation(c, 0);
	struct list_widget rows = { .at = (size_t)MAX(c->token, 0), .page = 10 };

	if (!a->is_open || !t || !list_widget_act(&rows, action, t->n))
		return false;
	console_move(c, (int)rows.at, clock_mono_s());
	return true;
}

/* Why no map is drawn; NULL: it is. */
static const char *no_attention_text(const struct samples_attention *a)
{
	const struct console *c = &a->console;
	const struct service_answer *answer = console_answer(c, 0);
	const struct service *s = c->sides[0].service;

	if (s && service_state(s) == SERVICE_DOWN && *service_trouble(s))
		return service_trouble(s);
	if (answer && answer->error)
		return answer->error;
	if (!a->has_pair)
		return "this sentence has no translation by that checkpoint";
	if (s && service_state(s) == SERVICE_STARTING)
		return "loading the checkpoint";
	return console_is_outdated(c, 0) || !answer ? "waiting for the translator" : NULL;
}

void samples_attention_draw(struct samples_attention *a, struct grid *g, struct rect box,
			    bool focused)
{
	struct console *c = &a->console;
	struct rect in = layout_inside(box);
	char text[80];
	const char *why = no_attention_text(a);

	if (!a->is_open || box.rows < 3 || box.cols < 3)
		return;
	c->focus = focused ? CONSOLE_PANE_MAP : CONSOLE_WORDS;
	if (why) {
		draw_box(g, box, "attention", focused);
		draw_text_wrapped(g, (struct span){ in.row, in.col, in.cols, STYLE_DIM }, in.rows,
				  0, why);
	} else {
		attention_map_draw(c, g, box);
	}
	snprintf(text, sizeof(text), " checkpoint %s ", COUNT_TEXT(a->step));
	draw_text(g, box.row + box.rows - 1, box.col + 2, box.cols - 4, STYLE_DIM, text);
}
