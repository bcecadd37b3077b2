/* home_forms.c - see home_forms.h */
#include "tui/views/home_forms.h"

#include "share/base/util.h"
#include "tui/context/wizard.h"

void home_open_tuning(const struct workspace_index *p, struct app_context *w)
{
	static const struct wizard_value values[] = {
		{ "train_source", NULL },
		{ "train_target", NULL },
		{ "general_source", NULL },
		{ "general_target", NULL },
		{ "freeze", NULL },
		{ "max_minutes", NULL },
		{ "run", NULL },
	};
	size_t i = 0;

	while (i < p->n_runs && p->runs[i].status.best_step < 0)
		i++;
	context_open_wizard(
		w, &(struct wizard_form){ .title = "tune a model",
					  .command = "tune",
					  .argument = i < p->n_runs ? p->runs[i].status.name : NULL,
					  .argument_label = "model",
					  .values = values,
					  .n_values = ARRAY_LEN(values),
					  .show_tab = -1 });
}
