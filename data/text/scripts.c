/* scripts.c - see scripts.h */
#include "data/text/scripts.h"

#include <assert.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "data/text/chars.h"
#include "data/text/icu.h"
#include "share/base/mem.h"
#include "share/base/text.h"
#include "share/base/util.h"

#define BIT(name) ((uint32_t)1 << SCRIPT_##name)

/* Languages (ISO 639) and the scripts in which they are written. */
static const struct {
	const char *languages;
	uint32_t scripts;
} writing[] = {
	{ "el grc", BIT(GREEK) },
	{ "ab ba be bg ce cv kk kv ky mk mn myv os ru rue sah tg tt tyv udm uk", BIT(CYRILLIC) },
	{ "az bs hr sh sr tk uz", BIT(CYRILLIC) | BIT(LATIN) },
	{ "hy", BIT(ARMENIAN) },
	{ "he yi", BIT(HEBREW) },
	{ "ar arz ckb fa ps sd ug ur", BIT(ARABIC) },
	{ "ks ku pa", BIT(ARABIC) | BIT(DEVANAGARI) | BIT(GURMUKHI) | BIT(LATIN) },
	{ "bho hi mai mr ne sa", BIT(DEVANAGARI) },
	{ "as bn", BIT(BENGALI) },
	{ "gu", BIT(GUJARATI) },
	{ "ta", BIT(TAMIL) },
	{ "te", BIT(TELUGU) },
	{ "kn", BIT(KANNADA) },
	{ "ml", BIT(MALAYALAM) },
	{ "si", BIT(SINHALA) },
	{ "th", BIT(THAI) },
	{ "lo", BIT(LAO) },
	{ "bo dz", BIT(TIBETAN) },
	{ "my", BIT(MYANMAR) },
	{ "ka", BIT(GEORGIAN) },
	{ "am ti", BIT(ETHIOPIC) },
	{ "km", BIT(KHMER) },
	{ "ko", BIT(HANGUL) | BIT(HAN) },
	{ "zh yue wuu lzh", BIT(HAN) },
	{ "ja", BIT(HAN) | BIT(HIRAGANA) | BIT(KATAKANA) },
	{ "af br ca cs cy da de dsb en eo es et eu fi fil fo fr fy ga gd gl ha haw hsb ht hu id ig "
	  "is it jv la lb lt lv mg mi ms mt nb nds nl nn no oc pl pt rm ro rw sk sl sm sn so sq st "
	  "su sv sw tl tr vi wa xh yo zu",
	  BIT(LATIN) },
};

static bool is_among(const char *list, const char *language)
{
	const char *end = list + strlen(list), *word;
	size_t n;

	while ((word = chars_next_word(&list, end, &n)) != NULL)
		if (n == strlen(language) && !memcmp(word, language, n))
			return true;
	return false;
}

uint32_t scripts_of_language(const char *language)
{
	for (size_t i = 0; i < ARRAY_LEN(writing); i++)
		if (is_among(writing[i].languages, language))
			return writing[i].scripts | BIT(COMMON);
	return UINT32_MAX;
}

/* A table of the characters below 2^16; letters beyond are rare: ICU is asked for each. */
struct scripts {
	uint8_t low[1 << 16];
};

struct scripts *scripts_new(struct err *e)
{
	struct scripts *s = mem_alloc(1, sizeof(*s), e);

	static_assert(N_SCRIPTS <= 32, "scripts are bits of a uint32_t");
	for (uint32_t c = 0; s && c < sizeof(s->low); c++)
		s->low[c] = (uint8_t)icu_letter_script(c);
	return s;
}

void scripts_free(struct scripts *s)
{
	free(s);
}

enum script scripts_of(const struct scripts *s, uint32_t codepoint)
{
	return codepoint < sizeof(s->low) ? (enum script)s->low[codepoint]
					  : icu_letter_script(codepoint);
}

/* The next byte above 127, or end. */
static const char *next_high(const char *p, const char *end)
{
	uint64_t w;

	for (; end - p >= 8; p += 8) {
		memcpy(&w, p, 8);
		if (w & 0x8080808080808080u)
			break;
	}
	while (p < end && !(*p & 0x80))
		p++;
	return p;
}

typedef unsigned char bytes16 __attribute__((vector_size(16)));

static size_t sum_bytes16(bytes16 v)
{
	size_t sum = 0;

	for (int i = 0; i < 16; i++)
		sum += v[i];
	return sum;
}

/* Counts ASCII letters, and continuation bytes of UTF-8. */
static void count_bytes(const char *text, size_t n, size_t *letters, size_t *inner)
{
	size_t i = 0;

	*letters = *inner = 0;
	while (n - i >= 16) {
		bytes16 v, is_letter = { 0 }, is_inner = { 0 };

		/* lanes of 8 bits hold counts up to 255 */
		for (size_t stop = i + MIN((n - i) / 16, 255) * 16; i < stop; i += 16) {
			memcpy(&v, text + i, 16);
			is_letter -= (bytes16)((bytes16)((v | 0x20) - 'a') < 26);
			is_inner -= (bytes16)((v & 0xc0) == 0x80);
		}
		*letters += sum_bytes16(is_letter);
		*inner += sum_bytes16(is_inner);
	}
	for (; i < n; i++) {
		*letters += (unsigned char)((text[i] | 0x20) - 'a') < 26;
		*inner += (text[i] & 0xc0) == 0x80;
	}
}

void scripts_count(const struct scripts *s, uint32_t scripts, const char *text, size_t n,
		   struct scripts_count *count)
{
	const char *end = text + n;
	size_t ascii, inner;

	count_bytes(text, n, &ascii, &inner);
	*count = (struct scripts_count){ .characters = n - inner,
					 .letters = ascii,
					 .foreign = scripts & BIT(LATIN) ? 0 : ascii };
	for (const char *p = next_high(text, end); p < end; p = next_high(p, end)) {
		enum script script;
		uint32_t c;

		p += utf8_decode(p, (size_t)(end - p), &c);
		script = scripts_of(s, c);
		count->letters += script != SCRIPT_NONE;
		count->foreign += script != SCRIPT_NONE && !(scripts >> script & 1);
	}
}
