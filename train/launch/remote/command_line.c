/* command_line.c - see command_line.h */
#include "train/launch/remote/command_line.h"

#include <ctype.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "share/base/mem.h"
#include "share/base/text.h"

void command_line_add(struct command_line *c, const char *word)
{
	struct err reported; /* by command_line_check() */

	if (c->failed || mem_grow(&c->all, &c->cap, c->n + 2, sizeof(*c->all), &reported) ||
	    !(c->all[c->n] = mem_strdup(word, &reported))) {
		c->failed = true;
		return;
	}
	c->all[++c->n] = NULL;
}

void command_line_add_all(struct command_line *c, const char *const *words)
{
	for (; *words; words++)
		command_line_add(c, *words);
}

void command_line_printf(struct command_line *c, const char *fmt, ...)
{
	char *word;
	va_list ap;
	int n;

	va_start(ap, fmt);
	n = vasprintf(&word, fmt, ap);
	va_end(ap);
	if (n < 0) {
		c->failed = true;
		return;
	}
	command_line_add(c, word);
	free(word);
}

int command_line_check(const struct command_line *c, struct err *e)
{
	return c->failed ? err_set(e, ERR_NOMEM, "out of memory after %zu words of a command", c->n)
			 : 0;
}

void command_line_free(struct command_line *c)
{
	for (size_t i = 0; i < c->n; i++)
		free((char *)(uintptr_t)c->all[i]);
	free(c->all);
	*c = (struct command_line){ 0 };
}

void command_line_quote(const char *const *words, struct buf *out)
{
	for (size_t i = 0; words && words[i]; i++) {
		if (i)
			buf_add_char(out, ' ');
		text_quote_shell(out, words[i]);
	}
}

/* Read one word of a command like a shell. Returns the text after the word; NULL: open quote. */
static const char *next_shell_word(const char *p, struct buf *word)
{
	char quote = 0;

	buf_clear(word);
	for (; *p && (quote || !isspace((unsigned char)*p)); p++) {
		if (quote ? *p == quote : *p == '\'' || *p == '"')
			quote = quote ? 0 : *p;
		else if (*p == '\\' && quote != '\'' && p[1])
			buf_add_char(word, *++p);
		else
			buf_add_char(word, *p);
	}
	return quote ? NULL : p;
}

int command_line_split(struct command_line *c, const char *command, struct err *e)
{
	struct buf word = { 0 };
	const char *p = command + strspn(command, " \t\n");
	int rc = 0;

	while (!rc && *p) {
		p = next_shell_word(p, &word);
		rc = buf_check(&word, e);
		if (!rc && !p)
			rc = err_set(e, ERR_USAGE, "--ssh \"%s\": a closing quote is missing",
				     command);
		if (rc)
			break;
		command_line_add(c, buf_text(&word));
		p += strspn(p, " \t\n");
	}
	buf_free(&word);
	if (!rc && !c->n && !c->failed)
		rc = err_set(e, ERR_USAGE, "--ssh is empty: expected for example ssh");
	return rc;
}
