/* tools_sp.c - the pipe tools sp-learn, sp-apply, sp-undo: BPE as SentencePiece (see tools.h) */
#include <stdio.h>
#include <stdlib.h>

#include "data/subword/sp.h"
#include "data/tools_internal.h"
#include "share/base/file.h"
#include "share/base/flow.h"
#include "share/base/text.h"

static int sp_learn_to_files(struct sp_learner *l, const struct conf *c, int64_t *learned,
			     struct err *e)
{
	char *model = file_path(e, "%s.model", c->output);
	char *vocab = model ? file_path(e, "%s.vocab", c->output) : NULL;
	int rc = vocab ? sp_learn(l, c->vocabulary_size, model, vocab, learned, e) : e->code;

	free(model);
	free(vocab);
	return rc;
}

int tool_sp_learn(const struct conf *c, struct err *e)
{
	struct sp_learner *l;
	int64_t skipped = 0, learned = 0;
	int rc, threads = flow_threads((int)c->threads);

	if (!c->output)
		return err_set(e, ERR_USAGE,
			       "the name of the model is missing: "
			       "give it with -o PREFIX, for PREFIX.model and PREFIX.vocab");
	l = sp_learner_new(e);
	rc = l ? 0 : e->code;
	if (!rc && c->n_arguments == 0)
		rc = sp_learner_add_file(l, NULL, c->repair, threads, &skipped, e);
	for (int i = 0; !rc && i < c->n_arguments; i++)
		rc = sp_learner_add_file(l, c->arguments[i], c->repair, threads, &skipped, e);
	if (!rc)
		rc = sp_learn_to_files(l, c, &learned, e);
	if (!rc && !c->quiet && skipped)
		fprintf(stderr,
			"%lld line%s skipped: longer than 4192 bytes, "
			"or with the reserved character U+2585\n",
			(long long)skipped, text_plural(skipped));
	if (!rc && !c->quiet && learned < c->vocabulary_size)
		fprintf(stderr,
			"learned %lld of %lld pieces: no pair of symbols is left to merge\n",
			(long long)learned, (long long)c->vocabulary_size);
	sp_learner_free(l);
	return rc;
}

static void *make_sp(const struct conf *c, void *first, struct err *e)
{
	(void)first;
	if (c->model)
		return sp_open(c->model, e);
	err_set(e, ERR_USAGE, "the SentencePiece model is missing: give it with -m FILE.model");
	return NULL;
}

static void free_sp(void *tool)
{
	sp_close(tool);
}

static int tool_sp_apply_line(void *tool, const char *line, size_t n, struct buf *out,
			      struct err *e)
{
	return sp_apply_line(tool, line, n, out, e);
}

int tool_sp_apply(const struct conf *c, struct err *e)
{
	static const struct line_tool kind = { make_sp, tool_sp_apply_line, free_sp };

	return tool_each_line(c, &kind, e);
}

static int tool_sp_undo_line(void *tool, const char *line, size_t n, struct buf *out, struct err *e)
{
	return sp_undo_line(tool, line, n, out, e);
}

int tool_sp_undo(const struct conf *c, struct err *e)
{
	static const struct line_tool kind = { make_sp, tool_sp_undo_line, free_sp };

	return tool_each_line(c, &kind, e);
}
