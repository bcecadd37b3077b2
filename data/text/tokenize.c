/*
 * tokenize.c - tokenises as Moses does, in one pass over the line: see tokenize.h
 *
 * The pass has the same effect as the replacements of tokenize_rules.c. Its neighbours decide
 * whether a character belongs to a word or is a token of its own. The blank between two tokens is
 * written when the second one begins: only then it is known whether the word before keeps its
 * full stop. Lines in which replacements would affect each other go to tokenize_rules.c: lines
 * with control characters, with apostrophes closer than three characters, or with the mark
 * DOTMULTI, which the rules use.
 */
#include "data/text/tokenize.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "data/text/abbrev.h"
#include "data/text/chars.h"
#include "data/text/tokenize_rules.h"
#include "share/base/mem.h"
#include "share/base/text.h"

/* The class of a byte, which selects the action of the pass. */
enum at_byte {
	AT_WORD, /* ASCII letter, digit */
	AT_BACKTICK,
	AT_BLANK,
	AT_STOP,
	AT_COMMA,
	AT_APOSTROPHE,
	AT_HYPHEN,
	AT_TOKEN, /* any other printable ASCII */
	AT_HIGH,  /* beyond ASCII: decode it */
	AT_CONTROL,
};

/* The text of a token of one ASCII character: at most 6 bytes, copied as 8. */
struct spelling {
	char text[7];
	uint8_t n;
};

/*
 * One byte of a line becomes at most MOST_PER_BYTE bytes. Copies of 8 bytes may write past the
 * end: SLACK.
 */
#define MOST_PER_BYTE 8u
#define SLACK	      32u

struct tokenizer {
	enum apostrophes apostrophes;
	bool aggressive;
	uint8_t at[256];    /* enum at_byte */
	uint8_t kinds[128]; /* enum chars_kind of an ASCII character */
	struct spelling spellings[128];
	struct abbrev *abbreviations; /* owned, as chars and rules */
	struct charclass *chars;
	struct token_rules *rules;
};

/* A full stop at the end of the last word that is not written yet. */
enum stop {
	STOP_NONE,
	STOP_KEPT,    /* the word keeps it, except at the end of the line */
	STOP_COUNTED, /* the word keeps it before a digit or a small letter */
	STOP_LOOSE,   /* the word keeps it before a small letter */
};

struct walk {
	struct tokenizer *t;
	const char *start, *end; /* the line without blanks at its ends */
	const char *word;	 /* start of the current word; NULL: none */
	char *first, *to;	 /* start and end of the output */
	enum stop stop;
};

/* ---- tables ---- */

static void fill_tables(struct tokenizer *t, bool escape)
{
	static const struct {
		char c;
		const char *entity;
	} entities[] = {
		{ '&', "&amp;" },   { '|', "&#124;" }, { '<', "&lt;" },	 { '>', "&gt;" },
		{ '\'', "&apos;" }, { '"', "&quot;" }, { '[', "&#91;" }, { ']', "&#93;" },
	};

	for (unsigned c = 0; c < 256; c++)
		t->at[c] = c >= 128	       ? AT_HIGH
			   : chars_is_blank(c) ? AT_BLANK
			   : c < ' '	       ? AT_CONTROL
					       : AT_TOKEN;
	for (unsigned c = 0; c < 128; c++) {
		t->kinds[c] = (uint8_t)charclass_of(t->chars, c);
		if (t->kinds[c] & CHARS_ALNUM)
			t->at[c] = AT_WORD;
		t->spellings[c].text[0] = (char)c;
		t->spellings[c].n = 1;
	}
	t->at['`'] = AT_BACKTICK;
	t->at['.'] = AT_STOP;
	t->at[','] = AT_COMMA;
	t->at['\''] = AT_APOSTROPHE;
	t->at['-'] = AT_HYPHEN;
	for (size_t i = 0; escape && i < ARRAY_LEN(entities); i++) {
		struct spelling *s = &t->spellings[(unsigned char)entities[i].c];

		s->n = (uint8_t)strlen(entities[i].entity);
		memcpy(s->text, entities[i].entity, s->n);
	}
}

struct tokenizer *tokenizer_new(const struct tokenizer_options *o, struct err *e)
{
	struct tokenizer *t = mem_alloc(1, sizeof(*t), e);

	if (!t)
		return NULL;
	t->apostrophes = apostrophes_of_language(o->language);
	t->aggressive = o->aggressive;
	t->abbreviations = abbrev_open(o->language, e);
	t->chars = t->abbreviations ? chars_new(e) : NULL;
	t->rules = t->chars ? token_rules_new(o, t->abbreviations, t->chars, e) : NULL;
	if (!t->rules) {
		tokenizer_free(t);
		return NULL;
	}
	fill_tables(t, o->escape);
	return t;
}

void tokenizer_free(struct tokenizer *t)
{
	if (!t)
		return;
	token_rules_free(t->rules);
	charclass_free(t->chars);
	abbrev_close(t->abbreviations);
	free(t);
}

/* ---- neighbours ---- */

/*
 * The kinds of a neighbour of a comma, apostrophe or hyphen. 0: neither a letter nor a digit;
 * when the rules for these marks run, blanks surround all other characters.
 */
static unsigned kinds_at(const struct walk *w, const char *p)
{
	unsigned char c = (unsigned char)*p;
	unsigned kinds =
		c < 128 ? w->t->kinds[c] : chars_first(w->t->chars, p, (size_t)(w->end - p));

	return kinds & CHARS_ALNUM ? kinds : 0;
}

static unsigned kinds_before(const struct walk *w, const char *p)
{
	do
		p--;
	while (((unsigned char)*p & 0xc0) == 0x80);
	return kinds_at(w, p);
}

/* The end of the character at p, or of the run of blanks there, which the rules see as one. */
static const char *next_rule_char(const struct walk *w, const char *p)
{
	uint32_t c;
	const char *q = p + utf8_decode(p, (size_t)(w->end - p), &c);

	while (chars_is_blank(c) && q < w->end) {
		size_t n = utf8_decode(q, (size_t)(w->end - q), &c);

		if (!chars_is_blank(c))
			break;
		q += n;
	}
	return q;
}

/*
 * Is another apostrophe so near that both share a neighbour? The rules consume that neighbour
 * with the first one only.
 */
static bool is_apostrophe_near(const struct walk *w, const char *p)
{
	const char *q = p + 1;

	if (*q == '\'')
		return true;
	q = next_rule_char(w, q);
	return q < w->end && *q == '\'';
}

/* ---- tokens ---- */

/* Begin a token whose first character has these kinds. They decide about a full stop before it. */
static inline void begin_token(struct walk *w, unsigned kinds)
{
	assert(!w->word);
	if (w->stop) {
		bool kept = w->stop == STOP_KEPT || kinds & CHARS_LOWER ||
			    (w->stop == STOP_COUNTED && kinds & CHARS_DIGIT);

		if (!kept)
			*w->to++ = ' ';
		*w->to++ = '.';
		w->stop = STOP_NONE;
	}
	if (w->to > w->first)
		*w->to++ = ' ';
}

static enum stop stop_after(const struct walk *w, const char *word, size_t n)
{
	enum abbrev_kind kind;

	if (memchr(word, '.', n))
		for (const char *p = word; p < word + n; p = next_rule_char(w, p))
			if (kinds_at(w, p) & CHARS_ALPHA)
				return STOP_KEPT;
	kind = abbrev_find(w->t->abbreviations, word, n);
	return kind == ABBREV_WORD	     ? STOP_KEPT
	       : kind == ABBREV_BEFORE_DIGIT ? STOP_COUNTED
					     : STOP_LOOSE;
}

/*
 * The current word ends before p. A full stop at its end is removed from the output until the
 * next token begins.
 */
static inline void end_word(struct walk *w, const char *p)
{
	if (w->word && p[-1] == '.' && p - w->word > 1) {
		w->to--;
		w->stop = stop_after(w, w->word, (size_t)(p - w->word) - 1);
	}
	w->word = NULL;
}

/* The character at p continues the current word, or begins one. */
static inline void continue_word(struct walk *w, const char *p, unsigned kinds)
{
	if (!w->word) {
		begin_token(w, kinds);
		w->word = p;
	}
}

static inline void write_escaped_char(struct walk *w, unsigned char c)
{
	const struct spelling *s = &w->t->spellings[c];

	memcpy(w->to, s, sizeof(*s));
	w->to += s->n;
}

static inline void write_token(struct walk *w, const char *p)
{
	end_word(w, p);
	begin_token(w, 0);
	write_escaped_char(w, (unsigned char)*p);
}

/* ---- characters that depend on their neighbours; each function returns where to continue ---- */

/* One dot belongs to its word; several dots are a token. */
static const char *walk_dots(struct walk *w, const char *p)
{
	const char *q = p + 1;

	while (q < w->end && *q == '.')
		q++;
	if (q - p == 1) {
		continue_word(w, p, 0);
		*w->to++ = '.';
		return q;
	}
	end_word(w, p);
	begin_token(w, 0);
	memset(w->to, '.', (size_t)(q - p));
	w->to += q - p;
	return q;
}

/*
 * A comma is a token, except before a digit. In a run of commas the rules match the first one
 * together with the character before it (no digit), then two at a time. A comma that is left over
 * is treated like a single comma after a digit.
 */
static const char *walk_commas(struct walk *w, const char *p)
{
	const char *q = p;
	size_t taken, run;
	bool alone; /* the last comma is left over */

	while (q < w->end && *q == ',')
		q++;
	run = (size_t)(q - p);
	taken = p > w->start && !(kinds_before(w, p) & CHARS_NUMBER) ? 1 : 0;
	alone = (run - taken) % 2;
	for (size_t i = 0; i < run - alone; i++)
		write_token(w, p + i);
	if (!alone)
		return q;
	if (q == w->end ? run == 1 && p == w->start : kinds_at(w, q) & CHARS_NUMBER) {
		continue_word(w, q - 1, 0);
		*w->to++ = ',';
	} else {
		write_token(w, q - 1);
	}
	return q;
}

/* At the end of an English line the apostrophe belongs to its word, except after a full stop. */
static const char *walk_last_apostrophe(struct walk *w, const char *p)
{
	bool after_stop = w->word && p[-1] == '.';

	continue_word(w, p, 0);
	if (after_stop) {
		memcpy(w->to - 1, " . ", 3);
		w->to += 2;
	}
	write_escaped_char(w, '\'');
	if (after_stop)
		*w->to++ = ' ';
	return p + 1;
}

static const char *walk_english_apostrophe(struct walk *w, const char *p)
{
	unsigned before, after;
	const char *q = p + 1;

	if (q == w->end)
		return walk_last_apostrophe(w, p);
	if (is_apostrophe_near(w, p))
		return NULL;
	after = kinds_at(w, q);
	before = p > w->start ? kinds_before(w, p) : 0;
	if (p > w->start && (!(after & CHARS_ALPHA) || !(before & (CHARS_ALPHA | CHARS_NUMBER)))) {
		write_token(w, p);
		return q;
	}
	/* it's, 1990's: a new word begins here; 5'x and the start of the line: no new word */
	if (before & CHARS_ALPHA || (before & CHARS_NUMBER && *q == 's'))
		end_word(w, p);
	continue_word(w, p, 0);
	write_escaped_char(w, '\'');
	return q;
}

static void write_apostrophe(struct walk *w, const char *p, size_t n)
{
	if (n == 1) {
		write_escaped_char(w, '\'');
		return;
	}
	memcpy(w->to, p, n);
	w->to += n;
}

/* An apostrophe of n bytes; only one between letters belongs to its word. */
static const char *walk_letter_apostrophe(struct walk *w, const char *p, size_t n)
{
	const char *q = p + n;
	const bool belongs = p > w->start && q < w->end && kinds_before(w, p) & CHARS_ALPHA &&
			     kinds_at(w, q) & CHARS_ALPHA;

	if (belongs) {
		continue_word(w, p, 0);
	} else {
		end_word(w, p);
		begin_token(w, 0);
	}
	write_apostrophe(w, p, n);
	if (belongs && w->t->apostrophes == APOSTROPHES_ELIDED)
		end_word(w, q);
	return q;
}

static const char *walk_apostrophe(struct walk *w, const char *p)
{
	if (w->t->apostrophes == APOSTROPHES_ENGLISH)
		return walk_english_apostrophe(w, p);
	if (w->t->apostrophes != APOSTROPHES_APART)
		return walk_letter_apostrophe(w, p, 1);
	write_token(w, p);
	return p + 1;
}

static const char *walk_hyphen(struct walk *w, const char *p)
{
	if (w->t->aggressive && p > w->start && p + 1 < w->end && kinds_before(w, p) &&
	    kinds_at(w, p + 1)) {
		end_word(w, p);
		begin_token(w, 0);
		memcpy(w->to, "@-@", 3);
		w->to += 3;
		return p + 1;
	}
	continue_word(w, p, 0);
	*w->to++ = '-';
	return p + 1;
}

static const char *walk_high(struct walk *w, const char *p)
{
	uint32_t c;
	size_t n = utf8_decode(p, (size_t)(w->end - p), &c);
	unsigned kinds = charclass_of(w->t->chars, c);

	if (c == 0x2019 &&
	    (w->t->apostrophes == APOSTROPHES_ELIDED || w->t->apostrophes == APOSTROPHES_INSIDE))
		return walk_letter_apostrophe(w, p, n);
	if (kinds & CHARS_ALNUM) {
		continue_word(w, p, kinds);
	} else {
		end_word(w, p);
		if (chars_is_blank(c))
			return p + n;
		begin_token(w, 0);
	}
	memcpy(w->to, p, n);
	w->to += n;
	return p + n;
}

/* ---- the line ---- */

/*
 * The number of ASCII letters and digits at the start of the 8 bytes at p. All bytes are tested
 * at once: a loop that ends at the word's end costs a branch misprediction for each word. For a
 * byte x below 0x80 the top bit of x + 0x80 - c is set if x is at least c.
 */
static inline unsigned letters_of_8(const char *p)
{
#if __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
	const uint64_t ones = 0x0101010101010101u, tops = 0x80 * ones;
	uint64_t x, low, letter, digit, other;

	memcpy(&x, p, sizeof(x));
	low = x & ~tops;
	digit = (low + (0x80 - '0') * ones) & ~(low + (0x80 - '9' - 1) * ones);
	low |= 0x20 * ones;
	letter = (low + (0x80 - 'a') * ones) & ~(low + (0x80 - 'z' - 1) * ones);
	other = ~((letter | digit) & ~x) & tops;
	return other ? (unsigned)__builtin_ctzll(other) / 8 : 8;
#else
	unsigned n = 0;

	while (n < 8 &&
	       (((p[n] | 0x20) >= 'a' && (p[n] | 0x20) <= 'z') || (p[n] >= '0' && p[n] <= '9')))
		n++;
	return n;
#endif
}

/*
 * A run of letters and digits. A local pointer is used since writes through w->to may alias w
 * itself.
 */
static inline const char *walk_letters(struct walk *w, const char *p)
{
	const uint8_t *at = w->t->at;
	const char *end = w->end;
	char *to;

	continue_word(w, p, w->t->kinds[(unsigned char)*p]);
	to = w->to;
	while (end - p >= 8) {
		unsigned n = letters_of_8(p);

		memcpy(to, p, 8);
		to += n;
		p += n;
		if (n < 8)
			goto out;
	}
	while (p < end && at[(unsigned char)*p] == AT_WORD)
		*to++ = *p++;
out:
	w->to = to;
	return p;
}

/* A character that always belongs to its word. */
static inline const char *walk_in_word(struct walk *w, const char *p)
{
	continue_word(w, p, 0);
	*w->to++ = *p;
	return p + 1;
}

/* false: the line needs tokenize_rules.c. */
static bool walk_ascii_line(struct walk *w)
{
	const uint8_t *at = w->t->at;
	const char *p = w->start;

	while (p && p < w->end) {
		switch ((enum at_byte)at[(unsigned char)*p]) {
		case AT_WORD:
			p = walk_letters(w, p);
			break;
		case AT_BACKTICK:
			p = walk_in_word(w, p);
			break;
		case AT_BLANK:
			end_word(w, p++);
			break;
		case AT_TOKEN:
			write_token(w, p++);
			break;
		case AT_STOP:
			p = walk_dots(w, p);
			break;
		case AT_COMMA:
			p = walk_commas(w, p);
			break;
		case AT_APOSTROPHE:
			p = walk_apostrophe(w, p);
			break;
		case AT_HYPHEN:
			p = walk_hyphen(w, p);
			break;
		case AT_HIGH:
			p = walk_high(w, p);
			break;
		case AT_CONTROL:
			return false;
		}
	}
	if (!p)
		return false;
	end_word(w, p);
	if (w->stop) {
		memcpy(w->to, " .", 2);
		w->to += 2;
	}
	return true;
}

/* Strip blanks from both ends. */
static void trim_walk_blanks(struct walk *w)
{
	while (w->start < w->end) {
		uint32_t c;
		size_t n = utf8_decode(w->start, (size_t)(w->end - w->start), &c);

		if (!chars_is_blank(c))
			break;
		w->start += n;
	}
	while (w->end > w->start) {
		const char *last = w->end - 1;
		uint32_t c;

		while (((unsigned char)*last & 0xc0) == 0x80)
			last--;
		utf8_decode(last, (size_t)(w->end - last), &c);
		if (!chars_is_blank(c))
			break;
		w->end = last;
	}
}

/* Two or three small letters, perhaps with a region or a script: de, de-AT, zh_Hans. */
static bool is_language_code(const char *language)
{
	const size_t n = strspn(language, "abcdefghijklmnopqrstuvwxyz");

	return (n == 2 || n == 3) && (!language[n] || strchr("-_", language[n]));
}

void tokenizer_note_language(const char *language, struct buf *note)
{
	buf_clear(note);
	if (!strcmp(language, "en") || !strcmp(language, "de"))
		return;
	if (apostrophes_of_language(language) != APOSTROPHES_APART)
		buf_printf(note, "no abbreviations for the language \"%s\": using the English ones",
			   language);
	else
		buf_printf(note,
			   "no tokenizer rules for the language \"%s\"%s: using the general rules",
			   language,
			   is_language_code(language) ? "" : " (a code like en was expected)");
}

int tokenizer_line(struct tokenizer *t, const char *line, size_t n, struct buf *out, struct err *e)
{
	struct walk w = { .t = t, .start = line, .end = line + n };
	size_t room;

	trim_walk_blanks(&w);
	if (w.start == w.end) {
		buf_add(out, line, n); /* a blank line is copied */
		return buf_check(out, e);
	}
	if (memmem(line, n, "DOTMULTI", 8) ||
	    !mem_mul((size_t)(w.end - w.start), MOST_PER_BYTE, &room) || room > SIZE_MAX - SLACK)
		return token_rules_line(t->rules, line, n, out, e);
	w.first = w.to = buf_reserve(out, room + SLACK);
	if (!w.first)
		return buf_check(out, e);
	if (!walk_ascii_line(&w))
		return token_rules_line(t->rules, line, n, out, e);
	assert((size_t)(w.to - w.first) <= room);
	*w.to = 0;
	out->len += (size_t)(w.to - w.first);
	return 0;
}
