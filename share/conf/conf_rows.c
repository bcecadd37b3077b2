/* conf_rows.c - look-ups of single options and commands for forms and lists; see conf.h */
#include "share/conf/conf.h"

#include <string.h>

#include "share/conf/conf_internal.h"

bool conf_find_row(const char *name, struct conf_row *out)
{
	const struct conf_option *o = conf_find_option(name);

	if (o)
		*out = (struct conf_row){ .kind = o->kind,
					  .section = o->section,
					  .name = o->name,
					  .detail = o->detail,
					  .help = o->help };
	return o != NULL;
}

bool conf_accepts_option(const char *command, const char *option)
{
	const struct conf_command *cmd = conf_find_command(command);
	const struct conf_option *o = conf_find_option(option);

	return cmd && o && conf_command_accepts(cmd, cmd->program, o);
}

int conf_check(const char *name, const char *value, struct err *e)
{
	struct conf scratch = { 0 };
	int rc = conf_init(&scratch, e);

	if (!rc)
		rc = conf_set(&scratch, name, value, "check", e);
	conf_free(&scratch);
	return rc;
}

bool conf_command_at(size_t i, struct conf_command_row *out)
{
	for (size_t k = 0; k < conf_n_commands; k++) {
		const struct conf_command *c = &conf_commands[k];

		if (conf_is_hidden(c) || i--)
			continue;
		*out = (struct conf_command_row){ c->name, c->arguments, c->help };
		return true;
	}
	return false;
}
