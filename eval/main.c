/* main.c - werkbank-eval: translation, scores, comparison, reports, import and export. */
#include <stdio.h>
#include <string.h>

#include "eval/evaluate/average.h"
#include "eval/evaluate/compare.h"
#include "eval/evaluate/heldout.h"
#include "eval/evaluate/score_ledger.h"
#include "eval/evaluate/score_tools.h"
#include "eval/export/model_export.h"
#include "eval/import/import.h"
#include "eval/report/report.h"
#include "eval/score/score.h"
#include "eval/server/server.h"
#include "eval/translate/engine.h"
#include "eval/translate/serve.h"
#include "eval/translate/translate.h"
#include "eval/verify/verify.h"
#include "share/conf/conf.h"
#include "share/guard/terminal_text.h"
#include "share/help/help.h"

static int translate_command(struct conf *c, struct err *e)
{
	if (c->serve && (c->document || c->list_sentences || c->post_edited))
		return err_set(e, ERR_USAGE,
			       "--serve answers requests, which hold lines: leave out --document, "
			       "or translate the document without --serve");
	return c->serve ? serve_run(c, e) : translate_run(c, e);
}

static const struct {
	const char *name;
	int (*run)(struct conf *c, struct err *e);
} commands[] = {
	/* clang-format off */
	{ "average", average_run },
	{ "bleu", score_tools_run },
	{ "chrf", score_tools_run },
	{ "compare", compare_run },
	{ "eval", heldout_run_eval },
	{ "export", model_export_run },
	{ "import", import_run },
	{ "ledger", score_ledger_run },
	{ "report", report_run },
	{ "score", score_run },
	{ "serve", server_run },
	{ "ter", score_tools_run },
	{ "translate", translate_command },
	{ "verify", verify_run },
	{ "_evaluate", heldout_run_evaluate },
	/* clang-format on */
};

/* Before foreign bytes are read. Asking for the GPU has begun its driver, if it is used. */
static void enter_eval_sandbox(struct conf *c, const struct held_outputs *held)
{
	struct sandbox s;
	bool computes;

	if (!conf_needs_sandbox(c, &computes))
		return;
	if (computes && engine_uses_gpu(c))
		sandbox_enter_with_gpu();
	else if (conf_begin_sandbox(c, held, &s))
		conf_enter_sandbox(c, &s);
}

/* *status: of a parent that held the output of the command; -1: there was none. */
static int run_eval_command(struct conf *c, int argc, char **argv, int *status, struct err *e)
{
	struct held_outputs *held;
	int rc;

	if (conf_init(c, e) || conf_parse_command(c, "eval", argc, argv, e))
		return e->code;
	rc = conf_print_requested(c, e);
	if (rc)
		return rc < 0 ? rc : 0;
	for (size_t i = 0; c->command && i < ARRAY_LEN(commands); i++)
		if (!strcmp(commands[i].name, c->command)) {
			rc = conf_hold_outputs(c, &held, status, e);
			if (rc)
				return MIN(rc, 0);
			enter_eval_sandbox(c, held);
			return commands[i].run(c, e);
		}
	return err_set(e, ERR_USAGE,
		       "werkbank-eval needs a command: average, bleu, chrf, compare, eval, export, "
		       "import, ledger, report, score, serve, ter, translate, verify");
}

int main(int argc, char **argv)
{
	struct conf c = { 0 };
	struct err e = { 0 };
	int status = -1, rc;

	terminal_guard_streams();
	rc = run_eval_command(&c, argc, argv, &status, &e);
	rc = status >= 0 ? status : conf_exit_status(&c, rc, &e);
	conf_free(&c);
	return rc;
}
