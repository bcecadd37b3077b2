/* help_texts.c - see help_internal.h: the tables of examples and of texts of the manual. */
#include "share/help/help_internal.h"

#include <assert.h>
#include <string.h>

const struct conf_text conf_examples[] = {
#define EXAMPLE(command, line, text) { command, line, text },
#include "share/help/examples.def"
#undef EXAMPLE
};
const size_t conf_n_examples = ARRAY_LEN(conf_examples);

const struct conf_text conf_arguments[] = {
#define ARGUMENT(command, word, text) { command, word, text },
#define COMMAND_NOTE(command, text)
#define OPTION_NOTE(option, text)
#include "share/help/manual.def"
#undef ARGUMENT
#undef COMMAND_NOTE
#undef OPTION_NOTE
};
const size_t conf_n_arguments = ARRAY_LEN(conf_arguments);

const struct conf_text conf_command_notes[] = {
#define ARGUMENT(command, word, text)
#define COMMAND_NOTE(command, text) { command, "", text },
#define OPTION_NOTE(option, text)
#include "share/help/manual.def"
#undef ARGUMENT
#undef COMMAND_NOTE
#undef OPTION_NOTE
};
const size_t conf_n_command_notes = ARRAY_LEN(conf_command_notes);

const struct conf_text conf_option_notes[] = {
#define ARGUMENT(command, word, text)
#define COMMAND_NOTE(command, text)
#define OPTION_NOTE(option, text) { "", option, text },
#include "share/help/manual.def"
#undef ARGUMENT
#undef COMMAND_NOTE
#undef OPTION_NOTE
};
const size_t conf_n_option_notes = ARRAY_LEN(conf_option_notes);

static const struct {
	const char *commands, *option, *argument, *help;
} command_helps[] = {
#define COMMAND_HELP(commands, option, argument, help) { commands, option, argument, help },
#include "share/help/command_helps.def"
#undef COMMAND_HELP
};

struct conf_option conf_option_of(const struct conf_command *cmd, const struct conf_option *o)
{
	struct conf_option shown = *o;

	for (size_t i = 0; i < ARRAY_LEN(command_helps); i++)
		if (!strcmp(command_helps[i].option, o->name) &&
		    conf_has_word(command_helps[i].commands, cmd->name)) {
			shown.help = command_helps[i].help;
			if (command_helps[i].argument)
				shown.detail = command_helps[i].argument;
		}
	return shown;
}

static const struct {
	const char *section, *title;
} groups[CONF_N_GROUPS] = {
	[CONF_GROUP_COMMON] = { "", "Common options" },
	[CONF_GROUP_DATA] = { "data", "Data options" },
	[CONF_GROUP_MODEL] = { "model", "Model options" },
	[CONF_GROUP_TRAIN] = { "train", "Training options" },
	[CONF_GROUP_DECODE] = { "decode", "Decoding options" },
	[CONF_GROUP_OTHER] = { "tool", "Other options" },
};

enum conf_group conf_group_of(const struct conf_command *cmd, const struct conf_option *o)
{
	if (conf_has_word(cmd->common, o->name))
		return CONF_GROUP_COMMON;
	for (int g = CONF_GROUP_DATA; g < CONF_GROUP_OTHER; g++)
		if (!strcmp(o->section, groups[g].section) &&
		    conf_has_word(cmd->sections, o->section))
			return (enum conf_group)g;
	return CONF_GROUP_OTHER; /* an option that the command takes singly */
}

const char *conf_group_title(const struct conf_command *cmd, enum conf_group group)
{
	assert(group < CONF_N_GROUPS);
	if (group == CONF_GROUP_OTHER && !*cmd->common && !*cmd->sections)
		return "Options";
	return groups[group].title;
}
