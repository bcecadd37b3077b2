/* conf_exit.c - the end of a main(): messages and exit statuses; see conf.h */
#include "share/conf/conf.h"

#include <stdlib.h>
#include <string.h>

#include "share/base/lines.h"
#include "share/base/mem.h"
#include "share/base/number_format.h"
#include "share/base/text.h"
#include "share/guard/terminal_text.h"
#include "share/workspace/paths.h"

/* Does the text propose to type "werkbank COMMAND"? */
static bool proposes_command(const char *text)
{
	for (const char *at = text; (at = strstr(at, "werkbank ")) != NULL; at++) {
		char word[32];

		snprintf(word, sizeof(word), "%.*s",
			 (int)strspn(at + 9, "abcdefghijklmnopqrstuvwxyz-"), at + 9);
		if (conf_find_program(word))
			return true;
	}
	return false;
}

char *conf_typed_program(const struct conf *c)
{
	struct err ignored = { 0 };

	if (!c->is_in_sandbox)
		return paths_typed_program(&ignored);
	return c->typed_program ? mem_strdup(c->typed_program, &ignored) : NULL;
}

/*
 * What to type for the "werkbank" of a message where $PATH does not lead to it, owned by the caller;
 * NULL: as it stands there.
 */
static char *program_to_type(const struct conf *c, const char *text)
{
	char *typed = proposes_command(text) ? conf_typed_program(c) : NULL;

	if (!typed || strcmp(typed, "werkbank"))
		return typed;
	free(typed);
	return NULL;
}

/* --repair destroys letters of a text in another encoding: never without a word. */
static void report_repaired_lines(const struct conf *c)
{
	char name[LINES_NAME_BYTES];
	const int64_t n = c->repair && !c->quiet ? lines_count_repaired(name) : 0;
	const bool converts = c->command && !strcmp(c->command, "prep");

	if (n)
		fprintf(stderr,
			"warning: --repair replaced invalid UTF-8 in %s line%s, the last one in "
			"%s: if "
			"letters are lost, the text has another encoding: %s ISO-8859-1 (or "
			"WINDOWS-1252) instead\n",
			COUNT_TEXT(n), text_plural(n), name,
			converts ? "give --encoding" : "convert it with iconv -t UTF-8 -f");
}

int conf_exit_status(const struct conf *c, int code, const struct err *e)
{
	/* users never typed the commands between programs, which begin with _ */
	bool typed = c->command && c->command[0] != '_';

	char room[3 * sizeof(e->text) + 1];			 /* U+FFFD has three bytes */
	struct buf text = { .data = room, .cap = sizeof(room) }; /* it never grows */
	char *program;

	report_repaired_lines(c);
	if (code) {
		*room = 0;
		terminal_add_text(&text, e->text, strlen(e->text), TERMINAL_SENTENCE);
		program = program_to_type(c, room);
		fprintf(stderr, "werkbank%s%s: %s%s%s%s\n", typed ? " " : "",
			typed ? c->command : "", room, program ? " (werkbank is here: " : "",
			program ? program : "", program ? ")" : "");
		free(program);
	}
	if (code == ERR_PERM && c->is_in_sandbox)
		fprintf(stderr, "note: this command runs in a sandbox, which refuses files that "
				"its command "
				"line does not name; WERKBANK_SANDBOX=off turns it off\n");
	return err_exit_status(code);
}
