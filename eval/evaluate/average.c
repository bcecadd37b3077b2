/* average.c - finds the model folders of the command "average"; see average.h */
#include "eval/evaluate/average.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "share/base/file.h"
#include "share/base/mem.h"
#include "train/ckpt/ckpt.h"
#include "train/ckpt/ckpt_average.h"

#define DEFAULT_LAST 5 /* checkpoints */

static int average_model_folders(const struct conf *c, char *const *folders, size_t n,
				 struct err *e)
{
	struct ckpt_source *from = mem_alloc(n, sizeof(*from), e);
	int rc = from ? 0 : e->code;

	for (size_t i = 0; !rc && i < n; i++)
		from[i] = (struct ckpt_source){ folders[i], c->unaveraged };
	if (!rc)
		rc = ckpt_average(from, n, c->output, e);
	free(from);
	return rc;
}

/* The folders that the arguments name: steps of the run, or folders. */
static int find_arguments(const struct conf *c, char ***folders, size_t *n, struct err *e)
{
	*folders = mem_alloc((size_t)c->n_arguments, sizeof(**folders), e);
	if (!*folders)
		return e->code;
	for (; *n < (size_t)c->n_arguments; ++*n) {
		const char *name = c->arguments[*n];

		(*folders)[*n] = c->run ? ckpt_resolve_named(c, name, e) : mem_strdup(name, e);
		if (!(*folders)[*n])
			return e->code;
		if (!file_exists((*folders)[*n])) {
			err_set(e, ERR_NOINPUT, "the model folder %s does not exist", name);
			free((*folders)[*n]);
			return e->code;
		}
	}
	return 0;
}

static int find_model_folders(const struct conf *c, char ***folders, size_t *n, struct err *e)
{
	if (c->n_arguments > 0 && c->last > 0)
		return err_set(e, ERR_USAGE,
			       "--last and %s were both given: give either --last or steps",
			       c->arguments[0]);
	if (c->n_arguments > 0)
		return find_arguments(c, folders, n, e);
	if (!c->run)
		return err_set(e, ERR_USAGE,
			       "average needs models: give --run NAME, with steps or --last N, or "
			       "model folders");
	return ckpt_resolve_newest(c, c->last ? c->last : DEFAULT_LAST, folders, n, e);
}

int average_run(struct conf *c, struct err *e)
{
	char **folders = NULL;
	size_t n = 0;
	int rc;

	if (!c->output)
		return err_set(e, ERR_USAGE, "average makes a model folder: give --output FOLDER");
	rc = find_model_folders(c, &folders, &n, e);
	if (!rc)
		rc = average_model_folders(c, folders, n, e);
	if (!rc && !c->quiet) {
		fprintf(stderr, "%s is the average of\n", c->output);
		for (size_t i = 0; i < n; i++)
			fprintf(stderr, "\t%s\n", folders[i]);
	}
	for (size_t i = 0; i < n; i++)
		free(folders[i]);
	free(folders);
	return rc;
}
