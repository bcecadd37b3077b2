/* checkpoints.c - lists the checkpoints of a run; see checkpoints.h. */
#include "tui/run/checkpoints.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "share/base/file.h"
#include "share/base/mem.h"
#include "share/base/text.h"
#include "share/workspace/paths.h"

int64_t checkpoints_link(const char *workspace, const char *run, const char *link)
{
	char target[64];
	struct err ignored;
	char *path = file_path(&ignored, "%s/runs/%s/checkpoints/%s", workspace, run, link);
	ssize_t n = path ? readlink(path, target, sizeof(target) - 1) : -1;
	int64_t step;

	free(path);
	if (n <= 0)
		return -1;
	target[n] = 0;
	return text_to_int(target, &step) && step >= 0 ? step : -1;
}

static int compare_steps_descending(const void *a, const void *b)
{
	int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;

	return (x < y) - (x > y);
}

int checkpoints_list(struct checkpoints *c, const char *workspace, const char *run, struct err *e)
{
	struct dirent *entry;
	size_t cap = 0;
	char *path;
	DIR *folder;

	*c = (struct checkpoints){ .best = -1, .last = -1 };
	if (paths_check_name("run", run, e))
		return e->code;
	if (!(path = file_path(e, "%s/runs/%s/checkpoints", workspace, run)))
		return e->code;
	folder = opendir(path);
	free(path);
	if (!folder)
		return 0;
	while ((entry = readdir(folder))) {
		int64_t step;

		if (!text_to_int(entry->d_name, &step) || step < 0)
			continue;
		if (mem_grow(&c->steps, &cap, c->n + 1, sizeof(*c->steps), e)) {
			closedir(folder);
			checkpoints_free(c);
			return e->code;
		}
		c->steps[c->n++] = step;
	}
	closedir(folder);
	if (c->n)
		qsort(c->steps, c->n, sizeof(*c->steps), compare_steps_descending);
	c->best = checkpoints_link(workspace, run, "best");
	c->last = checkpoints_link(workspace, run, "last");
	return 0;
}

void checkpoints_free(struct checkpoints *c)
{
	free(c->steps);
	*c = (struct checkpoints){ .best = -1, .last = -1 };
}
