/* home_forms.h - forms of the view Home beside those of prep and train */
#ifndef WERKBANK_TUI_VIEWS_HOME_FORMS_H
#define WERKBANK_TUI_VIEWS_HOME_FORMS_H

#include "tui/context/app_context.h"
#include "tui/run/workspace_index.h"

/*
 * Open the form of tune. Its model is the first run that has been evaluated; the path of a model folder may be typed
 * instead.
 */
void home_open_tuning(const struct workspace_index *p, struct app_context *w);

#endif
