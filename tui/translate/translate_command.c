/* translate_command.c - see translate_command.h */
#include "tui/translate/translate_command.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

#include "share/base/mem.h"
#include "share/base/util.h"
#include "share/format/document_kind.h"
#include "share/workspace/paths.h"

bool translate_is_document(const char *file)
{
	const struct document_kind *kind = document_kind_of(file);

	return kind && strcmp(kind->name, "txt") != 0;
}

/* Appends words up to NULL; *n: words in argv. */
static void add_command_words(struct translate_command *m, size_t *n, const char *const *words)
{
	for (; *words; words++) {
		assert(*n + 1 < ARRAY_LEN(m->argv));
		m->argv[(*n)++] = *words;
	}
	m->argv[*n] = NULL;
}

#define ADD_WORDS(m, n, ...) add_command_words(m, n, (const char *const[]){ __VA_ARGS__, NULL })

int translate_command_make(struct translate_command *m, const struct translate_task *task,
			   struct err *e)
{
	size_t n = 0;

	m->program = task->program ? mem_strdup(task->program, e) : paths_program("werkbank", e);
	if (!m->program)
		return e->code;
	snprintf(m->step, sizeof(m->step), "%lld", (long long)task->step);
	ADD_WORDS(m, &n, m->program, "translate", "-C", task->workspace, "--run", task->run,
		  "--checkpoint", m->step);
	if (!task->file) {
		ADD_WORDS(m, &n, "--serve");
		return 0;
	}
	if (translate_is_document(task->file))
		ADD_WORDS(m, &n, "--document", document_kind_of(task->file)->name);
	if (task->lists)
		ADD_WORDS(m, &n, "--list-sentences");
	if (task->edited)
		ADD_WORDS(m, &n, "--post-edited", task->edited);
	ADD_WORDS(m, &n, "--", task->file);
	return 0;
}
