/* demo_words.c - inflects English and German words: see demo_grammar.h */
#include "data/demo/demo_grammar.h"

#include <string.h>

/* ---- tables, by case then gender (the last column is the plural) ---- */

static const char *const the_table[N_CASES][N_GENDERS] = {
	{ "der", "die", "das", "die" },
	{ "den", "die", "das", "die" },
	{ "dem", "der", "dem", "den" },
	{ "des", "der", "des", "der" },
};
static const char *const relative_table[N_CASES][N_GENDERS] = {
	{ "der", "die", "das", "die" },
	{ "den", "die", "das", "die" },
	{ "dem", "der", "dem", "denen" },
	{ "dessen", "deren", "dessen", "deren" },
};
/* endings of dies-, jed-, welch-, viel-, einig-, and of adjectives without an article */
static const char *const strong_article[N_CASES][N_GENDERS] = {
	{ "er", "e", "es", "e" },
	{ "en", "e", "es", "e" },
	{ "em", "er", "em", "en" },
	{ "es", "er", "es", "er" },
};
/* endings of ein, kein, mein … */
static const char *const ein_endings[N_CASES][N_GENDERS] = {
	{ "", "e", "", "e" },
	{ "en", "e", "", "e" },
	{ "em", "er", "em", "en" },
	{ "es", "er", "es", "er" },
};
static const char *const weak_adjective[N_CASES][N_GENDERS] = {
	{ "e", "e", "e", "en" },
	{ "en", "e", "e", "en" },
	{ "en", "en", "en", "en" },
	{ "en", "en", "en", "en" },
};
static const char *const mixed_adjective[N_CASES][N_GENDERS] = {
	{ "er", "e", "es", "en" },
	{ "en", "e", "es", "en" },
	{ "en", "en", "en", "en" },
	{ "en", "en", "en", "en" },
};
static const char *const strong_adjective[N_CASES][N_GENDERS] = {
	{ "er", "e", "es", "e" },
	{ "en", "e", "es", "e" },
	{ "em", "er", "em", "en" },
	{ "en", "er", "en", "er" },
};

enum { PRONOUN_I, PRONOUN_YOU, PRONOUN_HE, PRONOUN_SHE, PRONOUN_WE, PRONOUN_THEY, PRONOUN_IT };

static const struct {
	const char *english[2]; /* subject, object */
	const char *german[3];	/* nominative, accusative, dative */
	enum demo_person person;
	enum demo_gender gender;
	enum demo_determiner owner;
} pronouns[DEMO_N_PRONOUNS] = {
	{ { "I", "me" }, { "ich", "mich", "mir" }, PERSON_I, GENDER_MASCULINE, DET_MY },
	{ { "you", "you" }, { "du", "dich", "dir" }, PERSON_YOU, GENDER_MASCULINE, DET_YOUR },
	{ { "he", "him" }, { "er", "ihn", "ihm" }, PERSON_HE, GENDER_MASCULINE, DET_HIS },
	{ { "she", "her" }, { "sie", "sie", "ihr" }, PERSON_HE, GENDER_FEMININE, DET_HER },
	{ { "we", "us" }, { "wir", "uns", "uns" }, PERSON_WE, GENDER_PLURAL, DET_OUR },
	{ { "they", "them" }, { "sie", "sie", "ihnen" }, PERSON_THEY, GENDER_PLURAL, DET_THEIR },
	{ { "it", "it" }, { "es", "es", "ihm" }, PERSON_HE, GENDER_NEUTER, DET_NONE },
};

static const struct {
	const char *english, *english_plural, *stem;
} determiners[] = {
	[DET_NONE] = { "", "", "" },	       [DET_THE] = { "the", "the", "" },
	[DET_A] = { "a", "", "ein" },	       [DET_THIS] = { "this", "these", "dies" },
	[DET_EVERY] = { "every", "", "jed" },  [DET_WHICH] = { "which", "which", "welch" },
	[DET_KEIN] = { "no", "no", "kein" },   [DET_COUNT] = { "", "", "" },
	[DET_MANY] = { "", "many", "viel" },   [DET_SOME] = { "", "some", "einig" },
	[DET_MY] = { "my", "my", "mein" },     [DET_YOUR] = { "your", "your", "dein" },
	[DET_HIS] = { "his", "his", "sein" },  [DET_HER] = { "her", "her", "ihr" },
	[DET_OUR] = { "our", "our", "unser" }, [DET_THEIR] = { "their", "their", "ihr" },
};

void demo_write_word(struct buf *out, const char *word)
{
	size_t i;

	if (!*word || !strcmp(word, "-"))
		return;
	for (i = 0; word[i]; i++)
		buf_add_char(out, word[i] == '_' ? ' ' : word[i]);
	buf_add_char(out, ' ');
}

/* Write stem and ending as one word. */
static void write_joined_words(struct buf *out, const char *stem, const char *ending)
{
	buf_printf(out, "%s%s ", stem, ending);
}

enum demo_person demo_phrase_person(const struct demo_phrase *p)
{
	if (p->pronoun >= 0)
		return pronouns[p->pronoun].person;
	return p->plural ? PERSON_THEY : PERSON_HE;
}

enum demo_gender demo_phrase_gender(const struct demo_phrase *p)
{
	if (p->pronoun >= 0)
		return pronouns[p->pronoun].gender;
	if (p->name)
		return p->name->gender;
	return p->plural ? GENDER_PLURAL : p->noun->gender;
}

static bool is_person(const struct demo_phrase *p)
{
	return !p->noun || demo_has_class(&p->noun->classes, "person") ||
	       demo_has_class(&p->noun->classes, "kin");
}

bool demo_phrase_has_pronoun(const struct demo_phrase *p)
{
	return !is_person(p) || demo_phrase_gender(p) != GENDER_NEUTER;
}

static int english_pronoun(const struct demo_phrase *p)
{
	if (p->pronoun >= 0)
		return p->pronoun;
	if (p->plural)
		return PRONOUN_THEY;
	if (!is_person(p))
		return PRONOUN_IT;
	return demo_phrase_gender(p) == GENDER_FEMININE ? PRONOUN_SHE : PRONOUN_HE;
}

static int german_pronoun(const struct demo_phrase *p)
{
	static const int by_gender[N_GENDERS] = { PRONOUN_HE, PRONOUN_SHE, PRONOUN_IT,
						  PRONOUN_THEY };

	return p->pronoun >= 0 ? p->pronoun : by_gender[demo_phrase_gender(p)];
}

enum demo_determiner demo_phrase_owner(const struct demo_phrase *p)
{
	return pronouns[english_pronoun(p)].owner;
}

/* ---- English ---- */

static void write_possessive(struct buf *out, const char *word)
{
	size_t n;

	demo_write_word(out, word);
	n = out->len;
	buf_truncate(out, n ? n - 1 : 0); /* the blank after the word */
	buf_add_str(out, n > 1 && out->data[n - 2] == 's' ? "' " : "'s ");
}

static void write_english_noun_phrase(struct buf *out, const struct demo_phrase *p,
				      enum demo_case c, enum demo_form form)
{
	const char *word;

	if (form == FORM_RELATIVE) {
		demo_write_word(out, is_person(p) ? "who" : "that");
		return;
	}
	if (p->pronoun >= 0 || form == FORM_PRONOUN) {
		demo_write_word(out, pronouns[english_pronoun(p)].english[c != CASE_NOMINATIVE]);
		return;
	}
	word = p->name ? p->name->text : p->plural ? p->noun->plural : p->noun->singular;
	if (p->noun && form != FORM_BARE) {
		if (p->determiner == DET_COUNT)
			demo_write_number(out, DEMO_ENGLISH, p->count);
		else if (p->plural)
			demo_write_word(out, determiners[p->determiner].english_plural);
		else
			demo_write_word(out, determiners[p->determiner].english);
	}
	if (p->adjective)
		demo_write_word(out, p->adjective->english);
	if (form == FORM_POSSESSIVE)
		write_possessive(out, word);
	else
		demo_write_word(out, word);
}

/* ---- German ---- */

static void write_noun(struct buf *out, const struct demo_noun *n, bool plural, enum demo_case c)
{
	char last;

	if (plural) {
		last = n->german_plural[strlen(n->german_plural) - 1];
		write_joined_words(out, n->german_plural,
				   c == CASE_DATIVE && last != 'n' && last != 's' ? "n" : "");
	} else {
		demo_write_word(out, c == CASE_GENITIVE || (n->weak && c != CASE_NOMINATIVE)
					     ? n->genitive
					     : n->german);
	}
}

static void write_determiner(struct buf *out, const struct demo_phrase *p, enum demo_case c,
			     enum demo_gender g)
{
	switch (p->determiner) {
	case DET_NONE:
		break;
	case DET_THE:
		demo_write_word(out, the_table[c][g]);
		break;
	case DET_COUNT:
		demo_write_number(out, DEMO_GERMAN, p->count);
		break;
	case DET_THIS:
	case DET_EVERY:
	case DET_WHICH:
	case DET_MANY:
	case DET_SOME:
		write_joined_words(out, determiners[p->determiner].stem, strong_article[c][g]);
		break;
	case DET_A:
		if (g == GENDER_PLURAL)
			break;
		/* fall through */
	default:
		write_joined_words(out, determiners[p->determiner].stem, ein_endings[c][g]);
	}
}

static const char *adjective_ending(enum demo_determiner d, enum demo_case c, enum demo_gender g)
{
	switch (d) {
	case DET_THE:
	case DET_THIS:
	case DET_EVERY:
	case DET_WHICH:
		return weak_adjective[c][g];
	case DET_NONE:
	case DET_COUNT:
	case DET_MANY:
	case DET_SOME:
		return strong_adjective[c][g];
	case DET_A:
		return g == GENDER_PLURAL ? strong_adjective[c][g] : mixed_adjective[c][g];
	default:
		return mixed_adjective[c][g];
	}
}

static void write_german_noun_phrase(struct buf *out, const struct demo_phrase *p, enum demo_case c,
				     enum demo_form form)
{
	enum demo_gender g = demo_phrase_gender(p);
	struct demo_phrase bare = *p;

	if (form == FORM_RELATIVE) {
		demo_write_word(out, relative_table[c][g]);
		return;
	}
	if (p->pronoun >= 0 || form == FORM_PRONOUN) {
		demo_write_word(out, pronouns[german_pronoun(p)]
					     .german[c == CASE_GENITIVE ? CASE_NOMINATIVE : c]);
		return;
	}
	if (p->name) {
		write_joined_words(out, p->name->text, form == FORM_POSSESSIVE ? "s" : "");
		return;
	}
	if (form == FORM_BARE)
		bare.determiner = DET_NONE;
	write_determiner(out, &bare, c, g);
	if (p->adjective)
		write_joined_words(out, p->adjective->stem,
				   adjective_ending(bare.determiner, c, g));
	write_noun(out, p->noun, p->plural, c);
}

void demo_write_phrase(struct buf *out, enum demo_side side, const struct demo_phrase *p,
		       enum demo_case c, enum demo_form form)
{
	if (side == DEMO_ENGLISH)
		write_english_noun_phrase(out, p, c, form);
	else
		write_german_noun_phrase(out, p, c, form);
}

/* ---- verbs ---- */

/* The finite form without its prefix. */
static const char *finite_form(const struct demo_verb *v, enum demo_person person)
{
	switch (person) {
	case PERSON_I:
		return v->first;
	case PERSON_YOU:
		return v->second;
	case PERSON_HE:
		return v->third_german;
	default:
		return v->infinitive + (strcmp(v->prefix, "-") ? strlen(v->prefix) : 0);
	}
}

/* A form of one word; "-" or "": none. */
static const char *german_verb_form(const struct demo_verb *v, enum demo_verb_form form,
				    enum demo_person person)
{
	static const char *const haben[N_PERSONS] = { "habe", "hast", "hat", "haben", "haben" };
	static const char *const sein[N_PERSONS] = { "bin", "bist", "ist", "sind", "sind" };
	static const char *const reflexive[N_PERSONS] = { "mich", "dich", "sich", "uns", "sich" };

	switch (form) {
	case VERB_FIN:
	case VERB_SUB:
		return finite_form(v, person);
	case VERB_ZU:
		return finite_form(v, PERSON_WE);
	case VERB_PRE:
		return v->prefix;
	case VERB_INF:
		return v->infinitive;
	case VERB_AUX:
		return v->auxiliary[0] == 'h' ? haben[person] : sein[person];
	case VERB_REFL:
		return demo_has_class(&v->classes, "refl") ? reflexive[person] : "";
	case VERB_IMP:
		return v->imperative;
	default:
		return v->participle_german;
	}
}

static const char *english_verb_form(const struct demo_verb *v, enum demo_verb_form form,
				     enum demo_person person)
{
	switch (form) {
	case VERB_S:
		return person == PERSON_HE ? v->third : v->base;
	case VERB_PAST:
		return v->past;
	case VERB_PART:
		return v->participle;
	case VERB_ING:
		return v->ing;
	default:
		return v->base;
	}
}

void demo_write_verb(struct buf *out, enum demo_side side, const struct demo_verb *v,
		     enum demo_verb_form form, enum demo_person person)
{
	bool is_joined = form == VERB_SUB || form == VERB_ZU; /* with the prefix: "aufzugeben" */
	bool is_separable = strcmp(v->prefix, "-") != 0;

	if (side == DEMO_ENGLISH) {
		demo_write_word(out, english_verb_form(v, form, person));
		return;
	}
	if (is_joined && is_separable)
		buf_add_str(out, v->prefix);
	if (form == VERB_ZU)
		buf_add_str(out, is_separable ? "zu" : "zu ");
	demo_write_word(out, german_verb_form(v, form, person));
}

/* ---- numbers ---- */

void demo_write_number(struct buf *out, enum demo_side side, int n)
{
	static const char *const small[2][20] = {
		{ "zero",     "one",	 "two",	    "three",	 "four",     "five",	"six",
		  "seven",    "eight",	 "nine",    "ten",	 "eleven",   "twelve",	"thirteen",
		  "fourteen", "fifteen", "sixteen", "seventeen", "eighteen", "nineteen" },
		{ "null",     "eins",	  "zwei",     "drei",	  "vier",     "fünf",	 "sechs",
		  "sieben",   "acht",	  "neun",     "zehn",	  "elf",      "zwölf",	 "dreizehn",
		  "vierzehn", "fünfzehn", "sechzehn", "siebzehn", "achtzehn", "neunzehn" },
	};
	static const char *const tens[2][10] = {
		{ "", "", "twenty", "thirty", "forty", "fifty", "sixty", "seventy", "eighty",
		  "ninety" },
		{ "", "", "zwanzig", "dreißig", "vierzig", "fünfzig", "sechzig", "siebzig",
		  "achtzig", "neunzig" },
	};
	int unit = n % 10;

	if (n < 20)
		demo_write_word(out, small[side][n]);
	else if (!unit)
		demo_write_word(out, tens[side][n / 10]);
	else if (side == DEMO_ENGLISH)
		buf_printf(out, "%s-%s ", tens[side][n / 10], small[side][unit]);
	else
		buf_printf(out, "%sund%s ", unit == 1 ? "ein" : small[side][unit],
			   tens[side][n / 10]);
}
