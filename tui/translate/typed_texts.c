/* typed_texts.c - remembers and saves texts; see typed_texts.h. */
#include "tui/translate/typed_texts.h"

#include <stdlib.h>
#include <string.h>

#include "share/base/mem.h"
#include "tui/context/line_history.h"

void typed_texts_open(struct typed_texts *t, struct console *c, const struct app_context *w)
{
	t->path = context_state_path(w, "sentences");
	if (t->path)
		line_history_read(&c->input, t->path);
}

static void forget_draft(struct typed_texts *t)
{
	free(t->draft);
	t->draft = NULL;
}

static int remember_text(const struct typed_texts *t, struct console *c, const char *text,
			 struct err *e)
{
	struct edit *d = &c->input;
	const char *last = d->n_history ? d->history[d->n_history - 1] : "";
	const bool is_new = strcmp(last, text) != 0;

	if (!*text || c->document)
		return 0;
	if (edit_remember(d, text, e))
		return e->code;
	return is_new && t->path && t->is_saved ? line_history_add(t->path, text, e) : 0;
}

static int remember_draft(struct typed_texts *t, struct console *c, struct err *e)
{
	const int rc = remember_text(t, c, t->draft ? t->draft : "", e);

	forget_draft(t);
	return rc;
}

int typed_texts_note(struct typed_texts *t, struct console *c, struct err *e)
{
	const char *text = edit_text(&c->input);

	if (!*text)
		return remember_draft(t, c, e);
	/* parts of a text that is deleted again do not replace it as the draft */
	if (t->draft && strstr(t->draft, text))
		return 0;
	free(t->draft);
	t->draft = mem_strdup(text, e);
	return t->draft ? 0 : e->code;
}

int typed_texts_leave(struct typed_texts *t, struct console *c, struct err *e)
{
	forget_draft(t);
	return remember_text(t, c, edit_text(&c->input), e);
}

void typed_texts_close(struct typed_texts *t, struct console *c)
{
	struct err ignored; /* the workbench ends: nobody would see it */

	remember_draft(t, c, &ignored);
	free(t->path);
}
