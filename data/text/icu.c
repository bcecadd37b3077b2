/* icu.c - see icu.h */
#include "data/text/icu.h"

#include <stdlib.h>
#include <string.h>
#include <unicode/ubrk.h>
#include <unicode/uchar.h>
#include <unicode/ucnv.h>
#include <unicode/unorm2.h>
#include <unicode/uscript.h>
#include <unicode/ustring.h>
#include <unicode/utext.h>
#include <unicode/utf8.h>

#include "share/base/mem.h"
#include "share/base/text.h"
#include "share/base/util.h"

/* ---- scripts ---- */

enum script icu_letter_script(uint32_t c)
{
	static const struct {
		UScriptCode icu;
		enum script script;
	} scripts[] = {
#define X(name) { USCRIPT_##name, SCRIPT_##name },
		NAMED_SCRIPTS(X)
#undef X
	};
	UErrorCode status = U_ZERO_ERROR;
	UScriptCode script;

	if (!(U_GET_GC_MASK((UChar32)c) & U_GC_L_MASK))
		return SCRIPT_NONE;
	script = uscript_getScript((UChar32)c, &status);
	for (size_t i = 0; i < ARRAY_LEN(scripts); i++)
		if (U_SUCCESS(status) && scripts[i].icu == script)
			return scripts[i].script;
	return SCRIPT_OTHER;
}

int icu_piece_script(uint32_t c)
{
	UErrorCode status = U_ZERO_ERROR;
	UScriptCode script = uscript_getScript((UChar32)c, &status);

	if (U_FAILURE(status) || script == USCRIPT_UNKNOWN)
		return USCRIPT_COMMON;
	/* U+30FC, the long vowel mark of Katakana, is Common in ICU */
	if (script == USCRIPT_HIRAGANA || script == USCRIPT_KATAKANA || c == 0x30FC)
		return USCRIPT_HAN;
	return script == USCRIPT_INHERITED ? -1 : (int)script;
}

/* ---- characters and sentences ---- */

bool icu_is_letter(uint32_t c)
{
	return u_isalpha((UChar32)c);
}

bool icu_is_upper(uint32_t c)
{
	return u_isupper((UChar32)c);
}

bool icu_is_lower(uint32_t c)
{
	return u_islower((UChar32)c);
}

uint32_t icu_to_lower(uint32_t c)
{
	return (uint32_t)u_tolower((UChar32)c);
}

bool icu_is_digit(uint32_t c)
{
	return u_isdigit((UChar32)c);
}

bool icu_is_white_space(uint32_t c)
{
	return u_isUWhiteSpace((UChar32)c);
}

bool icu_is_punctuation(uint32_t c)
{
	return u_ispunct((UChar32)c);
}

bool icu_is_closing_mark(uint32_t c)
{
	return c == '"' || c == '\'' ||
	       (U_GET_GC_MASK((UChar32)c) & (U_GC_PE_MASK | U_GC_PF_MASK | U_GC_PI_MASK));
}

struct icu_breaks {
	UBreakIterator *iterator;
	UText text; /* open while a text is read */
};

static int icu_failed(UErrorCode status, struct err *e)
{
	return err_set(e, status == U_MEMORY_ALLOCATION_ERROR ? ERR_NOMEM : ERR_UNAVAILABLE,
		       "ICU cannot find sentences: %s", u_errorName(status));
}

struct icu_breaks *icu_breaks_new(const char *language, struct err *e)
{
	struct icu_breaks *b = mem_alloc(1, sizeof(*b), e);
	UErrorCode status = U_ZERO_ERROR;

	if (!b)
		return NULL;
	b->text = (UText)UTEXT_INITIALIZER;
	b->iterator = ubrk_open(UBRK_SENTENCE, language, NULL, 0, &status);
	if (U_SUCCESS(status))
		return b;
	icu_failed(status, e);
	icu_breaks_free(b);
	return NULL;
}

void icu_breaks_free(struct icu_breaks *b)
{
	if (!b)
		return;
	ubrk_close(b->iterator);
	utext_close(&b->text);
	free(b);
}

int icu_breaks_find(struct icu_breaks *b, const char *text, size_t n, size_t **ends, size_t *n_ends,
		    size_t *cap, struct err *e)
{
	UErrorCode status = U_ZERO_ERROR;
	int32_t at;

	*n_ends = 0;
	if (n > INT32_MAX)
		return err_set(e, ERR_DATA, "a text of %zu bytes is too long for ICU", n);
	utext_openUTF8(&b->text, text, (int64_t)n, &status);
	ubrk_setUText(b->iterator, &b->text, &status);
	if (U_FAILURE(status))
		return icu_failed(status, e);
	ubrk_first(b->iterator);
	while ((at = ubrk_next(b->iterator)) != UBRK_DONE) {
		if (mem_grow(ends, cap, *n_ends + 1, sizeof(**ends), e))
			return e->code;
		(*ends)[(*n_ends)++] = (size_t)at;
	}
	return 0;
}

/* ---- normal forms ---- */

struct icu_normalizer {
	const UNormalizer2 *nfkc, *nfkd; /* borrowed from ICU */
	UChar *text, *result;		 /* owned: UTF-16, in and out */
	size_t cap_text, cap_result;
};

struct icu_normalizer *icu_normalizer_new(struct err *e)
{
	struct icu_normalizer *u = mem_alloc(1, sizeof(*u), e);
	UErrorCode status = U_ZERO_ERROR;

	if (!u)
		return NULL;
	u->nfkc = unorm2_getNFKCInstance(&status);
	u->nfkd = unorm2_getNFKDInstance(&status);
	if (U_FAILURE(status)) {
		err_set(e, ERR_INTERNAL, "ICU cannot load its tables for NFKC and NFKD: %s",
			u_errorName(status));
		icu_normalizer_free(u);
		return NULL;
	}
	return u;
}

void icu_normalizer_free(struct icu_normalizer *u)
{
	if (!u)
		return;
	free(u->text);
	free(u->result);
	free(u);
}

static void add_utf8(struct buf *to, const UChar *text, int32_t n)
{
	for (int32_t i = 0; i < n;) {
		UChar32 c;
		char bytes[4];

		U16_NEXT(text, i, n, c);
		buf_add(to, bytes, utf8_encode((uint32_t)c, bytes));
	}
}

bool icu_decompose(struct icu_normalizer *u, uint32_t c, struct buf *to)
{
	UChar text[64]; /* the longest decomposition has 18 */
	UErrorCode status = U_ZERO_ERROR;
	int32_t n = unorm2_getDecomposition(u->nfkd, (UChar32)c, text, 64, &status);

	buf_clear(to);
	if (n < 0 || U_FAILURE(status))
		return false;
	add_utf8(to, text, n);
	return true;
}

int icu_compose(struct icu_normalizer *u, const char *text, size_t n, struct buf *to, struct err *e)
{
	UErrorCode status = U_ZERO_ERROR;
	int32_t len = 0;
	size_t room = 18 * n + 1; /* the longest NFKC of a UTF-16 unit has 18 */

	buf_clear(to);
	if (n > INT32_MAX / 64)
		return err_set(e, ERR_DATA, "a text of %zu bytes is too long to compose", n);
	if (mem_grow(&u->text, &u->cap_text, n + 1, sizeof(*u->text), e) ||
	    mem_grow(&u->result, &u->cap_result, room, sizeof(*u->result), e))
		return e->code;
	u_strFromUTF8(u->text, (int32_t)(n + 1), &len, text, (int32_t)n, &status);
	len = unorm2_normalize(u->nfkc, u->text, len, u->result, (int32_t)room, &status);
	if (U_FAILURE(status))
		return err_set(e, ERR_DATA, "ICU cannot compose a text: %s", u_errorName(status));
	add_utf8(to, u->result, len);
	return buf_check(to, e);
}

/* ---- encodings ---- */

const char *icu_encoding_name(size_t i)
{
	UErrorCode status = U_ZERO_ERROR;

	for (int32_t k = 0; k < ucnv_countAvailable(); k++) {
		const char *name = ucnv_getAvailableName(k);
		const uint16_t aliases = ucnv_countAliases(name, &status);

		if (i < aliases)
			return ucnv_getAlias(name, (uint16_t)i, &status);
		i -= aliases;
	}
	return NULL;
}

/* ICU takes options after a comma, and names of files: only names of its own table pass. */
bool icu_encoding_exists(const char *name)
{
	UErrorCode status = U_ZERO_ERROR;

	return *name && !strpbrk(name, ",/") && strlen(name) < UCNV_MAX_CONVERTER_NAME_LENGTH &&
	       ucnv_countAliases(name, &status) > 0 && U_SUCCESS(status);
}

bool icu_is_same_encoding(const char *a, const char *b)
{
	UErrorCode status = U_ZERO_ERROR;
	const char *first_a = ucnv_getAlias(a, 0, &status), *first_b = ucnv_getAlias(b, 0, &status);

	return U_SUCCESS(status) && first_a && first_b && !strcmp(first_a, first_b);
}

#define CONVERTED_UNITS 4096

struct icu_converter {
	UConverter *converter;
	UChar text[CONVERTED_UNITS]; /* UTF-16 between the encoding and UTF-8 */
	int32_t n; /* the first half of a pair of surrogates waits for the second */
};

struct icu_converter *icu_converter_new(const char *encoding, struct err *e)
{
	struct icu_converter *u = mem_alloc(1, sizeof(*u), e);
	UErrorCode status = U_ZERO_ERROR;

	if (!u)
		return NULL;
	u->converter = ucnv_open(encoding, &status);
	if (U_SUCCESS(status))
		ucnv_setToUCallBack(u->converter, UCNV_TO_U_CALLBACK_STOP, NULL, NULL, NULL,
				    &status);
	if (U_SUCCESS(status))
		return u;
	err_set(e, ERR_UNAVAILABLE, "ICU cannot convert %s: %s", encoding, u_errorName(status));
	icu_converter_free(u);
	return NULL;
}

void icu_converter_free(struct icu_converter *u)
{
	if (!u)
		return;
	ucnv_close(u->converter);
	free(u);
}

/* Append the units as UTF-8. A first surrogate at the end stays. */
static void flush_units(struct icu_converter *u, struct buf *to)
{
	const int32_t keep = u->n && U16_IS_LEAD(u->text[u->n - 1]);

	add_utf8(to, u->text, u->n - keep);
	if (keep)
		u->text[0] = u->text[u->n - 1];
	u->n = keep;
}

int icu_convert(struct icu_converter *u, const char **from, size_t *n, bool is_last, struct buf *to,
		struct err *e)
{
	const char *end = *from + *n;
	UErrorCode status;

	do {
		UChar *at = u->text + u->n;

		status = U_ZERO_ERROR;
		ucnv_toUnicode(u->converter, &at, u->text + CONVERTED_UNITS, from, end, NULL,
			       is_last, &status);
		u->n = (int32_t)(at - u->text);
		flush_units(u, to);
	} while (status == U_BUFFER_OVERFLOW_ERROR && !buf_check(to, e));
	*n = (size_t)(end - *from);
	if (buf_check(to, e))
		return e->code;
	if (status == U_INVALID_CHAR_FOUND || status == U_ILLEGAL_CHAR_FOUND ||
	    status == U_TRUNCATED_CHAR_FOUND || status == U_ILLEGAL_ESCAPE_SEQUENCE ||
	    status == U_UNSUPPORTED_ESCAPE_SEQUENCE)
		return 1;
	if (U_FAILURE(status))
		return err_set(e, ERR_DATA, "ICU cannot convert a text: %s", u_errorName(status));
	return 0;
}

size_t icu_invalid_bytes(const struct icu_converter *u, unsigned char bytes[8])
{
	UErrorCode status = U_ZERO_ERROR;
	char found[8];
	int8_t n = sizeof(found);

	ucnv_getInvalidChars(u->converter, found, &n, &status);
	if (U_FAILURE(status))
		return 0;
	memcpy(bytes, found, (size_t)n);
	return (size_t)n;
}
