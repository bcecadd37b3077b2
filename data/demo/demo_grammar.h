/*
 * demo_grammar.h - words and sentence patterns of the built-in corpus; private to data/demo and
 * its tests.
 *
 * The heads of share/demo/lexicon.txt and patterns.txt explain their formats. Strings in the
 * structs below point into the text of these files.
 *
 *	demo_lexicon.c   reads lexicon.txt      demo_words.c     inflects words
 *	demo_patterns.c  reads patterns.txt     demo_sentence.c  fills a pattern in both languages
 */
#ifndef WERKBANK_DATA_DEMO_DEMO_GRAMMAR_H
#define WERKBANK_DATA_DEMO_DEMO_GRAMMAR_H

#include <stdbool.h>
#include <stdint.h>

#include "share/base/buf.h"
#include "share/base/err.h"
#include "share/base/rng.h"

/* ---- the two files, split into entries of fields ---- */

#define DEMO_MAX_FIELDS 64

/*
 * The current line of a file, as its blank-separated fields.
 */
struct demo_table {
	const char *path;
	int64_t line;
	char *fields[DEMO_MAX_FIELDS];
	int n;
};
/* Called for each line that is neither blank nor a comment. */
typedef int (*demo_entry)(void *closure, const struct demo_table *t, struct err *e);

/* Read a file of share into text, which then owns all strings, and call entry() for its lines. */
int demo_read(const char *name, struct buf *text, demo_entry entry, void *closure, struct err *e);

/* ERR_DATA with file and line of the current entry. */
int demo_entry_error(const struct demo_table *t, struct err *e, const char *what);

/* ---- words ---- */

enum demo_gender { GENDER_MASCULINE, GENDER_FEMININE, GENDER_NEUTER, GENDER_PLURAL, N_GENDERS };
enum demo_case { CASE_NOMINATIVE, CASE_ACCUSATIVE, CASE_DATIVE, CASE_GENITIVE, N_CASES };
enum demo_person { PERSON_I, PERSON_YOU, PERSON_HE, PERSON_WE, PERSON_THEY, N_PERSONS };
enum demo_side { DEMO_ENGLISH, DEMO_GERMAN };

#define DEMO_MAX_CLASSES 24

struct demo_classes {
	char *names[DEMO_MAX_CLASSES];
	int n;
};

struct demo_noun {
	char *singular, *plural; /* English; plural "-": none */
	char *german, *genitive, *german_plural;
	enum demo_gender gender;
	struct demo_classes classes; /* the first class is the singular itself */
	bool weak, mass, single, public;
};

struct demo_name {
	char *text;
	enum demo_gender gender;
};

struct demo_adjective {
	char *english, *english_more;	   /* english_more: comparative; "-": with "more" */
	char *german, *stem, *german_more; /* german_more "-": none */
	struct demo_classes classes;
};

struct demo_verb {
	char *base, *third, *past, *participle, *ing;
	char *infinitive, *first, *second, *third_german, *participle_german, *auxiliary, *prefix,
		*imperative;
	char *preposition; /* of its object; NULL: none */
	enum demo_case object_case;
	struct demo_classes classes; /* kinds, objects and flags */
};

struct demo_place {
	char *english, *german;
	struct demo_classes classes;
};
struct demo_agreement {
	char *word;
	char *forms[N_PERSONS];
};
struct demo_word {
	char *list, *english, *german;
};

/* Grows by mem_grow(); n of cap in use. */
#define DEMO_ARRAY(type, name)                                                                     \
	struct {                                                                                   \
		type *at;                                                                          \
		size_t n, cap;                                                                     \
	} name

/* Append an entry to such an array: 0, or ERR_NOMEM. */
#define DEMO_PUSH(array, entry, e)                                                                 \
	(mem_grow(&(array).at, &(array).cap, (array).n + 1, sizeof(entry), e)                      \
		 ? (e)->code                                                                       \
		 : ((array).at[(array).n++] = (entry), 0))

struct demo_lexicon {
	struct buf text; /* owns the strings */
	DEMO_ARRAY(struct demo_noun, nouns);
	DEMO_ARRAY(struct demo_name, names);
	DEMO_ARRAY(struct demo_adjective, adjectives);
	DEMO_ARRAY(struct demo_verb, verbs);
	DEMO_ARRAY(struct demo_place, places);
	DEMO_ARRAY(struct demo_agreement, agrees);
	DEMO_ARRAY(struct demo_word, words);
};

int demo_lexicon_read(struct demo_lexicon *x, struct err *e);
void demo_lexicon_free(struct demo_lexicon *x);

bool demo_has_class(const struct demo_classes *c, const char *name);
/* The row of [agree] for word; NULL: none. */
const struct demo_agreement *demo_find_agreement(const struct demo_lexicon *x, const char *word);

/* ---- noun phrases ---- */

enum demo_determiner {
	DET_NONE,
	DET_THE,
	DET_A,
	DET_THIS,
	DET_EVERY,
	DET_WHICH,
	DET_KEIN,
	DET_COUNT,
	DET_MANY,
	DET_SOME,
	DET_MY,
	DET_YOUR,
	DET_HIS,
	DET_HER,
	DET_OUR,
	DET_THEIR
};

/* A pronoun, a name, or a noun with determiner and adjective. */
struct demo_phrase {
	int pronoun; /* index into the table of pronouns, -1: none */
	const struct demo_name *name;
	const struct demo_noun *noun;
	const struct demo_adjective *adjective; /* NULL: none */
	enum demo_determiner determiner;
	int count; /* of DET_COUNT: 2..12 */
	bool plural;
};

enum demo_form { FORM_FULL, FORM_BARE, FORM_POSSESSIVE, FORM_PRONOUN, FORM_RELATIVE };

#define DEMO_N_PRONOUNS 7 /* I you he she we they it */

/* Append the phrase, a blank after each word. */
void demo_write_phrase(struct buf *out, enum demo_side side, const struct demo_phrase *p,
		       enum demo_case c, enum demo_form form);

enum demo_person demo_phrase_person(const struct demo_phrase *p);
enum demo_gender demo_phrase_gender(const struct demo_phrase *p); /* German; PLURAL for plurals */
/* Is there exactly one English pronoun for the phrase? (Not for a child.) */
bool demo_phrase_has_pronoun(const struct demo_phrase *p);
/* The possessive determiner that refers to the phrase: my, your, his … */
enum demo_determiner demo_phrase_owner(const struct demo_phrase *p);

/* ---- other words; each is appended with a blank after it ---- */

/* X(name in patterns.txt, id): English, then German; part is of both */
/* clang-format off */
#define DEMO_VERB_FORMS(X) \
	X("s", VERB_S) X("base", VERB_BASE) X("past", VERB_PAST) X("part", VERB_PART) \
	X("ing", VERB_ING) \
	X("fin", VERB_FIN) X("pre", VERB_PRE) X("sub", VERB_SUB) X("inf", VERB_INF) \
	X("zu", VERB_ZU) X("aux", VERB_AUX) X("refl", VERB_REFL) X("imp", VERB_IMP)
/* clang-format on */

enum demo_verb_form {
#define X(name, id) id,
	DEMO_VERB_FORMS(X)
#undef X
};

void demo_write_verb(struct buf *out, enum demo_side side, const struct demo_verb *v,
		     enum demo_verb_form form, enum demo_person person);
void demo_write_number(struct buf *out, enum demo_side side, int n); /* 1..99 in words */
/* Append a word, with blanks for "_"; "-" and "" append nothing. */
void demo_write_word(struct buf *out, const char *word);

/* ---- patterns ---- */

/* X(name in patterns.txt, id) */
/* clang-format off */
#define DEMO_KINDS(X) \
	X("who", KIND_WHO) X("pron", KIND_PRON) X("noun", KIND_NOUN) X("name", KIND_NAME) \
	X("verb", KIND_VERB) X("adj", KIND_ADJ) X("word", KIND_WORD) X("num", KIND_NUM) \
	X("digits", KIND_DIGITS) X("place", KIND_PLACE) X("goal", KIND_GOAL)
/* clang-format on */

enum demo_kind {
#define X(name, id) id,
	DEMO_KINDS(X)
#undef X
};

#define DEMO_MAX_SLOTS 12
#define DEMO_MAX_ITEMS 40

struct demo_slot {
	char name; /* a capital letter */
	enum demo_kind kind;
	struct demo_classes arguments; /* after : */
	struct demo_classes filters;   /* after / */
	int refers;		       /* slot named by the only argument, -1: none */
	int filter_refers;	       /* slot named by own:X or fits:X, -1: none */
	int low, high;		       /* of num and digits */
};

struct demo_item {
	char *text;	  /* literal, or word of [agree] */
	int slot;	  /* -1: literal or agree */
	int refers;	  /* slot after the dot, or REFERS_HE, REFERS_THEY; -1: none */
	bool agrees;	  /* text is a row of [agree] */
	bool object_case; /* .obj.V */
	bool kein, comparative;
	enum demo_case c;
	enum demo_form form;
	enum demo_verb_form verb_form;
};
enum { REFERS_HE = 100, REFERS_THEY };

struct demo_pattern {
	int64_t line;
	int weight;
	struct demo_slot slots[DEMO_MAX_SLOTS];
	int n_slots;
	struct demo_item items[2][DEMO_MAX_ITEMS]; /* by enum demo_side */
	int n_items[2];
};

struct demo_patterns {
	struct buf text;
	DEMO_ARRAY(struct demo_pattern, all);
	int total_weight;
};

int demo_patterns_read(struct demo_patterns *p, const struct demo_lexicon *x, struct err *e);
void demo_patterns_free(struct demo_patterns *p);

/* ---- sentences ---- */

/* A position in one stream of the counter-based generator. */
struct demo_rng {
	struct rng_key key;
	uint64_t next;
};

/*
 * Try to generate a sentence pair: choose a pattern, fill it, write both sides. false: the
 * choices do not fit together; the caller tries again.
 */
bool demo_sentence(const struct demo_lexicon *x, const struct demo_patterns *p, struct demo_rng *d,
		   struct buf *english, struct buf *german);

#endif
