/* demo_lexicon.c - reads share/demo/lexicon.txt: see demo_grammar.h */
#include "data/demo/demo_grammar.h"

#include <stdlib.h>
#include <string.h>

#include "share/base/file.h"
#include "share/base/mem.h"
#include "share/workspace/paths.h"

int demo_entry_error(const struct demo_table *t, struct err *e, const char *what)
{
	return err_set(e, ERR_DATA, "%s: line %lld: %s", t->path, (long long)t->line, what);
}

/* Cut a line into its fields, in place. */
static int split_fields(struct demo_table *t, char *line, struct err *e)
{
	char *p = line;

	for (t->n = 0;;) {
		p += strspn(p, " \t\r");
		if (!*p)
			return 0;
		if (t->n == DEMO_MAX_FIELDS)
			return demo_entry_error(t, e, "more than 64 words in a line");
		t->fields[t->n++] = p;
		p += strcspn(p, " \t\r");
		if (*p)
			*p++ = 0;
	}
}

int demo_read(const char *name, struct buf *text, demo_entry entry, void *closure, struct err *e)
{
	struct demo_table t = { 0 };
	char *path = paths_shipped(name, e), *line, *next;
	int rc = -1;

	if (!path || file_read_all(path, 16u << 20, text, e))
		goto out;
	t.path = path;
	buf_add(text, "", 0);
	if (buf_check(text, e))
		goto out;
	for (line = text->data; line; line = next) {
		next = strchr(line, '\n');
		if (next)
			*next++ = 0;
		t.line++;
		if (line[0] == '#')
			continue;
		if (split_fields(&t, line, e) || (t.n && entry(closure, &t, e)))
			goto out;
	}
	rc = 0;
out:
	free(path);
	return rc ? e->code : 0;
}

bool demo_has_class(const struct demo_classes *c, const char *name)
{
	int i;

	for (i = 0; i < c->n; i++)
		if (!strcmp(c->names[i], name))
			return true;
	return false;
}

static int add_classes(struct demo_classes *c, const struct demo_table *t, int from, struct err *e)
{
	for (; from < t->n; from++) {
		if (c->n == DEMO_MAX_CLASSES)
			return demo_entry_error(t, e, "more than 24 classes");
		c->names[c->n++] = t->fields[from];
	}
	return 0;
}

/* Are the fields at these indices (ascending, 0 ends them) a "|"? */
static bool has_bars(const struct demo_table *t, const int *bars)
{
	for (; *bars; bars++)
		if (*bars >= t->n || strcmp(t->fields[*bars], "|"))
			return false;
	return true;
}

static int add_noun(struct demo_lexicon *x, const struct demo_table *t, struct err *e)
{
	static const int bars[] = { 2, 7, 0 };
	char *const *f = t->fields;
	struct demo_noun n = { 0 };
	const char *gender;

	if (!has_bars(t, bars))
		return demo_entry_error(t, e,
					"expected a noun: \"singular plural | German gender "
					"genitive plural | classes\"");
	gender = strchr("mfn", f[4][0]);
	if (!gender || !*gender || f[4][1])
		return demo_entry_error(t, e, "expected the gender m, f or n");
	n = (struct demo_noun){ .singular = f[0],
				.plural = f[1],
				.german = f[3],
				.genitive = f[5],
				.german_plural = f[6] };
	n.gender = f[4][0] == 'm'   ? GENDER_MASCULINE
		   : f[4][0] == 'f' ? GENDER_FEMININE
				    : GENDER_NEUTER;
	n.classes.names[n.classes.n++] = f[0];
	if (add_classes(&n.classes, t, 8, e))
		return e->code;
	n.weak = demo_has_class(&n.classes, "weak");
	n.mass = demo_has_class(&n.classes, "mass");
	n.public = demo_has_class(&n.classes, "pub");
	n.single = n.mass || demo_has_class(&n.classes, "sgonly");
	return DEMO_PUSH(x->nouns, n, e);
}

static int lexicon_add_name(struct demo_lexicon *x, const struct demo_table *t, struct err *e)
{
	struct demo_name n = { t->fields[0], GENDER_MASCULINE };

	if (t->n != 2)
		return demo_entry_error(t, e, "expected a name: \"Name gender\"");
	if (t->fields[1][0] == 'f')
		n.gender = GENDER_FEMININE;
	return DEMO_PUSH(x->names, n, e);
}

static int add_adjective(struct demo_lexicon *x, const struct demo_table *t, struct err *e)
{
	static const int bars[] = { 2, 6, 0 };
	char *const *f = t->fields;
	struct demo_adjective a = { 0 };

	if (!has_bars(t, bars))
		return demo_entry_error(
			t, e,
			"expected an adjective: \"English comparative | German stem "
			"comparative | classes\"");
	a = (struct demo_adjective){ .english = f[0],
				     .english_more = f[1],
				     .german = f[3],
				     .stem = f[4],
				     .german_more = f[5] };
	if (add_classes(&a.classes, t, 7, e) ||
	    (!a.classes.n && demo_entry_error(t, e, "expected a ~topic for the adjective")))
		return e->code;
	return DEMO_PUSH(x->adjectives, a, e);
}

/* Read "auf+acc", the first object of a verb with a preposition. */
static int set_preposition(struct demo_verb *v, const struct demo_table *t, struct err *e)
{
	char *plus = t->n > 16 ? strchr(t->fields[16], '+') : NULL;

	if (!plus || (strcmp(plus, "+acc") && strcmp(plus, "+dat")))
		return demo_entry_error(
			t, e, "expected preposition and case after the kind prep, as in auf+acc");
	v->object_case = plus[1] == 'a' ? CASE_ACCUSATIVE : CASE_DATIVE;
	*plus = 0;
	v->preposition = t->fields[16];
	return 0;
}

static int add_verb(struct demo_lexicon *x, const struct demo_table *t, struct err *e)
{
	static const int bars[] = { 5, 14, 0 };
	char *const *f = t->fields;
	struct demo_verb v = { 0 };

	if (!has_bars(t, bars) || t->n < 16)
		return demo_entry_error(
			t, e,
			"expected a verb: \"5 English forms | 8 German columns | kind, "
			"objects and flags\"");
	v = (struct demo_verb){ .base = f[0],
				.third = f[1],
				.past = f[2],
				.participle = f[3],
				.ing = f[4],
				.infinitive = f[6],
				.first = f[7],
				.second = f[8],
				.third_german = f[9],
				.participle_german = f[10],
				.auxiliary = f[11],
				.prefix = f[12],
				.imperative = f[13] };
	v.object_case = strcmp(f[15], "dat") ? CASE_ACCUSATIVE : CASE_DATIVE;
	if (!strcmp(f[15], "prep") && set_preposition(&v, t, e))
		return e->code;
	if (strcmp(v.auxiliary, "haben") && strcmp(v.auxiliary, "sein"))
		return demo_entry_error(t, e, "expected the auxiliary haben or sein");
	if (strcmp(v.prefix, "-") && strncmp(v.infinitive, v.prefix, strlen(v.prefix)))
		return demo_entry_error(
			t, e, "the infinitive does not begin with the prefix of the verb");
	return add_classes(&v.classes, t, 15, e) ? e->code : DEMO_PUSH(x->verbs, v, e);
}

static int add_place(struct demo_lexicon *x, const struct demo_table *t, struct err *e)
{
	static const int bars[] = { 1, 3, 0 };
	struct demo_place p = { 0 };

	if (!has_bars(t, bars))
		return demo_entry_error(
			t, e, "expected a place: \"English | German | nouns and classes\"");
	p.english = t->fields[0];
	p.german = t->fields[2];
	return add_classes(&p.classes, t, 4, e) ? e->code : DEMO_PUSH(x->places, p, e);
}

static int add_agree(struct demo_lexicon *x, const struct demo_table *t, struct err *e)
{
	static const int bars[] = { 1, 0 };
	struct demo_agreement a = { 0 };
	int i;

	if (!has_bars(t, bars) || t->n != 2 + N_PERSONS)
		return demo_entry_error(t, e,
					"expected a row of [agree]: \"word | I you he we they\"");
	a.word = t->fields[0];
	for (i = 0; i < N_PERSONS; i++)
		a.forms[i] = t->fields[2 + i];
	return DEMO_PUSH(x->agrees, a, e);
}

static int lexicon_add_word(struct demo_lexicon *x, char *list, const struct demo_table *t,
			    struct err *e)
{
	static const int bars[] = { 1, 0 };
	struct demo_word w = { 0 };

	if (!has_bars(t, bars) || t->n != 3)
		return demo_entry_error(t, e, "expected an entry of a list: \"English | German\"");
	w = (struct demo_word){ list, t->fields[0], t->fields[2] };
	return DEMO_PUSH(x->words, w, e);
}

static const struct {
	const char *section;
	int (*add)(struct demo_lexicon *x, const struct demo_table *t, struct err *e);
} sections[] = {
	{ "[noun]", add_noun }, { "[name]", lexicon_add_name }, { "[adjective]", add_adjective },
	{ "[verb]", add_verb }, { "[place]", add_place },	{ "[agree]", add_agree },
};

struct reading {
	struct demo_lexicon *lexicon;
	int section; /* index above, -1: none yet */
	char *list;  /* NULL: not in a list */
};

static int lexicon_read_entry(void *closure, const struct demo_table *t, struct err *e)
{
	struct reading *r = closure;
	size_t i;

	if (t->fields[0][0] == '[') {
		r->list = NULL;
		if (!strcmp(t->fields[0], "[list") && t->n == 2) {
			r->list = t->fields[1];
			r->list[strcspn(r->list, "]")] = 0;
			return 0;
		}
		for (i = 0; i < ARRAY_LEN(sections); i++)
			if (!strcmp(t->fields[0], sections[i].section)) {
				r->section = (int)i;
				return 0;
			}
		return demo_entry_error(t, e, "unknown section");
	}
	if (r->list)
		return lexicon_add_word(r->lexicon, r->list, t, e);
	if (r->section < 0)
		return demo_entry_error(t, e, "an entry before the first section");
	return sections[r->section].add(r->lexicon, t, e);
}

int demo_lexicon_read(struct demo_lexicon *x, struct err *e)
{
	struct reading r = { x, -1, NULL };

	*x = (struct demo_lexicon){ 0 };
	return demo_read("demo/lexicon.txt", &x->text, lexicon_read_entry, &r, e);
}

void demo_lexicon_free(struct demo_lexicon *x)
{
	free(x->nouns.at);
	free(x->names.at);
	free(x->adjectives.at);
	free(x->verbs.at);
	free(x->places.at);
	free(x->agrees.at);
	free(x->words.at);
	buf_free(&x->text);
}

const struct demo_agreement *demo_find_agreement(const struct demo_lexicon *x, const char *word)
{
	size_t i;

	for (i = 0; i < x->agrees.n; i++)
		if (!strcmp(x->agrees.at[i].word, word))
			return &x->agrees.at[i];
	return NULL;
}
