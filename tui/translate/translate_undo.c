/* translate_undo.c - takes steps back and forward; see translate_undo.h. */
#include "tui/translate/translate_undo.h"

#include <stdlib.h>
#include <string.h>

#include "share/base/mem.h"
#include "share/base/util.h"
#include "tui/term/keys.h"

static void free_step(struct console_step *s)
{
	free(s->text);
	free(s->prefix);
	free(s->revision);
	free(s->chosen);
	console_free_terms(&s->force);
	console_free_terms(&s->forbid);
	glossary_clear(&s->glossary);
	*s = (struct console_step){ 0 };
}

/* Drop the steps from the one with this number on. */
static void drop_steps_from(struct console_undo *u, size_t from)
{
	while (u->n > from)
		free_step(&u->steps[--u->n]);
	u->at = MIN(u->at, from);
}

void console_undo_clear(struct console *c)
{
	drop_steps_from(&c->undo, 0);
	c->undo.last_key = 0;
}

/* ---- the state ---- */

/* A copy; NULL stays NULL. false: no memory. */
static bool copy_step_text(char **to, const char *from, struct err *e)
{
	*to = from ? mem_strdup(from, e) : NULL;
	return !from || *to;
}

static bool copy_terms(struct console_terms *to, const struct console_terms *from, struct err *e)
{
	for (to->n = 0; to->n < from->n; to->n++)
		if (!(to->terms[to->n] = mem_strdup(from->terms[to->n], e)))
			return false;
	return true;
}

/* The state of the console. sentence: of the document, whose stored translation belongs to it. */
static int read_state(const struct console *c, size_t sentence, bool with_glossary,
		      struct console_step *s, struct err *e)
{
	const struct document *d = c->document;
	const struct console_revision *r = &c->revision;
	const char *chosen = d && sentence < d->n_chosen ? d->chosen[sentence] : NULL;

	*s = (struct console_step){ .document = d,
				    .place = d ? d->at : 0,
				    .sentence = sentence,
				    .quality = d ? d->qualities[sentence] : 0,
				    .text_at = edit_cursor(&c->input),
				    .revision_at = r->is_edited ? edit_cursor(&r->edit) : 0,
				    .choice = c->choice,
				    .token = c->token,
				    .has_glossary = with_glossary };
	if (copy_step_text(&s->text, edit_text(&c->input), e) &&
	    copy_step_text(&s->prefix, c->prefix, e) &&
	    copy_step_text(&s->revision, r->is_edited ? edit_text(&r->edit) : NULL, e) &&
	    copy_step_text(&s->chosen, chosen, e) && copy_terms(&s->force, &c->force, e) &&
	    copy_terms(&s->forbid, &c->forbid, e) &&
	    (!with_glossary || !glossary_copy(&s->glossary, &c->glossary, e)))
		return 0;
	free_step(s);
	return e->code;
}

static bool is_same_step_text(const char *a, const char *b)
{
	return a && b ? !strcmp(a, b) : a == b;
}

static bool are_same_terms(const struct console_terms *a, const struct console_terms *b)
{
	for (size_t i = 0; i < MIN(a->n, b->n); i++)
		if (strcmp(a->terms[i], b->terms[i]))
			return false;
	return a->n == b->n;
}

/* Did a change of the user lead from one state to the other? Another sentence of the document is none, unless an edit was left. */
static bool is_change(const struct console_step *a, const struct console_step *b)
{
	if (!is_same_step_text(a->chosen, b->chosen) || !are_same_terms(&a->force, &b->force) ||
	    !are_same_terms(&a->forbid, &b->forbid) ||
	    (a->has_glossary && !glossary_equals(&a->glossary, &b->glossary)))
		return true;
	if (a->place != b->place)
		return a->revision && !is_same_step_text(a->revision, a->chosen);
	return !is_same_step_text(a->text, b->text) || !is_same_step_text(a->prefix, b->prefix) ||
	       !is_same_step_text(a->revision, b->revision);
}

/* ---- steps ---- */

void console_undo_look(const struct console *c, bool with_glossary, struct console_step *before)
{
	struct err ignored;

	read_state(c, c->document ? c->document->at : 0, with_glossary, before, &ignored);
}

/* Typed letters of a word are one step, and so are deleted characters. */
static int kind_of_key(int key)
{
	if (key == 0x7F || key == '\b' || key == KEY_NAME_DELETE)
		return 0x7F;
	return key_is_text(key) && key != ' ' ? 'a' : 0;
}

void console_undo_keep(struct console *c, struct console_step *before, int key)
{
	struct console_undo *u = &c->undo;
	const int kind = kind_of_key(key);
	const bool joins = kind && kind == u->last_key && u->at == u->n && u->n;
	struct console_step after = { 0 };
	struct err ignored;

	if (!before->text)
		return;
	if (before->document == c->document &&
	    !read_state(c, before->sentence, before->has_glossary, &after, &ignored) &&
	    is_change(before, &after)) {
		u->last_key = kind;
		if (!joins) {
			drop_steps_from(u, u->at);
			if (u->n == CONSOLE_UNDO) {
				free_step(&u->steps[0]);
				memmove(u->steps, u->steps + 1,
					(CONSOLE_UNDO - 1) * sizeof(*u->steps));
				u->n--;
			}
			u->steps[u->n++] = *before;
			u->at = u->n;
			*before = (struct console_step){ 0 };
		}
	} else if (!kind) { /* the cursor moved */
		u->last_key = 0;
	}
	free_step(&after);
	free_step(before);
}

/* Store the translation of a sentence of the document as it was. */
static int restore_choice(struct document *d, const struct console_step *s, struct err *e)
{
	const char *now = s->sentence < d->n_chosen ? d->chosen[s->sentence] : NULL;

	if (is_same_step_text(now, s->chosen))
		return 0;
	if (!s->chosen)
		return document_forget_choice(d, s->sentence, e);
	d->at = s->sentence;
	return document_choose(d, s->chosen, s->quality, e);
}

static int restore_words(struct console *c, const struct console_step *s, double now, struct err *e)
{
	const bool was_edited = c->focus == CONSOLE_PANE_TEXT;

	console_drop_revision(c);
	console_free_terms(&c->force);
	console_free_terms(&c->forbid);
	free(c->prefix);
	if (!copy_step_text(&c->prefix, s->prefix, e) || !copy_terms(&c->force, &s->force, e) ||
	    !copy_terms(&c->forbid, &s->forbid, e) || edit_set(&c->input, s->text, e))
		return e->code;
	edit_set_cursor(&c->input, s->text_at);
	c->choice = s->choice;
	c->token = s->token;
	if (s->revision) {
		if (console_show_revision(c, s->revision, e))
			return e->code;
		edit_set_cursor(&c->revision.edit, s->revision_at);
		c->revision.first_bytes = strlen(s->revision);
		c->focus = was_edited ? CONSOLE_PANE_TEXT : c->focus;
	}
	return c->asked_text ? console_ask(c, now, e) : 0;
}

int console_undo_go(struct console *c, int by, double now, struct err *e)
{
	struct console_undo *u = &c->undo;
	struct console_step other, *s;

	if (by < 0 ? !u->at : u->at == u->n)
		return 0;
	s = &u->steps[by < 0 ? u->at - 1 : u->at];
	if (read_state(c, s->sentence, s->has_glossary, &other, e))
		return e->code;
	if (c->document && restore_choice(c->document, s, e)) {
		free_step(&other);
		return e->code;
	}
	if (c->document)
		c->document->at = MIN(s->place, c->document->n_chosen);
	if (s->has_glossary) {
		const struct glossary before = c->glossary;

		c->glossary = s->glossary;
		s->glossary = before;
		console_forget_drafts(c);
	}
	if (restore_words(c, s, now, e)) {
		free_step(&other);
		return e->code;
	}
	free_step(s);
	*s = other;
	u->at = by < 0 ? u->at - 1 : u->at + 1;
	u->last_key = 0;
	return 1;
}
