/* translate_console_files.c - files and documents that the checkpoint of side 0 translates; see translate_console.h. */
#include "tui/translate/translate_console.h"

#include <stdlib.h>
#include <unistd.h>

#include "share/base/file.h"
#include "share/base/mem.h"
#include "tui/translate/translate_command.h"

/* Starts a translator whose output goes to `out`. edited: file of post-edited sentences; NULL: none. */
static int start_file_task(struct console *c, enum console_file_task kind, const char *in,
			   const char *out, const char *edited, double now, struct err *e)
{
	const struct console_side *s = &c->sides[0];
	const struct translate_task task = { .workspace = c->workspace,
					     .run = s->run,
					     .step = s->step,
					     .program = c->program,
					     .file = in,
					     .lists = kind == CONSOLE_LISTS_SENTENCES,
					     .edited = edited };
	struct translate_command m;
	struct translate_file *f;

	if (!s->run)
		return err_set(e, ERR_NOINPUT, "there is no checkpoint to translate with");
	if (c->file && translate_file_state(c->file)->running)
		return err_set(e, ERR_TEMPFAIL, "%s is still being translated",
			       translate_file_state(c->file)->in);
	if (translate_command_make(&m, &task, e))
		return e->code;
	f = translate_file_start(m.argv, in, out, translate_is_document(in), now, e);
	free(m.program);
	if (!f)
		return e->code;
	translate_file_free(c->file);
	c->file = f;
	c->file_task = kind;
	return 0;
}

int console_start_file(struct console *c, const char *in, const char *out, double now,
		       struct err *e)
{
	return start_file_task(c, CONSOLE_TRANSLATES_FILE, in, out, NULL, now, e);
}

int console_list_sentences(struct console *c, const char *in, const char *out, double now,
			   struct err *e)
{
	/* a killed program may leave the list behind, which must not be in the way of the next one */
	char *list = file_path(e, "%s.%ld.sentences", out, (long)getpid()),
	     *copy = mem_strdup(out, e);
	int rc;

	if (!list || !copy)
		rc = e->code;
	else if (file_exists(out))
		rc = err_set(e, ERR_CANTCREAT, "%s: already exists; choose another name", out);
	else
		rc = start_file_task(c, CONSOLE_LISTS_SENTENCES, in, list, NULL, now, e);
	if (!rc) {
		free(c->document_out);
		c->document_out = copy;
		copy = NULL;
	}
	free(copy);
	free(list);
	return rc;
}

int console_write_document(struct console *c, double now, struct err *e)
{
	const struct document *d = c->document;

	return start_file_task(c, CONSOLE_WRITES_DOCUMENT, d->in, d->out, d->part, now, e);
}

void console_forget_drafts(struct console *c)
{
	c->ahead = 0;
	if (c->sides[0].service)
		service_forget(c->sides[0].service, SLOT_AHEAD);
	if (c->document)
		document_forget_drafts(c->document);
}

int console_show_sentence(struct console *c, double now, struct err *e)
{
	const struct document *d = c->document;

	if (edit_set(&c->input, d->sources[d->at], e) || console_text_changed(c, now, e))
		return e->code;
	/* also the same text again: two lines may be equal */
	console_drop_revision(c);
	return d->at < d->n_chosen ? console_show_revision(c, d->chosen[d->at], e) : 0;
}
