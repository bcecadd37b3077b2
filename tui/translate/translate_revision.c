/*
 * translate_revision.c - the user edits the translation, and the rest follows; see
 * translate_console.h.
 *
 * The complete words before the cursor are the prefix of the next request. When its answer comes, the
 * words behind the cursor are replaced by those of the answer after the prefix. A word that is being
 * typed stays; it takes the place of the next word of the answer, or is completed by it if that word
 * begins with it. Changes behind the cursor ask for nothing: so the user can cut the end off.
 */
#include <stdio.h>
#include <string.h>

#include "share/base/util.h"
#include "tui/translate/translate_console.h"

void console_drop_revision(struct console *c)
{
	struct console_revision *r = &c->revision;

	edit_close(&r->edit);
	*r = (struct console_revision){ 0 };
	if (c->focus == CONSOLE_PANE_TEXT)
		c->focus = CONSOLE_WORDS;
}

const char *console_chosen_text(const struct console *c)
{
	const struct service_translation *t = console_shown_translation(c, c->side);

	if (c->revision.is_edited)
		return edit_text(&c->revision.edit);
	return t ? t->text : NULL;
}

int console_show_revision(struct console *c, const char *text, struct err *e)
{
	if (edit_set(&c->revision.edit, text, e))
		return e->code;
	edit_set_cursor(&c->revision.edit, 0);
	c->revision.is_edited = true;
	return 0;
}

int console_start_revision(struct console *c, struct err *e)
{
	const char *text = console_chosen_text(c);

	if (!text || (!c->revision.is_edited && console_is_outdated(c, c->side)))
		return 0;
	if (!c->revision.is_edited && console_show_revision(c, text, e))
		return e->code;
	c->revision.first_bytes = strlen(edit_text(&c->revision.edit));
	c->focus = CONSOLE_PANE_TEXT;
	return 0;
}

/* Bytes of the complete words at the beginning of n bytes of text; a blank completes a word. */
static size_t complete_bytes(const char *text, size_t n)
{
	while (n > 0 && text[n - 1] != ' ')
		n--;
	while (n > 0 && text[n - 1] == ' ')
		n--;
	return n;
}

/* After a change: ask if the complete words before the cursor are not the prefix. */
static int ask_after_revision(struct console *c, double now, struct err *e)
{
	struct console_revision *r = &c->revision;
	const struct service_answer *a = console_answer(c, c->side);
	const char *text = edit_text(&r->edit);
	bool grew = strlen(text) > r->first_bytes;
	size_t n = edit_cursor(&r->edit);
	struct buf prefix = { 0 };
	int rc;

	r->first_bytes = strlen(text);
	/* Behind a deletion, a word that ends at the cursor is complete. */
	if (grew || text[n] != ' ')
		n = complete_bytes(text, n);
	buf_add(&prefix, text, n);
	rc = buf_check(&prefix, e);
	if (!rc && strcmp(buf_text(&prefix), c->prefix ? c->prefix : "")) {
		r->waits = true;
		r->before = a ? a->id : -1;
		rc = console_set_prefix(c, buf_text(&prefix), now + CONSOLE_DEBOUNCE_S, e);
	}
	buf_free(&prefix);
	return rc;
}

/* Esc: the translation is again that of the model, without the prefix. */
static int undo_revision(struct console *c, double now, struct err *e)
{
	console_drop_revision(c);
	return c->prefix ? console_set_prefix(c, "", now, e) : 0;
}

enum edit_result console_revision_key(struct console *c, int key, double now, struct err *e)
{
	enum edit_result r = edit_key(&c->revision.edit, key);

	if (r == EDIT_CHANGED)
		ask_after_revision(c, now, e);
	else if (r == EDIT_LEFT)
		undo_revision(c, now, e);
	else if (r == EDIT_DONE)
		c->focus = CONSOLE_WORDS;
	return r;
}

enum edit_result console_revision_paste(struct console *c, const char *text, double now,
					struct err *e)
{
	enum edit_result r = edit_paste(&c->revision.edit, text);

	if (r == EDIT_CHANGED)
		ask_after_revision(c, now, e);
	return r;
}

/* The text after the first n words. */
static const char *skip_text_words(const char *text, size_t n)
{
	text += strspn(text, " ");
	for (; n > 0 && *text; n--) {
		text += strcspn(text, " ");
		text += strspn(text, " ");
	}
	return text;
}

static size_t count_words(const char *text, size_t bytes)
{
	size_t n = 0;

	for (size_t i = 0; i < bytes; i++)
		n += text[i] != ' ' && (i == 0 || text[i - 1] == ' ');
	return n;
}

/* The text before the cursor, and the words of the answer that follow it. */
static void join_revision(const struct console *c, const char *answer, struct buf *out)
{
	const struct edit *d = &c->revision.edit;
	const char *text = edit_text(d), *prefix = c->prefix ? c->prefix : "";
	const size_t cursor = edit_cursor(d), words = count_words(prefix, strlen(prefix));
	const char *rest = skip_text_words(answer, words);

	buf_add(out, text, cursor);
	if (count_words(text, cursor) > words) { /* a word is being typed */
		size_t at = cursor;
		const char *next = skip_text_words(answer, words + 1);

		while (at > 0 && text[at - 1] != ' ')
			at--;
		if (!strncmp(rest, text + at, cursor - at)) {
			buf_add_str(out, rest + (cursor - at));
			return;
		}
		rest = next;
	}
	if (out->len && *rest && out->data[out->len - 1] != ' ')
		buf_add_char(out, ' ');
	buf_add_str(out, rest);
}

bool console_update_revision(struct console *c)
{
	struct console_revision *r = &c->revision;
	const struct service_answer *a = console_answer(c, c->side);
	struct buf text = { 0 };
	struct err ignored;
	size_t at = edit_cursor(&r->edit);

	if (!r->waits || !a || a->id == r->before || console_is_outdated(c, c->side))
		return false;
	r->waits = false;
	if (a->error)
		return true;
	join_revision(c, a->translations[0].text, &text);
	if (!text.failed && !edit_set(&r->edit, buf_text(&text), &ignored))
		edit_set_cursor(&r->edit, at);
	r->first_bytes = strlen(edit_text(&r->edit));
	buf_free(&text);
	return true;
}
