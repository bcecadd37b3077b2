/* home_forms.c - see home_forms.h */
#include "tui/views/home_forms.h"

#include <string.h>

#include "share/base/util.h"
#include "tui/context/next_steps.h"
#include "tui/context/wizard.h"
#include "tui/run/recipes.h"

void home_open_form(const struct workspace_index *p, struct app_context *w, const char *command,
		    const struct indexed_corpus *corpus)
{
	const bool trains = !strcmp(command, "train");
	struct recipes r = { 0 };
	char run[101], recipe[NEXT_STEP_BYTES] = "demo";
	struct wizard_value values[] = { { "run", run },
					 { "steps", NULL },
					 { "max_minutes", NULL },
					 { "detach", "yes" },
					 { "corpus", corpus ? corpus->name : NULL } };
	bool needs_corpus = trains && corpus &&
			    next_steps_recipe(w->workspace, corpus->name, recipe, sizeof(recipe));

	if (trains && corpus && corpus->state != CORPUS_READY) {
		context_notify(w, STYLE_BAD, "the corpus %s is %s; prepare it before training",
			       corpus->name, corpus_state_name(corpus->state));
		return;
	}
	recipes_find(&r);
	next_steps_run_name(p, trains && corpus ? corpus->name : "demo", run);
	context_open_wizard(w, &(struct wizard_form){
				       .title = trains ? "train a model" : "prepare a corpus",
				       .command = command,
				       .argument = recipe,
				       .argument_label = "recipe",
				       .argument_choices = (const char *const *)r.names,
				       .n_choices = r.n,
				       .values = values,
				       .n_values = trains ? ARRAY_LEN(values) - !needs_corpus : 0,
				       .show_tab = -1 });
	recipes_free(&r);
}

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
