/* document_actions.h - the keys of the console for a document; see document.h. */
#ifndef WERKBANK_TUI_TRANSLATE_DOCUMENT_ACTIONS_H
#define WERKBANK_TUI_TRANSLATE_DOCUMENT_ACTIONS_H

#include "tui/context/app_context.h"
#include "tui/translate/translate_console.h"

/* Carry out an action of documents. question: id of the question for the file. REACT_UNKNOWN: other. */
unsigned document_act(struct console *c, struct app_context *w, enum action action, int question);

/* What would be lost if the console closed now, as a sentence; NULL: nothing. Static. */
const char *document_unsaved(const struct console *c);

/* Open the document, or say why not. */
void document_start(struct console *c, struct app_context *w, const char *in, const char *out);

/* Go on when the translator has listed the sentences of a document, or has written it; true: it has. */
bool document_update(struct console *c, struct app_context *w);

#endif
