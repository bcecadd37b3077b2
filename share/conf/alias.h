/*
 * alias.h - former names of options and of fields in files, see aliases.def.
 *
 * Readers of files of old runs call alias_json_get() instead of json_get() for a field that was
 * renamed; the parser of options looks former names up by itself.
 */
#ifndef WERKBANK_SHARE_CONF_ALIAS_H
#define WERKBANK_SHARE_CONF_ALIAS_H

#include <stddef.h>

#include "share/format/json.h"

enum alias_kind { ALIAS_OPTION, ALIAS_FIELD, ALIAS_SACREBLEU };

/* The present name of a former one (written with - or _); NULL: not a former name. Borrowed. */
const char *alias_new_name(enum alias_kind kind, const char *old);

/*
 * Why the scoring commands refuse this option of sacreBLEU (value NULL), or this value of it, and
 * what to do instead; NULL: not refused. Borrowed.
 */
const char *alias_refused(const char *name, const char *value);

/* Does a command refuse this choice of an option? Messages about other values do not offer it then. */
bool alias_is_no_choice(const char *option, const char *choice, const char *command);

/*
 * What to type here for a command of another program; NULL: not known. For an option of another
 * program: *takes is the option that a command must take so that the advice fits. Borrowed.
 */
const char *alias_command_advice(const char *word);
const char *alias_option_advice(const char *name, const char **takes);

/* Former name number i of name (with _); NULL past the end. Borrowed. */
const char *alias_old_name(enum alias_kind kind, const char *name, size_t i);

/* The member `field` of an object, else the one under a former name; NULL: neither. Borrowed. */
const struct json *alias_json_get(const struct json *object, const char *field);

#endif
