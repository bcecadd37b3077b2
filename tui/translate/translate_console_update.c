/* translate_console_update.c - the turns of the console: services, newer checkpoints, files; see translate_console.h. */
#include "tui/translate/translate_console.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "share/base/mem.h"
#include "share/base/util.h"
#include "tui/run/checkpoints.h"

#define DRAFTS_AHEAD  30  /* sentences of a document */
#define CHECK_EVERY_S 1.0 /* interval between searches for a newer checkpoint */

/* All services: those in use, and newer ones that are loading. Returns their number. */
static size_t list_services(const struct console *c, struct service *out[2 * CONSOLE_SIDES])
{
	size_t n = 0;

	for (int i = 0; i < CONSOLE_SIDES; i++) {
		if (c->sides[i].service)
			out[n++] = c->sides[i].service;
		if (c->sides[i].next)
			out[n++] = c->sides[i].next;
	}
	return n;
}

/* Look for a newer checkpoint for side 0 and load it in a second service. */
static void find_newer_checkpoint(struct console *c, double now)
{
	struct console_side *s = &c->sides[0];
	int64_t last;
	struct err e;

	if (!c->follow || !s->run || now - c->checked_at < CHECK_EVERY_S)
		return;
	c->checked_at = now;
	last = checkpoints_link(c->workspace, s->run, "last");
	if (last < 0 || last == s->step || last == s->failed_step ||
	    (s->next && last == s->next_step))
		return;
	service_free(s->next);
	s->next_step = last;
	s->next = console_start_service(c, s->run, last, &e);
	if (!s->next) {
		s->failed_step = last;
		snprintf(c->trouble, sizeof(c->trouble), "%.290s", e.text);
	}
}

/* Switch to the newer service when it is ready; keep the old one if loading failed. */
static bool switch_to_newer(struct console *c)
{
	struct console_side *s = &c->sides[0];
	struct err ignored;

	if (!s->next)
		return false;
	if (service_deaths(s->next)) {
		s->failed_step = s->next_step;
		snprintf(c->trouble, sizeof(c->trouble), "checkpoint %lld: %.250s",
			 (long long)s->next_step, service_trouble(s->next));
		service_free(s->next);
		s->next = NULL;
		return true;
	}
	if (service_model(s->next)->step < 0)
		return false;
	service_free(s->service);
	s->service = s->next;
	s->step = s->next_step;
	s->is_best = false;
	s->next = NULL;
	c->trouble[0] = 0;
	if (c->asked_text)
		console_ask(c, 0, &ignored);
	console_forget_drafts(c);
	return true;
}

/* The next sentence of the document that has no draft, not far after the open one; the number of sentences: none. */
static size_t next_draft(const struct document *d)
{
	size_t i = MAX(d->at + 1, d->n_chosen);
	const size_t end = MIN(d->n, i + DRAFTS_AHEAD);

	while (i < end && (d->drafts[i] || document_is_blank(d, i)))
		i++;
	return i < end ? i : d->n;
}

/* Translate sentences of the document ahead while nothing else is to do; true: there is a new one. */
static bool update_drafts(struct console *c, double now)
{
	struct document *d = c->document;
	struct service *s = c->sides[0].service;
	const struct service_answer *a = s ? service_answer(s, SLOT_AHEAD) : NULL;
	const bool is_new = d && c->ahead && a && a->id == c->ahead;
	struct service_request r;
	struct err ignored;

	if (is_new) {
		/* a sentence that fails has an empty draft: it is not asked again */
		free(d->drafts[c->ahead_at]);
		d->drafts[c->ahead_at] =
			mem_strdup(a->error ? "" : a->translations[0].text, &ignored);
		d->qualities[c->ahead_at] = a->error ? NAN : a->translations[0].quality;
		c->ahead = 0;
	}
	if (!d || !s || c->ahead || service_state(s) != SERVICE_READY || next_draft(d) == d->n)
		return is_new;
	console_fill_request(c, 0, &r);
	r = (struct service_request){ .slot = SLOT_AHEAD,
				      .text = d->sources[next_draft(d)],
				      .n_best = 1,
				      .beam = r.beam,
				      .sets_alpha = r.sets_alpha,
				      .alpha = r.alpha,
				      .glossary = r.glossary };
	c->ahead_at = next_draft(d);
	c->ahead = MAX(service_ask(s, &r, now, &ignored), 0);
	return is_new;
}

/* Request the alternatives while the cursor is on the words and the list is shown. */
static void ask_shown_alternatives(struct console *c, double now)
{
	struct err ignored;

	if (c->focus != CONSOLE_INPUT && c->focus != CONSOLE_PANE_TEXT && !c->extra_alone &&
	    !c->wants_alternatives)
		console_ask_alternatives(c, now, &ignored);
}

/* A new answer may be shorter: clamp the cursor. */
static void clamp_console_cursor(struct console *c)
{
	const struct service_answer *a = console_answer(c, c->side), *o = console_alternatives(c);
	const struct service_translation *t;

	if (a && !a->error)
		c->choice = MIN(c->choice, (int)a->n - 1);
	if ((t = console_shown_translation(c, c->side)))
		c->token = MIN(c->token, (int)t->n);
	if (o && o->n_alternatives)
		c->other = MIN(c->other, (int)o->n_alternatives - 1);
}

/* Update the seconds of waiting on the screen. */
static bool update_slow_seconds(struct console *c, double now)
{
	double longest = 0;
	int before = c->slow_seconds;

	for (int i = 0; i < CONSOLE_SIDES; i++)
		if (c->sides[i].service && now - service_busy_since(c->sides[i].service) > longest)
			longest = now - service_busy_since(c->sides[i].service);
	c->slow_seconds = (int)MIN(longest, 1e6);
	return c->slow_seconds != before;
}

bool console_update(struct console *c, double now)
{
	struct service *all[2 * CONSOLE_SIDES];
	bool news = update_slow_seconds(c, now);
	struct err ignored;

	if (c->has_extra[EXTRA_MAP] && !c->asked_map && c->asked_text)
		console_ask(c, now, &ignored);

	find_newer_checkpoint(c, now);
	for (size_t i = 0, n = list_services(c, all); i < n; i++)
		news |= service_update(all[i], now);
	news |= switch_to_newer(c);
	if (c->file)
		news |= translate_file_update(c->file, now);
	news |= console_update_revision(c);
	news |= update_drafts(c, now);
	clamp_console_cursor(c);
	ask_shown_alternatives(c, now);
	return news;
}

double console_due(const struct console *c, double now)
{
	struct service *all[2 * CONSOLE_SIDES];
	double due = NAN;

	for (size_t i = 0, n = list_services(c, all); i < n; i++)
		due = fmin(due, service_due(all[i], now)); /* of NaN and a number the number */
	if (c->file && translate_file_state(c->file)->lines < 0 &&
	    translate_file_state(c->file)->running)
		due = 0;
	return due;
}

bool console_busy(const struct console *c)
{
	for (int i = 0; i < CONSOLE_SIDES; i++) {
		const struct console_side *s = &c->sides[i];

		if (s->next || (s->service && (service_state(s->service) == SERVICE_STARTING ||
					       service_state(s->service) == SERVICE_WORKING)))
			return true;
	}
	return c->file && translate_file_state(c->file)->running;
}

size_t console_fds(const struct console *c, int *fds, size_t n)
{
	struct service *all[2 * CONSOLE_SIDES];
	size_t k = 0;

	for (size_t i = 0, n_all = list_services(c, all); i < n_all; i++)
		k += service_fds(all[i], fds + k, n - k);
	if (c->file && k < n && translate_file_fd(c->file) >= 0)
		fds[k++] = translate_file_fd(c->file);
	return k;
}
