/* tune_steps.c - see tune_steps.h */
#include "train/launch/tune/tune_steps.h"

#include <assert.h>
#include <signal.h>
#include <stdint.h>
#include <stdlib.h>
#include <unistd.h>

#include "share/base/proc.h"
#include "share/workspace/paths.h"

void tune_step_add(struct tune_step *s, const char *word)
{
	assert(s->n + 1 < TUNE_MAX_WORDS);
	s->words[s->n++] = word;
}

/* Unlike SIG_IGN, programs that exec starts do not inherit it. */
static void do_nothing(int number)
{
	(void)number;
}

int tune_step_run(const char *program, const struct tune_step *s, struct buf *output, int *status,
		  struct err *e)
{
	const struct sigaction wait = { .sa_handler = do_nothing };
	const char *argv[TUNE_MAX_WORDS + 1] = { NULL };
	char *path = paths_program(program, e);
	struct sigaction before;
	struct proc p;
	int rc = path ? 0 : e->code;

	argv[0] = path;
	for (size_t i = 0; i < s->n; i++)
		argv[i + 1] = s->words[i];
	sigaction(SIGINT, &wait, &before);
	if (!rc)
		rc = proc_start(&p, argv, PROC_DIE_WITH_PARENT | (output ? PROC_PIPE_OUT : 0), e);
	if (!rc) {
		const int failed = output ? proc_read_output(&p, SIZE_MAX, output, e) : 0;

		rc = proc_wait(&p, status, e);
		rc = failed ? failed : rc;
	}
	sigaction(SIGINT, &before, NULL);
	free(path);
	return rc;
}
