/* conf.c - see conf.h */
#include "share/conf/conf.h"

#include <assert.h>
#include <math.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "share/base/mem.h"
#include "share/base/text.h"
#include "share/conf/alias.h"
#include "share/conf/conf_internal.h"

/* ---- the tables ---- */

/* "relu|gelu|…", "tiny|base|…" */
static const char activation_choices[] =
#define ACTIVATION_FIRST(name, text) text
#define ACTIVATION(name, text)	     "|" text
#include "share/base/activations.def"
	;

static const char size_choices[] =
#define SIZE_FIRST(name, text, settings) text
#define SIZE(name, text, settings)	 "|" text
#include "share/conf/sizes.def"
	;

#define AT(name) offsetof(struct conf, name)

const struct conf_option conf_options[] = {
#define OPT_INT(section, name, letter, def, lo, hi, help)                                          \
	{ CONF_INT, #section, #name, letter, AT(name), def, lo, hi, "N", NULL, help, 0 },
#define OPT_REAL(section, name, letter, def, lo, hi, help)                                         \
	{ CONF_REAL, #section, #name, letter, AT(name), def, lo, hi, "X", NULL, help, 0 },
#define OPT_BOOL(section, name, letter, def, help)                                                 \
	{ CONF_BOOL, #section, #name, letter, AT(name), def, 0, 1, NULL, NULL, help, 0 },
#define OPT_STR(section, name, letter, def, arg, help)                                             \
	{ CONF_STR, #section, #name, letter, AT(name), 0, 0, 0, arg, def, help, 0 },
#define OPT_ENUM(section, name, letter, def, choices, help)                                        \
	{ CONF_ENUM, #section, #name, letter, AT(name), def, 0, 0, choices, NULL, help, 0 },
#define OPT_LIST(section, name, letter, arg, help)                                                 \
	{ CONF_LIST, #section, #name, letter, AT(name), 0, 0, 0, arg, NULL, help, 0 },
#define OPT_PATH(section, name, letter, def, path, arg, help)                                      \
	{ CONF_STR, #section, #name, letter, AT(name), 0, 0, 0, arg, def, help, CONF_PATH_##path },
#define OPT_PATHS(section, name, letter, path, arg, help)                                          \
	{                                                                                          \
		CONF_LIST, #section, #name, letter, AT(name), 0,                                   \
		0,	   0,	     arg,   NULL,   help,     CONF_PATH_##path                     \
	},
#include "share/conf/options.def"
#undef OPT_INT
#undef OPT_REAL
#undef OPT_BOOL
#undef OPT_STR
#undef OPT_ENUM
#undef OPT_LIST
};
const size_t conf_n_options = ARRAY_LEN(conf_options);

const struct conf_command conf_commands[] = {
#define CMD(name, program, sections, options, common, arguments, help)                             \
	{ name, #program, sections, options, common, arguments, help },
#include "share/conf/commands.def"
#undef CMD
};
const size_t conf_n_commands = ARRAY_LEN(conf_commands);

bool conf_same_name(const char *user, const char *row)
{
	for (; *user && *row; user++, row++)
		if ((*user == '-' ? '_' : *user) != *row)
			return false;
	return *user == *row;
}

static const struct conf_option *find_present_option(const char *name)
{
	for (size_t i = 0; i < conf_n_options; i++)
		if (conf_same_name(name, conf_options[i].name))
			return &conf_options[i];
	return NULL;
}

const struct conf_option *conf_find_option(const char *name)
{
	const struct conf_option *o = find_present_option(name);
	const char *present = o ? NULL : alias_new_name(ALIAS_OPTION, name);

	if (present) {
		o = find_present_option(present);
		assert(o); /* every row of aliases.def names an option */
	}
	return o;
}

const struct conf_command *conf_find_command(const char *name)
{
	for (size_t i = 0; i < conf_n_commands; i++)
		if (!strcmp(conf_commands[i].name, name))
			return &conf_commands[i];
	return NULL;
}

bool conf_has_word(const char *words, const char *word)
{
	size_t n = strlen(word);

	for (const char *at = words; (at = strstr(at, word)) != NULL; at += n)
		if ((at == words || at[-1] == ' ') && (!at[n] || at[n] == ' '))
			return true;
	return false;
}

bool conf_command_accepts(const struct conf_command *cmd, const char *program,
			  const struct conf_option *o)
{
	if (!strcmp(o->name, "help") || !strcmp(o->name, "version") || !strcmp(o->name, "quiet"))
		return true;
	if (!cmd && !strcmp(program, "tui"))
		cmd = conf_find_command("watch"); /* the workbench itself */
	if (!cmd)
		return false;
	return conf_has_word(cmd->sections, o->section) || conf_has_word(cmd->options, o->name);
}

const char *conf_dashed(const char *name, char out[CONF_NAME_MAX])
{
	size_t i;

	for (i = 0; name[i] && i + 1 < CONF_NAME_MAX; i++)
		out[i] = name[i] == '_' ? '-' : name[i];
	out[i] = 0;
	return out;
}

const char *conf_choice(const char *choices, int i, size_t *n)
{
	*n = 0;
	for (; i > 0; i--) {
		choices = strchr(choices, '|');
		if (!choices)
			return NULL;
		choices++;
	}
	*n = strcspn(choices, "|");
	return choices;
}

const char *conf_find_program(const char *command)
{
	const struct conf_command *cmd = conf_find_command(command);

	return cmd ? cmd->program : NULL;
}

int conf_unknown_command(const char *word, struct err *e)
{
	const char *names[ARRAY_LEN(conf_commands)], *advice = alias_command_advice(word);
	char hint[TEXT_HINT_MAX];
	size_t n = 0;

	for (size_t i = 0; i < conf_n_commands; i++)
		if (conf_commands[i].name[0] != '_')
			names[n++] = conf_commands[i].name;
	if (advice)
		return err_set(e, ERR_USAGE, "no command is called '%s': %s", word, advice);
	return err_set(e, ERR_USAGE, "no command is called '%s'%s; werkbank --help lists them",
		       word, text_hint(hint, text_nearest(word, names, n)));
}

const char *conf_option_at(size_t i, const char **section)
{
	if (i >= conf_n_options)
		return NULL;
	*section = conf_options[i].section;
	return conf_options[i].name;
}

const char *conf_read_path(const struct conf *c, const struct conf_option *o, size_t i)
{
	const struct conf_list *list = conf_slot(c, o);
	const char *value;

	if (o->path == CONF_PATH_NONE || o->path == CONF_PATH_WRITTEN)
		return NULL;
	if (o->kind == CONF_STR)
		return i ? NULL : *(const char *const *)conf_slot(c, o);
	assert(o->kind == CONF_LIST);
	if (i >= list->n)
		return NULL;
	value = list->items[i];
	if (o->path == CONF_PATH_ENTRY)
		return strchr(value, '=') ? strchr(value, '=') + 1 : "";
	if (o->path != CONF_PATH_PHRASE)
		return value;
	return *value == '@' ? value + 1 : "";
}

/* ---- life ---- */

int conf_init(struct conf *c, struct err *e)
{
	memset(c, 0, sizeof(*c));
	c->origins = mem_alloc(conf_n_options, sizeof(*c->origins), e);
	if (!c->origins)
		return e->code;
	for (size_t i = 0; i < conf_n_options; i++) {
		const struct conf_option *o = &conf_options[i];
		void *slot = conf_slot(c, o);

		switch (o->kind) {
		case CONF_INT:
			*(int64_t *)slot = (int64_t)o->def;
			break;
		case CONF_REAL:
			*(double *)slot = o->def;
			break;
		case CONF_BOOL:
			*(bool *)slot = o->def != 0;
			break;
		case CONF_ENUM:
			*(int *)slot = (int)o->def;
			break;
		case CONF_LIST:
			break;
		case CONF_STR:
			if (o->text && !(*(char **)slot = mem_strdup(o->text, e)))
				return e->code;
			break;
		}
	}
	return 0;
}

static void list_clear(struct conf_list *l)
{
	for (size_t i = 0; i < l->n; i++)
		free(l->items[i]);
	free(l->items);
	*l = (struct conf_list){ 0 };
}

void conf_free(struct conf *c)
{
	for (size_t i = 0; i < conf_n_options; i++) {
		if (conf_options[i].kind == CONF_STR)
			free(*(char **)conf_slot(c, &conf_options[i]));
		else if (conf_options[i].kind == CONF_LIST)
			list_clear(conf_slot(c, &conf_options[i]));
		if (c->origins)
			free(c->origins[i].text);
	}
	free(c->origins);
	free(c->recipe);
	free(c->typed_program);
	memset(c, 0, sizeof(*c));
}

/* ---- one value from text ---- */

/* Such as "--beam: '12abc' is not a whole number from 1 to 64". */
static int bad_number(const struct conf_option *o, const char *value, const struct conf_source *s,
		      struct err *e)
{
	const char *what = o->kind == CONF_INT ? "a whole number" : "a number";

	return err_set(e, s->code, "%s: '%s' is not %s from %.16g to %.16g", s->label, value, what,
		       o->lo, o->hi);
}

#define CHOICES_MAX 12 /* words of a detail "a|b|c" that a message lists */

static int bad_choice(const struct conf_option *o, const char *value, const struct conf_source *s,
		      struct err *e)
{
	char words[CHOICES_MAX][24], all[300] = "";
	const char *list[CHOICES_MAX];
	char hint[TEXT_HINT_MAX];
	size_t n = 0, len;
	const char *at;

	for (int i = 0; n < CHOICES_MAX && (at = conf_choice(o->detail, i, &len)) != NULL; i++) {
		snprintf(words[n], sizeof(words[n]), "%.*s", (int)len, at);
		if (s->command && alias_is_no_choice(o->name, words[n], s->command->name))
			continue;
		snprintf(all + strlen(all), sizeof(all) - strlen(all), "%s%s", n ? ", " : "",
			 words[n]);
		list[n] = words[n];
		n++;
	}
	return err_set(e, s->code, "%s: '%s' is not one of %s%s", s->label, value, all,
		       text_hint(hint, text_nearest(value, list, n)));
}

static int assign_number(void *slot, const struct conf_option *o, const char *value,
			 const struct conf_source *s, struct err *e)
{
	int64_t whole;
	double real;

	if (o->kind == CONF_INT) {
		if (!text_to_int(value, &whole) || (double)whole < o->lo || (double)whole > o->hi)
			return bad_number(o, value, s, e);
		*(int64_t *)slot = whole;
		return 0;
	}
	if (!text_to_real(value, &real) || !(real >= o->lo && real <= o->hi))
		return bad_number(o, value, s, e);
	*(double *)slot = real;
	return 0;
}

static int assign_bool(bool *slot, const char *value, const struct conf_source *s, struct err *e)
{
	static const char *const yes[] = { "yes", "true", "on", "1" };
	static const char *const no[] = { "no", "false", "off", "0" };

	for (size_t i = 0; i < ARRAY_LEN(yes); i++)
		if (!strcasecmp(value, yes[i]) || !strcasecmp(value, no[i])) {
			*slot = !strcasecmp(value, yes[i]);
			return 0;
		}
	return err_set(e, s->code, "%s: '%s' is neither yes nor no", s->label, value);
}

static int assign_choice(int *slot, const struct conf_option *o, const char *value,
			 const struct conf_source *s, struct err *e)
{
	const char *at;
	size_t n;

	assert(o->kind == CONF_ENUM);
	for (int i = 0; (at = conf_choice(o->detail, i, &n)) != NULL; i++)
		if (strlen(value) == n && !memcmp(at, value, n)) {
			*slot = i;
			return 0;
		}
	return bad_choice(o, value, s, e);
}

/* Whether a choice in capitals stands for any other value: "auto|dark|FILE". */
static bool has_placeholder(const struct conf_option *o)
{
	const char *at;
	size_t n;

	for (int i = 0; (at = conf_choice(o->detail, i, &n)) != NULL; i++)
		if (*at >= 'A' && *at <= 'Z')
			return true;
	return false;
}

static int assign_string(char **slot, const struct conf_option *o, const char *value,
			 const struct conf_source *s, struct err *e)
{
	char *copy = NULL;

	if (*value && conf_has_choices(o) && !has_placeholder(o) && !conf_is_choice(o, value))
		return bad_choice(o, value, s, e);
	if ((*value || o->text) && !(copy = mem_strdup(value, e)))
		return e->code;
	free(*slot);
	*slot = copy;
	return 0;
}

static int list_add(struct conf_list *l, const char *text, struct err *e)
{
	size_t cap = l->n;
	char *copy = mem_strdup(text, e);

	if (!copy)
		return e->code;
	if (mem_grow(&l->items, &cap, l->n + 1, sizeof(*l->items), e)) {
		free(copy);
		return e->code;
	}
	l->items[l->n++] = copy;
	return 0;
}

/*
 * Items are separated by blanks. "Double quotes" enclose an item with blanks; inside them \n is a
 * line feed, and \ before any other character is that character.
 */
static int list_split(struct conf_list *l, const char *value, struct err *e)
{
	struct buf item = { 0 };
	int rc = 0;

	while (!rc && *(value += strspn(value, " \t"))) {
		bool quoted = false;

		buf_clear(&item);
		for (; *value && (quoted || (*value != ' ' && *value != '\t')); value++) {
			if (*value == '"')
				quoted = !quoted;
			else if (*value == '\\' && quoted && value[1])
				buf_add_char(&item, *++value == 'n' ? '\n' : *value);
			else
				buf_add_char(&item, *value);
		}
		rc = buf_check(&item, e);
		if (!rc)
			rc = list_add(l, buf_text(&item), e);
	}
	buf_free(&item);
	return rc;
}

bool conf_has_choices(const struct conf_option *o)
{
	return o->kind == CONF_ENUM || ((o->kind == CONF_STR || o->kind == CONF_LIST) &&
					strchr(o->detail, '|') && o->detail[0] >= 'a');
}

bool conf_is_choice(const struct conf_option *o, const char *value)
{
	const char *at;
	size_t n;

	for (int i = 0; (at = conf_choice(o->detail, i, &n)) != NULL; i++)
		if (strlen(value) == n && !memcmp(at, value, n))
			return true;
	return false;
}

/* Items of repeated options on the command line add up; any other source replaces the list. */
static int assign_list(struct conf_list *slot, const struct conf_option *o, const char *value,
		       enum conf_rank old, const struct conf_source *s, struct err *e)
{
	int rc;

	if (s->rank != RANK_LINE || old != RANK_LINE)
		list_clear(slot);
	rc = s->rank == RANK_LINE ? list_add(slot, value, e) : list_split(slot, value, e);
	for (size_t i = 0; !rc && conf_has_choices(o) && i < slot->n; i++)
		if (!conf_is_choice(o, slot->items[i]))
			rc = bad_choice(o, slot->items[i], s, e);
	return rc;
}

static int note_origin(struct conf_origin *where, const struct conf_source *s, struct err *e)
{
	char *text = mem_strdup(s->origin, e);

	if (!text)
		return e->code;
	free(where->text);
	where->text = text;
	where->rank = s->rank;
	where->is_given = s->rank > RANK_DEFAULT && !s->is_ours;
	return 0;
}

int conf_assign(struct conf *c, const struct conf_option *o, const char *value,
		const struct conf_source *s, struct err *e)
{
	struct conf_origin *where = &c->origins[o - conf_options];
	void *slot = conf_slot(c, o);
	int rc = 0;

	assert(o >= conf_options && o < conf_options + conf_n_options && c->origins);
	if (s->rank < where->rank)
		return 0;
	switch (o->kind) {
	case CONF_INT:
	case CONF_REAL:
		rc = assign_number(slot, o, value, s, e);
		break;
	case CONF_BOOL:
		rc = assign_bool(slot, value, s, e);
		break;
	case CONF_ENUM:
		rc = assign_choice(slot, o, value, s, e);
		break;
	case CONF_STR:
		rc = assign_string(slot, o, value, s, e);
		break;
	case CONF_LIST:
		rc = assign_list(slot, o, value, where->rank, s, e);
		break;
	}
	return rc ? rc : note_origin(where, s, e);
}

int conf_set(struct conf *c, const char *name, const char *value, const char *origin, struct err *e)
{
	const struct conf_option *o = conf_find_option(name);
	struct conf_source s = { RANK_RECIPE, origin, name, ERR_USAGE, false, NULL };
	const char *names[ARRAY_LEN(conf_options)];
	char hint[TEXT_HINT_MAX];

	if (!o) {
		for (size_t i = 0; i < conf_n_options; i++)
			names[i] = conf_options[i].name;
		return err_set(e, ERR_USAGE, "no option is called '%s'%s", name,
			       text_hint(hint, text_nearest(name, names, conf_n_options)));
	}
	if (!strcmp(origin, "command line"))
		s.rank = RANK_LINE;
	else if (text_starts_with(origin, "WERKBANK_"))
		s.rank = RANK_ENVIRONMENT;
	else {
		c->origins[o - conf_options].rank =
			RANK_DEFAULT; /* a direct call overrides earlier values */
		s.is_ours = true;
	}
	return conf_assign(c, o, value, &s, e);
}

/* ---- values as text ---- */

/* The shortest text that reads back as v; whole numbers below 1e15 without an exponent. */
static void add_shortest_real(struct buf *out, double v)
{
	char text[40];
	double back;

	for (int digits = 1; digits <= 17; digits++) {
		snprintf(text, sizeof(text), "%.*g", digits, v);
		if (text_to_real(text, &back) && back == v)
			break;
	}
	if (strstr(text, "e+") && fabs(v) < 1e15) /* 1e+01 is 10 */
		snprintf(text, sizeof(text), "%.15g", v);
	buf_add_str(out, text);
}

static void add_item(struct buf *out, const char *item)
{
	if (*item && !strpbrk(item, " \t\r\n\"\\#;")) {
		buf_add_str(out, item);
		return;
	}
	buf_add_char(out, '"');
	for (; *item; item++) {
		if (*item == '"' || *item == '\\' || *item == '\n')
			buf_add_char(out, '\\');
		buf_add_char(out, *item == '\n' ? 'n' : *item);
	}
	buf_add_char(out, '"');
}

void conf_value(const struct conf *c, const char *name, struct buf *out)
{
	const struct conf_option *o = conf_find_option(name);
	const void *slot;
	const struct conf_list *l;
	const char *choice;
	size_t n;

	if (!o)
		return;
	slot = conf_slot(c, o);
	switch (o->kind) {
	case CONF_INT:
		buf_printf(out, "%lld", (long long)*(const int64_t *)slot);
		break;
	case CONF_REAL:
		add_shortest_real(out, *(const double *)slot);
		break;
	case CONF_BOOL:
		buf_add_str(out, *(const bool *)slot ? "yes" : "no");
		break;
	case CONF_STR:
		if (*(char *const *)slot)
			buf_add_str(out, *(char *const *)slot);
		break;
	case CONF_ENUM:
		choice = conf_choice(o->detail, *(const int *)slot, &n);
		assert(choice); /* the field holds the index of a choice */
		buf_add(out, choice, n);
		break;
	case CONF_LIST:
		l = slot;
		for (size_t i = 0; i < l->n; i++) {
			if (i)
				buf_add_char(out, ' ');
			add_item(out, l->items[i]);
		}
		break;
	}
}

const char *conf_origin(const struct conf *c, const char *name)
{
	const struct conf_option *o = conf_find_option(name);
	const char *text = o && c->origins ? c->origins[o - conf_options].text : NULL;

	return text ? text : "default";
}

bool conf_is_given(const struct conf *c, const char *name)
{
	const struct conf_option *o = conf_find_option(name);

	return o && c->origins && c->origins[o - conf_options].is_given;
}
