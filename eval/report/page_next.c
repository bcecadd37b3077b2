/* page_next.c - the next command for a run; see page_one.h */
#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "eval/report/page_one.h"
#include "share/base/file.h"
#include "share/base/mem.h"
#include "share/base/text.h"
#include "share/workspace/paths.h"
#include "train/optim/schedule.h"

/* What the rules of the next command look at. */
struct next_facts {
	const struct page_one *page;
	const struct evidence *v;
	const struct answers *answers;
};

static bool is_problem(const struct next_facts *f, const char *id)
{
	for (size_t i = 0; i < f->answers->n; i++)
		if (!strcmp(f->answers->all[i].id, id))
			return answer_state_of(&f->answers->all[i]) == ANSWER_PROBLEM;
	assert(false); /* no question has this name */
	return false;
}

/* ---- the words of commands --------------------------------------------- */

/* " -C WORKSPACE" if it is not the one that a command without -C takes. */
static void add_workspace(struct buf *out, const struct evidence *v)
{
	struct err ignored = { 0 };
	char *usual = paths_workspace(NULL, &ignored);

	if (!usual || strcmp(usual, v->recipe.workspace) != 0) {
		buf_add_str(out, " -C ");
		text_quote_shell(out, v->recipe.workspace);
	}
	free(usual);
}

static void add_train(struct buf *out, const struct evidence *v, const char *run)
{
	struct err ignored = { 0 };
	char *recipe = file_path(&ignored, "%s/recipe.ini", v->folder);

	buf_add_str(out, "werkbank train");
	add_workspace(out, v);
	buf_add_char(out, ' ');
	text_quote_shell(out, recipe ? recipe : "");
	buf_printf(out, " --run %s", run); /* paths_check_name(): needs no quotes */
	free(recipe);
}

/* ---- commands ---------------------------------------------------------- */

static void add_watch_command(struct buf *out, const struct next_facts *f)
{
	buf_add_str(out, "werkbank watch");
	add_workspace(out, f->v);
	buf_printf(out, " %s", f->v->run);
}

/* A run of another name, with half the rate. */
static void add_slower_command(struct buf *out, const struct next_facts *f)
{
	struct err ignored = { 0 };
	char name[160];
	bool taken = true;

	for (int n = 2; taken && n < 100; n++) {
		char *folder;

		snprintf(name, sizeof(name), "%s-%d", f->v->run, n);
		folder = file_path(&ignored, "%s/runs/%s", f->v->recipe.workspace, name);
		taken = folder && file_exists(folder);
		free(folder);
	}
	add_train(out, f->v, name);
	if (f->v->recipe.schedule == SCHEDULE_noam)
		buf_printf(out, " --noam-factor %.6g", f->v->recipe.noam_factor / 2);
	else
		buf_printf(out, " --peak-rate %.6g", f->v->recipe.peak_rate / 2);
}

static void add_stats_command(struct buf *out, const struct next_facts *f)
{
	buf_add_str(out, "werkbank data");
	add_workspace(out, f->v);
	buf_printf(out, " stats %s", f->v->recipe.corpus);
}

static void add_resume_command(struct buf *out, const struct next_facts *f)
{
	add_train(out, f->v, f->v->run);
}

/* The option that doubles the limit which ended the run; NULL: none did. */
static const char *longer_option(const struct next_facts *f, char value[32])
{
	const struct run_limits limits = { .step = (int64_t)f->v->stop_step,
					   .steps = f->v->recipe.steps,
					   .minutes = f->v->recipe.max_minutes,
					   .patience = f->v->recipe.patience };
	const char *option;

	if (!f->v->has_plan || strcmp(f->v->reason, "finished") != 0)
		return NULL;
	return run_end_longer(&f->v->end, &limits, &option, value) ? option : NULL;
}

static void add_longer_command(struct buf *out, const struct next_facts *f)
{
	char value[32];
	const char *option = longer_option(f, value);

	add_train(out, f->v, f->v->run);
	buf_printf(out, " %s %s", option, value);
}

static void add_score_command(struct buf *out, const struct next_facts *f)
{
	buf_add_str(out, "werkbank eval");
	add_workspace(out, f->v);
	buf_printf(out, " --run %s --set test", f->v->run);
}

static void add_report_command(struct buf *out, const struct next_facts *f)
{
	buf_add_str(out, "werkbank report");
	add_workspace(out, f->v);
	buf_printf(out, " %s all", f->v->run);
}

static void add_translate_command(struct buf *out, const struct next_facts *f)
{
	buf_add_str(out, "werkbank translate");
	add_workspace(out, f->v);
	buf_printf(out, " --run %s", f->v->run);
}

/* ---- rules ------------------------------------------------------------- */

static bool has_not_ended(const struct next_facts *f)
{
	return !*f->v->reason;
}

static bool is_too_fast(const struct next_facts *f)
{
	return f->v->has_plan && (is_problem(f, "diverged") || is_problem(f, "rate-too-large"));
}

static bool has_bad_data(const struct next_facts *f)
{
	return f->v->corpus && (is_problem(f, "data-problem") || is_problem(f, "dev-in-train"));
}

/* Has it a checkpoint? A record of another program has none. */
static bool has_model(const struct next_facts *f)
{
	struct err ignored = { 0 };
	char *path = file_path(&ignored, "%s/checkpoints/best", f->v->folder);
	const bool is_there = path && file_exists(path);

	free(path);
	return is_there;
}

static bool can_resume(const struct next_facts *f)
{
	return f->v->has_plan && has_model(f) && strcmp(f->v->reason, "finished") != 0;
}

static bool can_continue(const struct next_facts *f)
{
	char value[32];

	return is_problem(f, "fully-trained") && has_model(f) && longer_option(f, value);
}

static bool lacks_test_score(const struct next_facts *f)
{
	return f->page->score_command && has_model(f);
}

static bool is_always(const struct next_facts *f)
{
	(void)f;
	return true;
}

/* The first rule that holds gives the command. */
static const struct next_rule {
	bool (*holds)(const struct next_facts *f);
	void (*add)(struct buf *out, const struct next_facts *f);
	const char *why;
} next_rules[] = {
	{ has_not_ended, add_watch_command, "shows the run, which has not ended" },
	{ is_too_fast, add_slower_command, "trains a new run with half the learning rate" },
	{ has_bad_data, add_stats_command, "shows what prep found in the text of the corpus" },
	{ can_resume, add_resume_command, "resumes from the last checkpoint" },
	{ can_continue, add_longer_command, "doubles the limit that ended the run" },
	{ lacks_test_score, add_score_command, "scores the test set, for this page" },
	{ has_model, add_translate_command, "translates with the best checkpoint" },
	{ is_always, add_report_command, "prints all answers with their numbers" },
};

/* The text of a buffer as a command, which the caller owns. */
static char *finish_command(struct buf *text, struct err *e)
{
	char *command = buf_check(text, e) ? NULL : buf_detach(text, e);

	buf_free(text);
	return command;
}

char *page_score_command(const struct evidence *v, struct err *e)
{
	struct buf text = { 0 };

	add_score_command(&text, &(struct next_facts){ .v = v });
	return finish_command(&text, e);
}

char *page_next_command(const struct page_one *p, const struct evidence *v, const struct answers *a,
			const char **why, struct err *e)
{
	const struct next_facts f = { p, v, a };
	const struct next_rule *rule = next_rules;
	struct buf text = { 0 };

	while (!rule->holds(&f))
		rule++;
	rule->add(&text, &f);
	*why = rule->why;
	return finish_command(&text, e);
}
