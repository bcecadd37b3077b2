/* demo_sentence.c - fills a pattern and writes it in both languages: see demo_grammar.h */
#include "data/demo/demo_grammar.h"

#include <assert.h>
#include <string.h>

#include "share/base/util.h"

/* The choice for one slot. */
struct filled {
	struct demo_phrase phrase; /* who pron noun name, and the noun of place and goal */
	const struct demo_verb *verb;
	const struct demo_adjective *adjective;
	const struct demo_word *word;
	const struct demo_place *place;
	int number;
};

struct sentence {
	const struct demo_lexicon *x;
	const struct demo_pattern *p;
	struct demo_rng *rng;
	struct filled filled[DEMO_MAX_SLOTS];
	int n; /* slots filled so far */
};

/* ---- choosing ---- */

static uint32_t demo_draw_below(struct demo_rng *d, uint32_t sides)
{
	return (uint32_t)(((uint64_t)rng_u32(d->key, d->next++) * sides) >> 32);
}

/* true with this probability in percent. */
static bool demo_draw_percent(struct demo_rng *d, uint32_t percent)
{
	return demo_draw_below(d, 100) < percent;
}

/* What a word is chosen for. */
struct choice {
	const struct sentence *sentence;
	const struct demo_slot *slot;	  /* of a noun, verb or word */
	const struct demo_phrase *phrase; /* that an adjective describes */
	bool comparative;
};

/* Draw one of the n words that fit; each is equally probable. -1: none fits. */
static int choose_fitting(struct sentence *s, size_t n,
			  bool (*fits)(const struct choice *c, size_t i), const struct choice *c)
{
	uint32_t fitting = 0, pick;

	for (size_t i = 0; i < n; i++)
		fitting += fits(c, i);
	if (!fitting)
		return -1;
	pick = demo_draw_below(s->rng, fitting);
	for (size_t i = 0;; i++)
		if (fits(c, i) && !pick--)
			return (int)i;
}

static bool shares_class(const struct demo_classes *a, const struct demo_classes *b)
{
	int i;

	for (i = 0; i < a->n; i++)
		if (demo_has_class(b, a->names[i]))
			return true;
	return false;
}

static bool is_used(const struct sentence *s, const struct demo_noun *n)
{
	int i;

	for (i = 0; i < s->n; i++)
		if (s->filled[i].phrase.noun == n)
			return true;
	return false;
}

/* Do the nouns share a class that describes their meaning, not their grammar? */
static bool is_comparable(const struct demo_noun *a, const struct demo_noun *b)
{
	return a->classes.n > 1 && b->classes.n > 1 &&
	       !strcmp(a->classes.names[1], b->classes.names[1]);
}

static bool noun_fits(const struct choice *c, size_t i)
{
	const struct sentence *s = c->sentence;
	const struct demo_slot *slot = c->slot;
	const struct demo_noun *n = &s->x->nouns.at[i];
	const struct filled *other = slot->refers >= 0 ? &s->filled[slot->refers] : NULL;

	if (is_used(s, n) || (n->single && demo_has_class(&slot->filters, "pl")))
		return false;
	if (n->mass &&
	    (demo_has_class(&slot->filters, "sg") || demo_has_class(&slot->filters, "which")))
		return false;
	if (other && other->verb)
		return shares_class(&n->classes, &other->verb->classes);
	if (other)
		return is_comparable(n, other->phrase.noun);
	return shares_class(&n->classes, &slot->arguments);
}

/* Do both have the same topic, their first class? */
static bool is_rival(const struct demo_adjective *a, const struct demo_adjective *b)
{
	return b && !strcmp(a->classes.names[0], b->classes.names[0]);
}

static bool adjective_fits(const struct choice *c, size_t i)
{
	const struct sentence *s = c->sentence;
	const struct demo_adjective *a = &s->x->adjectives.at[i];

	for (int k = 0; k < s->n; k++)
		if (is_rival(a, s->filled[k].adjective) ||
		    is_rival(a, s->filled[k].phrase.adjective))
			return false;
	if (c->comparative && (!strcmp(a->german_more, "-") || !strcmp(a->english_more, "-")))
		return false;
	if (!c->phrase->noun)
		return demo_has_class(&a->classes, "person");
	return shares_class(&a->classes, &c->phrase->noun->classes);
}

static const struct demo_adjective *choose_adjective(struct sentence *s,
						     const struct demo_phrase *p, bool comparative)
{
	const struct choice c = { .sentence = s, .phrase = p, .comparative = comparative };
	int i = choose_fitting(s, s->x->adjectives.n, adjective_fits, &c);

	return i < 0 ? NULL : &s->x->adjectives.at[i];
}

static enum demo_determiner choose_possessive(struct sentence *s)
{
	return (enum demo_determiner)(DET_MY + demo_draw_below(s->rng, 6));
}

static enum demo_determiner choose_singular(struct sentence *s, const struct demo_noun *n,
					    const struct demo_classes *f)
{
	bool kin = demo_has_class(&n->classes, "kin"), definite = demo_has_class(f, "def");
	uint32_t r = demo_draw_below(s->rng, 100);

	if (demo_has_class(f, "a"))
		return n->mass ? DET_NONE : DET_A;
	if (kin)
		return r < 25 && n->single ? DET_THE : choose_possessive(s);
	if (r < (definite ? 55 : 35))
		return DET_THE;
	if (r < (definite ? 65 : 42))
		return DET_THIS;
	if (!definite && r < 75)
		return n->mass ? DET_NONE : DET_A;
	return n->public ? DET_THE : choose_possessive(s);
}

static enum demo_determiner choose_plural(struct sentence *s, const struct demo_noun *n,
					  const struct demo_classes *f)
{
	bool kin = demo_has_class(&n->classes, "kin"), definite = demo_has_class(f, "def");
	bool count = demo_has_class(f, "count");
	uint32_t r = demo_draw_below(s->rng, 100);

	if (demo_has_class(f, "a"))
		return DET_NONE;
	if (count)
		return r < 70 ? DET_COUNT : r < 85 ? DET_MANY : DET_SOME;
	if (kin)
		return choose_possessive(s);
	if (r < (definite ? 60 : 32))
		return DET_THE;
	if (r < (definite ? 75 : 40))
		return DET_THIS;
	if (!definite && r < 82)
		return r < 58 ? DET_NONE : r < 74 ? DET_COUNT : r < 78 ? DET_MANY : DET_SOME;
	return n->public ? DET_THE : choose_possessive(s);
}

static void choose_determiner(struct sentence *s, struct demo_phrase *p,
			      const struct demo_slot *slot)
{
	const struct demo_classes *f = &slot->filters;

	p->count = 2 + (int)demo_draw_below(s->rng, 11);
	if (demo_has_class(f, "the"))
		p->determiner = DET_THE;
	else if (demo_has_class(f, "which"))
		p->determiner = DET_WHICH;
	else if (demo_has_class(f, "every"))
		p->determiner = DET_EVERY;
	else if (demo_has_class(f, "bare"))
		p->determiner = DET_NONE;
	else if (demo_has_class(f, "own"))
		p->determiner = demo_phrase_owner(&s->filled[slot->filter_refers].phrase);
	else if (p->plural)
		p->determiner = choose_plural(s, p->noun, f);
	else
		p->determiner = choose_singular(s, p->noun, f);
}

/* A noun with its number, determiner and perhaps an adjective. */
static bool fill_noun(struct sentence *s, struct demo_phrase *p, const struct demo_slot *slot)
{
	const struct demo_classes *f = &slot->filters;
	const struct choice c = { .sentence = s, .slot = slot };
	int i = choose_fitting(s, s->x->nouns.n, noun_fits, &c);

	if (i < 0)
		return false;
	p->noun = &s->x->nouns.at[i];
	p->plural = demo_has_class(f, "pl") ||
		    (!p->noun->single && !demo_has_class(f, "sg") && !demo_has_class(f, "every") &&
		     demo_draw_percent(s->rng, 30));
	choose_determiner(s, p, slot);
	if (!demo_has_class(f, "plain") && demo_draw_percent(s->rng, 30))
		p->adjective = choose_adjective(s, p, false);
	return !demo_has_class(f, "has") || demo_phrase_has_pronoun(p);
}

static bool fill_pronoun(struct sentence *s, struct demo_phrase *p)
{
	enum demo_person me, other;
	int i;

	p->pronoun = (int)demo_draw_below(s->rng, 6);
	me = demo_phrase_person(p);
	/* exclude "I see me" and "we see me": pronouns of the same person */
	for (i = 0; i < s->n; i++) {
		if (s->filled[i].phrase.pronoun < 0)
			continue;
		other = demo_phrase_person(&s->filled[i].phrase);
		if (me == other && (me == PERSON_YOU || me == PERSON_I || me == PERSON_WE))
			return false;
		if ((me == PERSON_I && other == PERSON_WE) ||
		    (me == PERSON_WE && other == PERSON_I))
			return false;
	}
	return true;
}

static bool fill_who(struct sentence *s, struct demo_phrase *p, const struct demo_slot *slot)
{
	static char person[] = "person", kin[] = "kin";
	struct demo_slot people = *slot;
	uint32_t r = demo_draw_below(s->rng, 100);

	if (r < 45) {
		p->pronoun = (int)demo_draw_below(s->rng, 6);
		return true;
	}
	if (r < 60) {
		p->name = &s->x->names.at[demo_draw_below(s->rng, (uint32_t)s->x->names.n)];
		return true;
	}
	people.refers = -1;
	people.arguments.n = 0;
	people.arguments.names[people.arguments.n++] = person;
	people.arguments.names[people.arguments.n++] = kin;
	return fill_noun(s, p, &people);
}

static bool verb_fits(const struct choice *c, size_t number)
{
	const struct sentence *s = c->sentence;
	const struct demo_slot *slot = c->slot;
	const struct demo_verb *v = &s->x->verbs.at[number];
	const struct demo_classes *f = &slot->filters, *own = &v->classes;
	const struct demo_noun *object;
	int i;

	for (i = 0; i < s->n; i++)
		if (s->filled[i].verb == v)
			return false;
	if (demo_has_class(f, "dyn") && demo_has_class(own, "stative"))
		return false;
	if ((demo_has_class(f, "past") && demo_has_class(own, "nopast")) ||
	    (demo_has_class(f, "will") && demo_has_class(own, "nowill")) ||
	    (demo_has_class(f, "pass") && demo_has_class(own, "nopass")))
		return false;
	if (demo_has_class(f, "clear") && !strcmp(v->base, v->past))
		return false;
	if (demo_has_class(f, "imp") && !strcmp(v->imperative, "-"))
		return false;
	if (demo_has_class(f, "free") && demo_has_class(own, "refl"))
		return false;
	if (demo_has_class(f, "person") && !demo_has_class(own, "person"))
		return false;
	object = demo_has_class(f, "fits") ? s->filled[slot->filter_refers].phrase.noun : NULL;
	if (object && !shares_class(&object->classes, own))
		return false;
	for (i = 0; i < slot->arguments.n; i++)
		if (!strcmp(own->names[0], slot->arguments.names[i]) ||
		    (strcmp(own->names[0], "acc") && demo_has_class(own, slot->arguments.names[i])))
			return true;
	return false;
}

static bool word_fits(const struct choice *c, size_t i)
{
	return !strcmp(c->sentence->x->words.at[i].list, c->slot->arguments.names[0]);
}

/* Choose a place with the class of the filter, or for a goal a noun and its determiner. */
static bool fill_place(struct sentence *s, struct filled *f, const struct demo_slot *slot)
{
	static char sg[] = "sg", the[] = "the";
	struct demo_slot where = *slot;

	if (slot->kind == KIND_PLACE) {
		f->place = &s->x->places.at[demo_draw_below(s->rng, (uint32_t)s->x->places.n)];
		if (!shares_class(&slot->filters, &f->place->classes))
			return false;
		where.arguments = f->place->classes;
	}
	where.filters.n = 0;
	where.filters.names[where.filters.n++] = sg;
	if (slot->kind == KIND_GOAL || demo_draw_percent(s->rng, 75))
		where.filters.names[where.filters.n++] = the;
	return fill_noun(s, &f->phrase, &where);
}

static bool fill_slot(struct sentence *s, const struct demo_slot *slot)
{
	struct filled *f = &s->filled[s->n];
	bool comparative = demo_has_class(&slot->filters, "comp");
	const struct choice c = { .sentence = s, .slot = slot };
	int i;

	*f = (struct filled){ .phrase = { .pronoun = -1 } };
	switch (slot->kind) {
	case KIND_WHO:
		return fill_who(s, &f->phrase, slot);
	case KIND_PRON:
		return fill_pronoun(s, &f->phrase);
	case KIND_NOUN:
		return fill_noun(s, &f->phrase, slot);
	case KIND_NAME:
		return f->phrase.name =
			       &s->x->names.at[demo_draw_below(s->rng, (uint32_t)s->x->names.n)],
		       true;
	case KIND_VERB:
		i = choose_fitting(s, s->x->verbs.n, verb_fits, &c);
		f->verb = i < 0 ? NULL : &s->x->verbs.at[i];
		return f->verb;
	case KIND_ADJ:
		return (f->adjective =
				choose_adjective(s, &s->filled[slot->refers].phrase, comparative));
	case KIND_WORD:
		i = choose_fitting(s, s->x->words.n, word_fits, &c);
		f->word = i < 0 ? NULL : &s->x->words.at[i];
		return f->word;
	case KIND_NUM:
	case KIND_DIGITS:
		f->number = slot->low +
			    (int)demo_draw_below(s->rng, (uint32_t)(slot->high - slot->low + 1));
		return true;
	case KIND_PLACE:
	case KIND_GOAL:
		return fill_place(s, f, slot);
	}
	return false;
}

/* ---- writing ---- */

static enum demo_person person_of(const struct sentence *s, int refers)
{
	if (refers == REFERS_HE || refers < 0)
		return PERSON_HE;
	return refers == REFERS_THEY ? PERSON_THEY : demo_phrase_person(&s->filled[refers].phrase);
}

static void write_word_item(struct buf *out, const struct sentence *s, const char *word,
			    const struct demo_item *m)
{
	const struct demo_agreement *a =
		word[0] == '@' ? demo_find_agreement(s->x, word + 1) : NULL;

	demo_write_word(out, a ? a->forms[person_of(s, m->refers)] : word);
}

/*
 * Write a place (dative, unless the item says otherwise) or a goal, whose noun decides the
 * preposition.
 */
static void write_place_item(struct buf *out, enum demo_side side, const struct filled *f,
			     const struct demo_item *m)
{
	bool zu = !f->place && demo_has_class(&f->phrase.noun->classes, "to_zu");
	enum demo_case c = f->place ? CASE_DATIVE : zu ? CASE_DATIVE : CASE_ACCUSATIVE;

	if (f->place)
		demo_write_word(out, side == DEMO_ENGLISH ? f->place->english : f->place->german);
	else
		demo_write_word(out, side == DEMO_ENGLISH ? "to" : zu ? "zu" : "in");
	demo_write_phrase(out, side, &f->phrase, m->c != CASE_NOMINATIVE ? m->c : c, FORM_FULL);
}

static void write_phrase_item(struct buf *out, enum demo_side side, const struct sentence *s,
			      const struct demo_item *m)
{
	struct demo_phrase p = s->filled[m->slot].phrase;
	const struct demo_verb *v;
	enum demo_case c = m->c;

	if (m->object_case) {
		v = s->filled[m->refers].verb;
		c = v->object_case;
		if (v->preposition)
			demo_write_word(out, v->preposition);
	}
	if (m->kein)
		p.determiner = DET_KEIN;
	demo_write_phrase(out, side, &p, c, m->form);
}

static void write_item(struct buf *out, enum demo_side side, const struct sentence *s,
		       const struct demo_item *m)
{
	const struct filled *f = m->slot >= 0 ? &s->filled[m->slot] : NULL;

	if (m->agrees)
		demo_write_word(out,
				demo_find_agreement(s->x, m->text)->forms[person_of(s, m->refers)]);
	else if (!f)
		demo_write_word(out, m->text);
	else if (f->verb)
		demo_write_verb(out, side, f->verb, m->verb_form, person_of(s, m->refers));
	else if (f->adjective && m->comparative)
		demo_write_word(out, side == DEMO_ENGLISH ? f->adjective->english_more
							  : f->adjective->german_more);
	else if (f->adjective)
		demo_write_word(out, side == DEMO_ENGLISH ? f->adjective->english
							  : f->adjective->german);
	else if (f->word)
		write_word_item(out, s, side == DEMO_ENGLISH ? f->word->english : f->word->german,
				m);
	else if (s->p->slots[m->slot].kind == KIND_NUM)
		demo_write_number(out, side, f->number);
	else if (s->p->slots[m->slot].kind == KIND_DIGITS)
		buf_printf(out, "%d ", f->number);
	else if (s->p->slots[m->slot].kind == KIND_PLACE || s->p->slots[m->slot].kind == KIND_GOAL)
		write_place_item(out, side, f, m);
	else
		write_phrase_item(out, side, s, m);
}

/* ---- spelling the sentence ---- */

static bool is_same_demo_word(const char *w, size_t n, const char *text)
{
	return strlen(text) == n && !memcmp(w, text, n);
}

/* The contraction of two words, such as "im" for "in dem"; NULL: none. */
static const char *german_contraction(const char *a, size_t na, const char *b, size_t nb)
{
	static const char *const table[][3] = {
		{ "in", "dem", "im" },	 { "in", "das", "ins" }, { "an", "dem", "am" },
		{ "an", "das", "ans" },	 { "zu", "dem", "zum" }, { "zu", "der", "zur" },
		{ "von", "dem", "vom" },
	};
	size_t i;

	for (i = 0; i < ARRAY_LEN(table); i++)
		if (is_same_demo_word(a, na, table[i][0]) && is_same_demo_word(b, nb, table[i][1]))
			return table[i][2];
	return NULL;
}

/* The umlauts ä, ö and ü are C3 A4, C3 B6 and C3 BC in UTF-8; the capitals are 0x20 less. */
static void capitalise_first_word(char *text)
{
	unsigned char *t = (unsigned char *)text;

	if (t[0] >= 'a' && t[0] <= 'z')
		t[0] -= 'a' - 'A';
	else if (t[0] == 0xC3 && t[1] >= 0xA0)
		t[1] -= 0x20;
}

/* Write the words, each followed by a blank, as a sentence. Returns the number of words. */
static int write_sentence(struct buf *out, const struct buf *words, enum demo_side side)
{
	const char *w = buf_text(words), *next, *joined;
	size_t n, m;
	int count = 0;

	buf_clear(out);
	for (; *w; w = next, count++) {
		n = strcspn(w, " ");
		next = w + n + (w[n] == ' ');
		m = strcspn(next, " ");
		if (out->len && !strchr(".,?", *w))
			buf_add_char(out, ' ');
		joined = side == DEMO_GERMAN ? german_contraction(w, n, next, m) : NULL;
		if (joined) {
			buf_add_str(out, joined);
			next += m + (next[m] == ' ');
		} else if (side == DEMO_ENGLISH && is_same_demo_word(w, n, "a") &&
			   strchr("aeiou", *next)) {
			buf_add_str(out, "an");
		} else {
			buf_add(out, w, n);
		}
	}
	if (out->len)
		capitalise_first_word(out->data);
	return count;
}

#define LONGEST 15 /* words of a sentence, punctuation included */

bool demo_sentence(const struct demo_lexicon *x, const struct demo_patterns *p, struct demo_rng *d,
		   struct buf *english, struct buf *german)
{
	struct sentence s = { .x = x, .p = p->all.at, .rng = d };
	int pick = (int)demo_draw_below(d, (uint32_t)p->total_weight), i;
	struct buf words = { 0 };
	bool ok = false;
	enum demo_side side;

	assert(pick < p->total_weight);
	while (pick >= s.p->weight)
		pick -= s.p++->weight;
	for (s.n = 0; s.n < s.p->n_slots; s.n++)
		if (!fill_slot(&s, &s.p->slots[s.n]))
			goto out;
	for (side = DEMO_ENGLISH; side <= DEMO_GERMAN; side++) {
		buf_clear(&words);
		for (i = 0; i < s.p->n_items[side]; i++)
			write_item(&words, side, &s, &s.p->items[side][i]);
		if (write_sentence(side == DEMO_ENGLISH ? english : german, &words, side) > LONGEST)
			goto out;
	}
	ok = true;
out:
	buf_free_part(&words, german);
	return ok;
}
