/*
 * samples_attention.h - the attention of a checkpoint between a sentence of Samples and its translation.
 *
 *	samples_attention_show(&a, w, run, step, e)	start the translator with this checkpoint
 *	samples_attention_ask(&a, source, translation)	when another sentence is chosen
 *	samples_attention_update(&a, w)			each turn
 *	samples_attention_draw(&a, g, box, focused)
 *	samples_attention_close(&a)			end the translator
 *
 * The translator is a child process, so nothing waits for the model. The translation is given to it as
 * the beginning of the target: the map is of the words on the screen, not of a new translation.
 */
#ifndef WERKBANK_TUI_VIEWS_SAMPLES_ATTENTION_H
#define WERKBANK_TUI_VIEWS_SAMPLES_ATTENTION_H

#include "tui/context/app_context.h"
#include "tui/translate/translate_console.h"

/* All zero: closed. */
struct samples_attention {
	bool is_open;
	int64_t step; /* of the checkpoint */
	struct console console;
	bool has_pair;	   /* there is a request */
	char *translation; /* owned: of the last request */
};

/*
 * Open it with a checkpoint. ERR_NOINPUT: the run has no checkpoint of this step any more; the sentence
 * of the error names those that it has. ERR_UNAVAILABLE, ERR_NOMEM.
 */
int samples_attention_show(struct samples_attention *a, const struct app_context *w,
			   const char *run, int64_t step, struct err *e);
void samples_attention_close(struct samples_attention *a);

/*
 * Ask for the map of a pair after a short delay, unless it was the last request. A translation that is
 * NULL or empty has no map.
 */
int samples_attention_ask(struct samples_attention *a, const char *source, const char *translation,
			  struct err *e);

/* Read answers; returns reaction bits. */
unsigned samples_attention_update(struct samples_attention *a, struct app_context *w);
/* Move the marked row of the map; false: not such an action. */
bool samples_attention_act(struct samples_attention *a, enum action action);
void samples_attention_draw(struct samples_attention *a, struct grid *g, struct rect box,
			    bool focused);

#endif
