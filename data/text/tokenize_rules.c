/* tokenize_rules.c - runs the regular expressions of tokenizer.perl: see tokenize_rules.h */
#include "data/text/tokenize_rules.h"

#include <stdlib.h>
#include <string.h>

#include "share/base/mem.h"
#include "share/base/util.h"

#define ALNUM  "\\p{Alphabetic}\\p{Nd}"
#define ALPHA  "\\p{Alphabetic}"
#define NUMBER "\\p{N}"

/* The steps in order; each is a list of replacements. */
enum step {
	STEP_CLEAN,	/* squeeze blanks, delete control characters, separate other characters */
	STEP_HYPHENS,	/* only with option aggressive */
	STEP_DOTS,	/* a run of dots becomes DOTMULTI and dots … */
	STEP_DOTS_WRAP, /* … which move before the mark, one a round: DOTDOTDOTMULTI */
	STEP_COMMAS,
	STEP_APOSTROPHES,
	STEP_WORDS_DONE,  /* after split_stops() */
	STEP_DOTS_UNWRAP, /* the marks become dots again, one a round */
	STEP_DOTS_DONE,
	STEP_ESCAPE, /* only with option escape */
	N_STEPS
};

/* clang-format off */
#define CLEAN_BLANKS \
	{ "[" REGEX_SPACE "]+", " ", 0 }, { "[\\x00-\\x1f]", "", 0 }, { " +", " ", 0 }, \
	{ "^ ", "", 0 }, { " $", "", 0 }
/* clang-format on */

static const struct rewrite_rule clean[] = {
	CLEAN_BLANKS,
	{ "([^" ALNUM REGEX_SPACE ".'`,\\-])", " $1 ", 0 },
};
/* The same, but the typographic apostrophe is left to the rules for apostrophes. */
static const struct rewrite_rule clean_apostrophes[] = {
	CLEAN_BLANKS,
	{ "([^" ALNUM REGEX_SPACE ".'\\x{2019}`,\\-])", " $1 ", 0 },
};
static const struct rewrite_rule hyphens[] = { { "([" ALNUM "])-(?=[" ALNUM "])", "$1 @-@ ", 0 } };
static const struct rewrite_rule dots[] = { { "\\.(\\.+)", " DOTMULTI$1", 0 } };
static const struct rewrite_rule dots_wrap[] = {
	{ "DOTMULTI\\.([^.])", "DOTDOTMULTI $1", 0 },
	{ "DOTMULTI\\.", "DOTDOTMULTI", 0 },
};
static const struct rewrite_rule commas[] = {
	{ "([^" NUMBER "]),", "$1 , ", 0 },
	{ ",([^" NUMBER "])", " , $1", 0 },
	{ "([" NUMBER "]),$", "$1 ,", 0 },
};
static const struct rewrite_rule apostrophes_english[] = {
	{ "([^" ALPHA "])'([^" ALPHA "])", "$1 ' $2", 0 },
	{ "([^" ALPHA NUMBER "])'([" ALPHA "])", "$1 ' $2", 0 },
	{ "([" ALPHA "])'([^" ALPHA "])", "$1 ' $2", 0 },
	{ "([" ALPHA "])'([" ALPHA "])", "$1 '$2", 0 },
	{ "([" NUMBER "])'(s)", "$1 '$2", 0 },
};
static const struct rewrite_rule apostrophes_apart[] = { { "'", " ' ", 0 } };
static const struct rewrite_rule apostrophes_inside[] = {
	{ "((?<![" ALPHA "])['\\x{2019}]|['\\x{2019}](?![" ALPHA "]))", " $1 ", 0 },
};
static const struct rewrite_rule apostrophes_elided[] = {
	{ "((?<![" ALPHA "])['\\x{2019}]|['\\x{2019}](?![" ALPHA "]))", " $1 ", 0 },
	{ "(['\\x{2019}])(?=[" ALPHA "])", "$1 ", 0 },
};
static const struct rewrite_rule words_done[] = {
	{ " +", " ", 0 },
	{ "^ ", "", 0 },
	{ " $", "", 0 },
	{ "\\.' ?$", " . ' ", 0 },
};
static const struct rewrite_rule dots_unwrap[] = { { "DOTDOTMULTI", "DOTMULTI.", 0 } };
static const struct rewrite_rule dots_done[] = { { "DOTMULTI", ".", 0 } };
static const struct rewrite_rule escape[] = {
	{ "&", "&amp;", 0 },  { "\\|", "&#124;", 0 }, { "<", "&lt;", 0 },    { ">", "&gt;", 0 },
	{ "'", "&apos;", 0 }, { "\"", "&quot;", 0 },  { "\\[", "&#91;", 0 }, { "\\]", "&#93;", 0 },
};

struct token_rules {
	const struct abbrev *abbreviations; /* borrowed */
	struct charclass *chars;	    /* borrowed */
	struct rewrite *steps[N_STEPS];	    /* owned; NULL: the step is skipped */
	struct buf text, words;
};

enum apostrophes apostrophes_of_language(const char *language)
{
	static const struct {
		const char *language;
		enum apostrophes apostrophes;
	} rows[] = {
		{ "en", APOSTROPHES_ENGLISH }, { "ca", APOSTROPHES_ELIDED },
		{ "fr", APOSTROPHES_ELIDED },  { "ga", APOSTROPHES_ELIDED },
		{ "it", APOSTROPHES_ELIDED },  { "be", APOSTROPHES_INSIDE },
		{ "uk", APOSTROPHES_INSIDE },
	};

	for (size_t i = 0; i < ARRAY_LEN(rows); i++)
		if (!strcmp(language, rows[i].language))
			return rows[i].apostrophes;
	return APOSTROPHES_APART;
}

static int add_steps(struct token_rules *t, const struct tokenizer_options *o, struct err *e)
{
	const enum apostrophes a = apostrophes_of_language(o->language);
	const bool english = a == APOSTROPHES_ENGLISH, apart = a == APOSTROPHES_APART;
	const struct {
		enum step step;
		bool wanted;
		const struct rewrite_rule *rules;
		size_t n;
	} all[] = {
		{ STEP_CLEAN, english || apart, clean, ARRAY_LEN(clean) },
		{ STEP_CLEAN, !english && !apart, clean_apostrophes, ARRAY_LEN(clean_apostrophes) },
		{ STEP_HYPHENS, o->aggressive, hyphens, ARRAY_LEN(hyphens) },
		{ STEP_DOTS, true, dots, ARRAY_LEN(dots) },
		{ STEP_DOTS_WRAP, true, dots_wrap, ARRAY_LEN(dots_wrap) },
		{ STEP_COMMAS, true, commas, ARRAY_LEN(commas) },
		{ STEP_APOSTROPHES, english, apostrophes_english, ARRAY_LEN(apostrophes_english) },
		{ STEP_APOSTROPHES, apart, apostrophes_apart, ARRAY_LEN(apostrophes_apart) },
		{ STEP_APOSTROPHES, a == APOSTROPHES_ELIDED, apostrophes_elided,
		  ARRAY_LEN(apostrophes_elided) },
		{ STEP_APOSTROPHES, a == APOSTROPHES_INSIDE, apostrophes_inside,
		  ARRAY_LEN(apostrophes_inside) },
		{ STEP_WORDS_DONE, true, words_done, ARRAY_LEN(words_done) },
		{ STEP_DOTS_UNWRAP, true, dots_unwrap, ARRAY_LEN(dots_unwrap) },
		{ STEP_DOTS_DONE, true, dots_done, ARRAY_LEN(dots_done) },
		{ STEP_ESCAPE, o->escape, escape, ARRAY_LEN(escape) },
	};

	for (size_t i = 0; i < ARRAY_LEN(all); i++) {
		if (!all[i].wanted)
			continue;
		t->steps[all[i].step] = rewrite_new(all[i].rules, all[i].n, e);
		if (!t->steps[all[i].step])
			return e->code;
	}
	return 0;
}

struct token_rules *token_rules_new(const struct tokenizer_options *o,
				    const struct abbrev *abbreviations, struct charclass *chars,
				    struct err *e)
{
	struct token_rules *t = mem_alloc(1, sizeof(*t), e);

	if (!t)
		return NULL;
	t->abbreviations = abbreviations;
	t->chars = chars;
	if (add_steps(t, o, e)) {
		token_rules_free(t);
		return NULL;
	}
	return t;
}

void token_rules_free(struct token_rules *t)
{
	if (!t)
		return;
	for (size_t i = 0; i < N_STEPS; i++)
		rewrite_free(t->steps[i]);
	buf_free(&t->text);
	buf_free(&t->words);
	free(t);
}

/* Does the word pre keep its full stop? next: the word after it (n_next may be 0). */
static bool keeps_stop(const struct token_rules *t, const char *pre, size_t n, const char *next,
		       size_t n_next)
{
	enum abbrev_kind kind = abbrev_find(t->abbreviations, pre, n);

	if (memchr(pre, '.', n))
		for (size_t i = 0; i < n; i++)
			if (((unsigned char)pre[i] & 0xc0) != 0x80 &&
			    chars_first(t->chars, pre + i, n - i) & CHARS_ALPHA)
				return true;
	if (kind == ABBREV_WORD || chars_first(t->chars, next, n_next) & CHARS_LOWER)
		return true;
	return kind == ABBREV_BEFORE_DIGIT && n_next > 0 && next[0] >= '0' && next[0] <= '9';
}

/* Copy text to words, a blank after each; separate full stops that words do not keep. */
static void split_stops(struct token_rules *t)
{
	const char *text = buf_text(&t->text);
	size_t n = t->text.len, at = 0;

	while (n > 0 && text[n - 1] == ' ') /* Perl's split() drops empty fields at the end */
		n--;
	buf_clear(&t->words);
	while (at < n) {
		const char *word = text + at;
		const char *blank = memchr(word, ' ', n - at);
		size_t len = blank ? (size_t)(blank - word) : n - at;
		bool split = false;

		at += len + 1;
		if (len > 1 && word[len - 1] == '.') {
			const char *next = at < n ? text + at : "";
			size_t n_next = at < n ? strcspn(next, " ") : 0;

			split = at >= n || !keeps_stop(t, word, len - 1, next, n_next);
		}
		buf_add(&t->words, word, split ? len - 1 : len);
		buf_add_str(&t->words, split ? " . " : " ");
	}
}

/* Apply a step: once, or, for the two steps that move one dot a round, until no dot is left. */
static int apply_rule_step(struct token_rules *t, enum step step, struct err *e)
{
	return t->steps[step] ? rewrite_apply(t->steps[step], &t->text, e) : 0;
}

static int apply_while(struct token_rules *t, enum step step, const char *holds, struct err *e)
{
	while (strstr(buf_text(&t->text), holds))
		if (apply_rule_step(t, step, e))
			return e->code;
	return 0;
}

int token_rules_line(struct token_rules *t, const char *line, size_t n, struct buf *out,
		     struct err *e)
{
	struct buf old;

	if (chars_all_blank(line, n)) {
		buf_add(out, line, n);
		return buf_check(out, e);
	}
	buf_clear(&t->text);
	buf_add(&t->text, line, n);
	if (apply_rule_step(t, STEP_CLEAN, e) || apply_rule_step(t, STEP_HYPHENS, e) ||
	    apply_rule_step(t, STEP_DOTS, e) || apply_while(t, STEP_DOTS_WRAP, "DOTMULTI.", e) ||
	    apply_rule_step(t, STEP_COMMAS, e) || apply_rule_step(t, STEP_APOSTROPHES, e))
		return e->code;
	split_stops(t);
	old = t->text;
	t->text = t->words;
	t->words = old;
	if (buf_check(&t->text, e) || apply_rule_step(t, STEP_WORDS_DONE, e) ||
	    apply_while(t, STEP_DOTS_UNWRAP, "DOTDOTMULTI", e) ||
	    apply_rule_step(t, STEP_DOTS_DONE, e) || apply_rule_step(t, STEP_ESCAPE, e))
		return e->code;
	buf_add(out, t->text.data, t->text.len);
	return buf_check(out, e);
}
