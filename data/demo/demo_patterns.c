/* demo_patterns.c - reads share/demo/patterns.txt: see demo_grammar.h */
#include "data/demo/demo_grammar.h"

#include <stdlib.h>
#include <string.h>

#include "share/base/mem.h"
#include "share/base/text.h"

#define X(name, id) [id] = name,
static const char *const kinds[] = { DEMO_KINDS(X) };
static const char *const verb_forms[] = { DEMO_VERB_FORMS(X) };
#undef X

/* Index of a word in a list of n names; n: it is not there. */
static size_t find_name(const char *const *names, size_t n, const char *word)
{
	size_t i = 0;

	while (i < n && strcmp(names[i], word))
		i++;
	return i;
}

static int pattern_find_slot(const struct demo_pattern *p, const char *name)
{
	int i;

	for (i = 0; name[0] && !name[1] && i < p->n_slots; i++)
		if (p->slots[i].name == name[0])
			return i;
	return -1;
}

/* Split a list such as "a,b" or "a/b", in place. */
static int pattern_split_list(struct demo_classes *c, char *text, char comma,
			      const struct demo_table *t, struct err *e)
{
	char *next;

	for (; text && *text; text = next) {
		next = strchr(text, comma);
		if (next)
			*next++ = 0;
		if (c->n == DEMO_MAX_CLASSES)
			return demo_entry_error(t, e, "a list has more than 24 words");
		c->names[c->n++] = text;
	}
	return 0;
}

static int slot_read_range(struct demo_slot *s, const struct demo_table *t, struct err *e)
{
	char *dash = s->arguments.n == 1 ? strchr(s->arguments.names[0], '-') : NULL;
	int64_t low, high;

	if (!dash)
		return demo_entry_error(t, e, "expected a number slot num:LOW-HIGH");
	*dash = 0;
	if (!text_to_int(s->arguments.names[0], &low) || !text_to_int(dash + 1, &high) || low < 0 ||
	    high < low || high > 99)
		return demo_entry_error(t, e, "expected a number slot num:LOW-HIGH from 0 to 99");
	s->low = (int)low;
	s->high = (int)high;
	return 0;
}

/* Look up the slot that a filter own:X or fits:X names. */
static int resolve_filter(struct demo_slot *s, const struct demo_pattern *p,
			  const struct demo_table *t, struct err *e)
{
	char *colon;
	int i;

	for (i = 0; i < s->filters.n; i++) {
		colon = strchr(s->filters.names[i], ':');
		if (!colon)
			continue;
		*colon = 0;
		s->filter_refers = pattern_find_slot(p, colon + 1);
		if (s->filter_refers < 0)
			return demo_entry_error(t, e, "a filter names an unknown slot");
	}
	return 0;
}

/* S=noun:V,w/def/plain */
static int read_slot(struct demo_pattern *p, char *text, const struct demo_table *t, struct err *e)
{
	struct demo_slot *s = &p->slots[p->n_slots];
	char *slash, *colon;

	if (p->n_slots == DEMO_MAX_SLOTS || text[0] < 'A' || text[0] > 'Z' || text[1] != '=' ||
	    pattern_find_slot(p, (char[]){ text[0], 0 }) >= 0)
		return demo_entry_error(t, e, "expected a slot LETTER=KIND, each letter once");
	*s = (struct demo_slot){ .name = text[0], .refers = -1, .filter_refers = -1 };
	text += 2;
	slash = strchr(text, '/');
	if (slash)
		*slash++ = 0;
	colon = strchr(text, ':');
	if (colon)
		*colon++ = 0;
	s->kind = (enum demo_kind)find_name(kinds, ARRAY_LEN(kinds), text);
	if (s->kind == ARRAY_LEN(kinds))
		return demo_entry_error(t, e, "unknown kind of slot");
	if (pattern_split_list(&s->arguments, colon, ',', t, e) ||
	    pattern_split_list(&s->filters, slash, '/', t, e) || resolve_filter(s, p, t, e))
		return e->code;
	if (s->arguments.n == 1)
		s->refers = pattern_find_slot(p, s->arguments.names[0]);
	p->n_slots++;
	return s->kind == KIND_NUM || s->kind == KIND_DIGITS ? slot_read_range(s, t, e) : 0;
}

/* One word after a dot. A capital letter, he and they name what the item refers to. */
static int read_modifier(struct demo_item *m, const struct demo_pattern *p, const char *word,
			 const struct demo_table *t, struct err *e)
{
	static const char *const cases[N_CASES] = { "nom", "acc", "dat", "gen" };
	static const char *const forms[] = { "full", "bare", "poss", "pron", "rel" };
	const size_t c = find_name(cases, N_CASES, word),
		     form = find_name(forms, ARRAY_LEN(forms), word),
		     verb_form = find_name(verb_forms, ARRAY_LEN(verb_forms), word);

	if (c < N_CASES)
		return m->c = (enum demo_case)c, 0;
	if (form < ARRAY_LEN(forms))
		return m->form = (enum demo_form)form, 0;
	if (verb_form < ARRAY_LEN(verb_forms))
		return m->verb_form = (enum demo_verb_form)verb_form, 0;
	if (!strcmp(word, "obj"))
		return m->object_case = true, 0;
	if (!strcmp(word, "kein"))
		return m->kein = true, 0;
	if (!strcmp(word, "comp"))
		return m->comparative = true, 0;
	m->refers = !strcmp(word, "he")	    ? REFERS_HE
		    : !strcmp(word, "they") ? REFERS_THEY
					    : pattern_find_slot(p, word);
	return m->refers < 0 ? demo_entry_error(t, e, "an unknown word after a dot") : 0;
}

static int read_item(struct demo_pattern *p, enum demo_side side, char *text,
		     const struct demo_lexicon *x, const struct demo_table *t, struct err *e)
{
	struct demo_item *m = &p->items[side][p->n_items[side]];
	char *dot = text[1] ? strchr(text, '.') : NULL, *next;

	if (p->n_items[side]++ == DEMO_MAX_ITEMS)
		return demo_entry_error(t, e, "a sentence has more than 40 words");
	*m = (struct demo_item){ .text = text, .slot = -1, .refers = -1 };
	if (dot)
		*dot++ = 0;
	m->slot = pattern_find_slot(p, text);
	if (m->slot < 0 && dot) {
		m->agrees = true;
		if (!demo_find_agreement(x, text))
			return demo_entry_error(
				t, e, "the word before a dot is neither a slot nor in [agree]");
	}
	for (; dot && *dot; dot = next) {
		next = strchr(dot, '.');
		if (next)
			*next++ = 0;
		if (read_modifier(m, p, dot, t, e))
			return e->code;
	}
	if ((m->agrees || m->object_case) && m->refers < 0)
		return demo_entry_error(t, e, "the word of [agree] refers to no slot");
	return 0;
}

struct reading {
	struct demo_patterns *patterns;
	const struct demo_lexicon *lexicon;
};

static int begin_pattern(struct reading *r, const struct demo_table *t, struct err *e)
{
	struct demo_patterns *all = r->patterns;
	struct demo_pattern *p;
	int64_t weight;
	int i;

	if (t->n < 2 || !text_to_int(t->fields[1], &weight) || weight < 1 || weight > 1000)
		return demo_entry_error(t, e, "expected \"pattern WEIGHT\", weight 1 to 1000");
	if (mem_grow(&all->all.at, &all->all.cap, all->all.n + 1, sizeof(*p), e))
		return e->code;
	p = &all->all.at[all->all.n++];
	memset(p, 0, sizeof(*p));
	p->line = t->line;
	p->weight = (int)weight;
	all->total_weight += p->weight;
	for (i = 2; i < t->n; i++)
		if (read_slot(p, t->fields[i], t, e))
			return e->code;
	return 0;
}

static int pattern_read_entry(void *closure, const struct demo_table *t, struct err *e)
{
	struct reading *r = closure;
	struct demo_pattern *p =
		r->patterns->all.n ? &r->patterns->all.at[r->patterns->all.n - 1] : NULL;
	enum demo_side side;
	int i;

	if (!strcmp(t->fields[0], "pattern"))
		return begin_pattern(r, t, e);
	side = !strcmp(t->fields[0], "en") ? DEMO_ENGLISH : DEMO_GERMAN;
	if (!p || (side == DEMO_GERMAN && strcmp(t->fields[0], "de")) || p->n_items[side])
		return demo_entry_error(
			t, e, "expected \"pattern\", then one line \"en\" and one line \"de\"");
	for (i = 1; i < t->n; i++)
		if (read_item(p, side, t->fields[i], r->lexicon, t, e))
			return e->code;
	return 0;
}

int demo_patterns_read(struct demo_patterns *p, const struct demo_lexicon *x, struct err *e)
{
	struct reading r = { p, x };
	size_t i;

	*p = (struct demo_patterns){ 0 };
	if (demo_read("demo/patterns.txt", &p->text, pattern_read_entry, &r, e))
		return e->code;
	for (i = 0; i < p->all.n; i++)
		if (!p->all.at[i].n_items[DEMO_ENGLISH] || !p->all.at[i].n_items[DEMO_GERMAN])
			return err_set(e, ERR_DATA,
				       "patterns.txt: line %lld: the pattern has no sentence "
				       "\"en\" or \"de\"",
				       (long long)p->all.at[i].line);
	return p->all.n ? 0 : err_set(e, ERR_DATA, "patterns.txt: no pattern in the file");
}

void demo_patterns_free(struct demo_patterns *p)
{
	free(p->all.at);
	buf_free(&p->text);
}
