/* translate_questions.c - questions of the tab "translate" and their answers; see translate_view.h. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "share/base/buf.h"
#include "share/base/clock.h"
#include "share/base/file.h"
#include "share/base/mem.h"
#include "share/base/util.h"
#include "tui/translate/document_actions.h"
#include "tui/translate/translate_command.h"
#include "tui/translate/translate_undo.h"
#include "tui/translate/translate_view.h"

/* ---- questions ---- */

static unsigned ask_path(struct app_context *w, int id, const char *title, const char *text)
{
	context_ask(w, &(struct question){ .kind = QUESTION_LINE,
					   .id = id,
					   .title = title,
					   .text = text,
					   .completes_paths = true });
	return REACT_REDRAW;
}

static unsigned toggle_second_service(struct translate_view *v, struct app_context *w)
{
	struct err e = { 0 };

	if (!v->console.sides[1].run)
		return translate_ask_checkpoint(w, ASK_SECOND, "second checkpoint",
						&v->console.sides[0]);
	translate_notify_failure(w, console_set_checkpoint(&v->console, 1, NULL, -1, &e), &e);
	return REACT_REDRAW;
}

static unsigned ask_file(struct console *c, struct app_context *w)
{
	if (w->readonly) {
		context_notify(w, STYLE_WARN, "--readonly: no file is translated");
		return REACT_REDRAW;
	}
	if (c->file && translate_file_state(c->file)->running) {
		context_notify(w, STYLE_WARN, "%s is still being translated",
			       translate_file_state(c->file)->in);
		return REACT_REDRAW;
	}
	return ask_path(w, ASK_FILE, "file to translate: lines, or a document", NULL);
}

static unsigned ask_search(struct console *c, struct app_context *w)
{
	const struct console_side *s = &c->sides[c->side];
	const struct service_model *m = s->service ? service_model(s->service) : NULL;
	char now[64];

	console_describe_search(s, now, sizeof(now));
	if (!*now && m && !isnan(m->alpha))
		snprintf(now, sizeof(now), "beam %d alpha %g", m->beam, m->alpha);
	context_ask_text(w, QUESTION_LINE, ASK_SEARCH,
			 "beam N alpha X (length penalty) of this side; empty: the model's own",
			 now);
	return REACT_REDRAW;
}

unsigned translate_ask(struct translate_view *v, struct app_context *w, enum action action)
{
	static const struct {
		enum action action;
		enum question_id id;
		const char *title;
	} lines[] = {
		{ ACTION_GLOSSARY, ASK_GLOSSARY,
		  "a term: source = target; or a file of lines SOURCE TAB TARGET" },
		{ ACTION_FORCE, ASK_FORCE, "words that the translation must contain" },
		{ ACTION_FORBID, ASK_FORBID, "words that the translation must not contain" },
	};

	for (size_t i = 0; i < ARRAY_LEN(lines); i++)
		if (lines[i].action == action) {
			context_ask_text(w, QUESTION_LINE, lines[i].id, lines[i].title, NULL);
			return REACT_REDRAW;
		}
	switch (action) {
	case ACTION_CHECKPOINT:
		return translate_ask_checkpoint(w, ASK_CHECKPOINT, "checkpoint that translates",
						NULL);
	case ACTION_SECOND:
		return toggle_second_service(v, w);
	case ACTION_SEARCH:
		return ask_search(&v->console, w);
	case ACTION_TRANSLATE_FILE:
		return ask_file(&v->console, w);
	default:
		return REACT_UNKNOWN;
	}
}

/* ---- answers ---- */

/* The default for the output: FILE.de; of a document NAME.de.html, so that its kind stays. */
static void add_output_name(struct buf *out, const char *file, const char *language)
{
	const char *dot = strrchr(file, '.');
	const bool keeps_ending = translate_is_document(file);
	const size_t n = keeps_ending ? (size_t)(dot - file) : strlen(file);

	buf_printf(out, "%.*s.%s%s", (int)n, file, *language ? language : "translated",
		   keeps_ending ? dot : "");
}

/* Ask for the output file. */
static void ask_output(struct translate_view *v, struct app_context *w, int id, const char *file)
{
	const struct service *s = v->console.sides[0].service;
	const char *language = s ? service_model(s)->target_language : "";
	struct err e = { 0 };
	struct buf out = { 0 };

	if (file_size(file) < 0) {
		context_notify(w, STYLE_BAD, "%s: there is no such file", file);
		return;
	}
	free(v->file);
	if (!(v->file = mem_strdup(file, &e)))
		return;
	add_output_name(&out, file, language);
	ask_path(w, id, "write the translation to", buf_text(&out));
	buf_free(&out);
}

static unsigned carry_out_answer(struct translate_view *v, struct app_context *w, int question,
				 const char *text)
{
	struct console *c = &v->console;
	double now = clock_mono_s();
	struct err e = { 0 };
	int rc = 0;

	if (!text || (!*text && question != ASK_SEARCH))
		return REACT_REDRAW;
	switch ((enum question_id)question) {
	case ASK_CHECKPOINT:
	case ASK_SECOND:
		translate_use_choice(v, w, question == ASK_SECOND, text);
		break;
	case ASK_SEARCH:
		rc = console_set_search(c, text, now, &e);
		break;
	case ASK_GLOSSARY:
		rc = console_add_glossary(c, text, now, &e);
		break;
	case ASK_FORCE:
	case ASK_FORBID:
		rc = console_add_term(c, question == ASK_FORCE ? &c->force : &c->forbid, text, now,
				      &e);
		break;
	case ASK_FILE:
		ask_output(v, w, ASK_OUTPUT, text);
		break;
	case ASK_DOCUMENT:
		ask_output(v, w, ASK_DOCUMENT_OUTPUT, text);
		break;
	case ASK_DOCUMENT_OUTPUT:
		if (v->file)
			document_start(c, w, v->file, text);
		break;
	case ASK_OUTPUT:
		if (v->file)
			rc = console_start_file(c, v->file, text, now, &e);
		break;
	}
	translate_notify_failure(w, rc, &e);
	return REACT_REDRAW | REACT_SOON;
}

unsigned translate_answer(void *state, struct app_context *w, int question, const char *text)
{
	struct translate_view *v = state;

	console_undo_look(&v->console, question == ASK_GLOSSARY, &v->before);
	return translate_keep_change(v, 0, carry_out_answer(v, w, question, text));
}
