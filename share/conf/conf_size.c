/* conf_size.c - presets of --size: sizes.def; see conf.h */
#include <assert.h>
#include <stdio.h>
#include <string.h>

#include "share/base/util.h"
#include "share/conf/conf_internal.h"
#include "share/conf/text_sides.h"

#define SETTING_MAX 64

static const char *const size_settings[] = {
#define SIZE(name, text, settings) [SIZE_##name] = (settings),
#include "share/conf/sizes.def"
};

/* Is the value still to be decided: not given, or 0, which means "from --size"? */
static bool is_undecided(const struct conf *c, const struct conf_option *o)
{
	if (o->kind == CONF_INT && o->def == 0)
		return *(const int64_t *)conf_slot(c, o) == 0;
	return c->origins[o - conf_options].rank == RANK_DEFAULT;
}

/* setting: "option=value", n bytes. */
static void apply_setting(struct conf *c, const char *setting, size_t n, const char *origin)
{
	const struct conf_source source = { RANK_LINE, origin, setting, ERR_INTERNAL, true, NULL };
	const struct conf_option *o;
	struct err ignored; /* without memory for the origin it stays "default" */
	char name[SETTING_MAX], *value;
	int failed;

	assert(n < sizeof(name));
	memcpy(name, setting, n);
	name[n] = 0;
	value = strchr(name, '=');
	assert(value);
	*value++ = 0;
	o = conf_find_option(name);
	assert(o);
	if (!is_undecided(c, o))
		return;
	failed = conf_assign(c, o, value, &source, &ignored);
	assert(!failed || ignored.code == ERR_NOMEM);
	(void)failed;
	c->origins[o - conf_options].rank = RANK_DEFAULT; /* a recipe that is loaded later wins */
}

void conf_apply_size(struct conf *c)
{
	const char *at = size_settings[c->size];
	char origin[40];
	size_t n;
	const char *size = conf_choice(conf_find_option("size")->detail, c->size, &n);

	snprintf(origin, sizeof(origin), "size %.*s", (int)n, size);
	for (; *(at += strspn(at, " ")); at += n) {
		n = strcspn(at, " ");
		apply_setting(c, at, n, origin);
	}
	/* vocabularies of their own have tables of their own; the decoder's two tables stay one */
	if (text_vocabularies(c) > 1)
		apply_setting(c, "tied_embeddings=output", strlen("tied_embeddings=output"),
			      "vocabularies separate");
}
