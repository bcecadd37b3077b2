/*
 * help_words.c - the words that can be at the end of a command line; see help.h
 *
 * The same answers as those of the completion scripts (help_complete.c), for the workbench.
 */
#include "share/help/help.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "share/base/mem.h"
#include "share/help/help_internal.h"

void conf_candidates_free(struct conf_candidates *c)
{
	free(c->items);
	*c = (struct conf_candidates){ 0 };
}

static int add_candidate(struct conf_candidates *c, const char *prefix, const char *word, size_t n,
			 const char *help, struct err *e)
{
	struct conf_candidate *to;

	if (mem_grow(&c->items, &c->cap, c->n + 1, sizeof(*c->items), e))
		return e->code;
	to = &c->items[c->n++];
	snprintf(to->word, sizeof(to->word), "%s%.*s", prefix, (int)n, word);
	to->help = help;
	return 0;
}

/* The words of a text, separated by the character between; those in capitals are placeholders. */
static int add_words(struct conf_candidates *c, const char *text, const char *between,
		     struct err *e)
{
	while (*text) {
		size_t n = strcspn(text, between);
		const char *help = "";

		for (size_t i = 0; i < conf_n_commands; i++)
			if (*between == ' ' && strlen(conf_commands[i].name) == n &&
			    !memcmp(conf_commands[i].name, text, n))
				help = conf_commands[i].help;
		if (n && (*text < 'A' || *text > 'Z') && add_candidate(c, "", text, n, help, e))
			return e->code;
		text += n + (text[n] != 0);
	}
	return 0;
}

static int add_options(struct conf_candidates *c, const struct conf_command *cmd, struct err *e)
{
	for (size_t i = 0; i < conf_n_options; i++) {
		const struct conf_option *o = &conf_options[i];
		char dashed[CONF_NAME_MAX];
		const char *help;

		if (!conf_command_accepts(cmd, cmd->program, o))
			continue;
		conf_dashed(o->name, dashed);
		help = conf_option_of(cmd, o).help;
		if (add_candidate(c, "--", dashed, strlen(dashed), help, e) ||
		    (o->kind == CONF_BOOL && o->def != 0 &&
		     add_candidate(c, "--no-", dashed, strlen(dashed), help, e)))
			return e->code;
	}
	return 0;
}

/* The option whose value follows a word: "--name", or "-n" with one letter. NULL: none does. */
static const struct conf_option *option_before(const struct conf_command *cmd, const char *word)
{
	const struct conf_option *o = NULL;

	if (word[0] != '-' || !word[1] || strchr(word, '='))
		return NULL;
	if (word[1] == '-')
		o = conf_find_option(word + 2);
	for (size_t i = 0; !o && !word[2] && i < conf_n_options; i++)
		if (conf_command_accepts(cmd, cmd->program, &conf_options[i]) &&
		    conf_letter_of(cmd, &conf_options[i]) == word[1])
			o = &conf_options[i];
	return o && o->kind != CONF_BOOL ? o : NULL;
}

int conf_complete_word(const char *const *words, size_t n, const char *word,
		       struct conf_candidates *out, struct err *e)
{
	const struct conf_command *cmd = n ? conf_find_command(words[0]) : NULL;
	const struct conf_option *o = NULL;
	struct buf choices = { 0 };
	int n_arguments = 0, rc = 0;

	if (!cmd)
		return 0;
	for (size_t i = 1; i < n; i++) {
		bool is_value = o != NULL;

		o = is_value ? NULL : option_before(cmd, words[i]);
		n_arguments += !is_value && !o && words[i][0] != '-';
	}
	out->is_value = o != NULL;
	if (o && conf_has_choices(o))
		return add_words(out, conf_option_of(cmd, o).detail, "|", e);
	if (o)
		out->names = conf_names_of_option(o);
	else if (*word == '-')
		return add_options(out, cmd, e);
	else
		out->names = conf_argument_at(cmd, n_arguments, &choices);
	if (!o && !out->names)
		rc = add_words(out, buf_text(&choices), " ", e);
	buf_free(&choices);
	return rc;
}
