/* abbrev.c - reads lists of abbreviations into a hash table of fixed size: see abbrev.h */
#include "data/text/abbrev.h"

#include <assert.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "data/text/lang_files.h"
#include "share/base/buf.h"
#include "share/base/hash.h"
#include "share/base/hash_index.h"
#include "share/base/mem.h"
#include "share/base/text.h"
#include "share/base/util.h"

#define SLOTS	   2048u       /* of the hash table: a power of 2 */
#define MOST	   (SLOTS / 2) /* words of one language */
#define MOST_BYTES 16u	       /* of one word */

struct slot {
	char word[MOST_BYTES];
	uint8_t n; /* bytes; 0: empty slot */
	uint8_t kind;
};

struct abbrev {
	size_t n_words;
	struct slot slots[SLOTS];
};

struct abbrev_key {
	const char *word;
	size_t n;
};

static bool abbrev_slot_ends(const void *slots, size_t at, const void *key)
{
	const struct slot *s = (const struct slot *)slots + at;
	const struct abbrev_key *k = key;

	return !s->n || (s->n == k->n && !memcmp(s->word, k->word, k->n));
}

/* The slot of the word, or the free slot where the word belongs. */
static size_t abbrev_find_slot(const struct abbrev *a, const char *word, size_t n)
{
	struct abbrev_key key = { word, n };

	return hash_probe(SLOTS, hash_bytes(word, n), abbrev_slot_ends, a->slots, &key);
}

enum abbrev_kind abbrev_find(const struct abbrev *a, const char *word, size_t n)
{
	if (n == 0 || n > MOST_BYTES)
		return ABBREV_NONE;
	return (enum abbrev_kind)a->slots[abbrev_find_slot(a, word, n)].kind;
}

static int abbrev_add_word(struct abbrev *a, const char *word, size_t n, enum abbrev_kind kind,
			   struct err *e)
{
	struct slot *s;

	if (n == 0 || n > MOST_BYTES || a->n_words == MOST)
		return err_set(e, ERR_INTERNAL,
			       "cannot add the abbreviation \"%.*s\": expected 1 to %u bytes "
			       "and at most %u abbreviations",
			       (int)n, word, MOST_BYTES, MOST);
	assert(n && n <= MOST_BYTES && a->n_words < MOST);
	s = &a->slots[abbrev_find_slot(a, word, n)];
	if (!s->n)
		a->n_words++;
	memcpy(s->word, word, n);
	s->n = (uint8_t)n;
	s->kind = (uint8_t)kind;
	return 0;
}

/* Add the Roman numeral of value (1 to 39), in capital and in small letters. */
static int add_roman(struct abbrev *a, int64_t value, struct err *e)
{
	static const char *const ones[] = { "",	 "I",  "II",  "III",  "IV",
					    "V", "VI", "VII", "VIII", "IX" };
	struct buf b = { 0 };
	int rc;

	for (int64_t tens = value / 10; tens > 0; tens--)
		buf_add_char(&b, 'X');
	buf_add_str(&b, ones[value % 10]);
	rc = buf_check(&b, e);
	if (!rc)
		rc = abbrev_add_word(a, b.data, b.len, ABBREV_WORD, e);
	for (size_t i = 0; !rc && i < b.len; i++)
		b.data[i] = (char)(b.data[i] | 0x20);
	if (!rc)
		rc = abbrev_add_word(a, b.data, b.len, ABBREV_WORD, e);
	buf_free(&b);
	return rc;
}

/* "letters A Z", "numbers 1 99", "roman 1 20": first and last are the two words after the kind. */
static int add_range(struct abbrev *a, const char *kind, const char *first, const char *last,
		     struct err *e)
{
	int64_t from, to;
	bool letters = !strcmp(kind, "letters"), roman = !strcmp(kind, "roman");
	int rc = 0;

	if (letters) {
		from = (unsigned char)first[0];
		to = (unsigned char)last[0];
	} else if (!text_to_int(first, &from) || !text_to_int(last, &to) || from < 1 ||
		   (roman && to > 39)) {
		return err_set(e, ERR_INTERNAL,
			       "list of abbreviations: \"%s %s %s\" is not a valid range", kind,
			       first, last);
	}
	for (int64_t i = from; !rc && i <= to; i++) {
		struct buf b = { 0 };

		if (roman) {
			rc = add_roman(a, i, e);
			continue;
		}
		if (letters)
			buf_add_char(&b, (char)i);
		else
			buf_printf(&b, "%d", (int)i);
		rc = buf_check(&b, e);
		if (!rc)
			rc = abbrev_add_word(a, b.data, b.len, ABBREV_WORD, e);
		buf_free(&b);
	}
	return rc;
}

static int abbrev_read_line(struct abbrev *a, char *line, struct err *e)
{
	char *rest = NULL, *word, *last;
	char *kind = strtok_r(line, " ", &rest);
	enum abbrev_kind k = ABBREV_WORD;

	if (!kind || kind[0] == '#')
		return 0;
	if (!strcmp(kind, "letters") || !strcmp(kind, "numbers") || !strcmp(kind, "roman")) {
		word = strtok_r(NULL, " ", &rest);
		last = strtok_r(NULL, " ", &rest);
		return add_range(a, kind, word ? word : "", last ? last : "", e);
	}
	if (!strcmp(kind, "counted"))
		k = ABBREV_BEFORE_DIGIT;
	else if (strcmp(kind, "words"))
		return err_set(e, ERR_INTERNAL,
			       "list of abbreviations: unknown kind \"%s\", expected letters, "
			       "numbers, roman, words or counted",
			       kind);
	while ((word = strtok_r(NULL, " ", &rest)))
		if (abbrev_add_word(a, word, strlen(word), k, e))
			return e->code;
	return 0;
}

static const char *abbrev_open_list(const char *language)
{
	const char *english = "";

	for (size_t i = 0; i < ARRAY_LEN(lang_files); i++) {
		if (!strcmp(lang_files[i].name, language))
			return lang_files[i].text;
		if (!strcmp(lang_files[i].name, "en"))
			english = lang_files[i].text;
	}
	return english;
}

struct abbrev *abbrev_open(const char *language, struct err *e)
{
	struct abbrev *a = mem_alloc(1, sizeof(*a), e);
	char *text = mem_strdup(abbrev_open_list(language), e);
	char *line, *rest = NULL;
	int rc = a && text ? 0 : e->code;

	for (line = text ? strtok_r(text, "\n", &rest) : NULL; !rc && line;
	     line = strtok_r(NULL, "\n", &rest))
		rc = abbrev_read_line(a, line, e);
	free(text);
	if (!rc)
		return a;
	abbrev_close(a);
	return NULL;
}

void abbrev_close(struct abbrev *a)
{
	free(a);
}
