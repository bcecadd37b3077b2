/* home_forms.h - the forms that the view Home opens */
#ifndef WERKBANK_TUI_VIEWS_HOME_FORMS_H
#define WERKBANK_TUI_VIEWS_HOME_FORMS_H

#include "tui/context/app_context.h"
#include "tui/run/workspace_index.h"

/* Open the form of train, with a corpus (NULL: the built-in one), or of prep. */
void home_open_form(const struct workspace_index *p, struct app_context *w, const char *command,
		    const struct indexed_corpus *corpus);
/*
 * Open the form of tune. Its model is the first run that has been evaluated; the path of a model folder may be typed
 * instead.
 */
void home_open_tuning(const struct workspace_index *p, struct app_context *w);

#endif
