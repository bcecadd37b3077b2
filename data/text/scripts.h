/*
 * scripts.h - counts the letters of a text, and those of foreign scripts: of a script in which its
 * language is not written.
 *
 *	struct scripts *s = scripts_new(e);		threads may share it
 *	scripts_count(s, scripts_of_language("de"), text, n, &count);
 *	scripts_free(s);
 */
#ifndef WERKBANK_DATA_TEXT_SCRIPTS_H
#define WERKBANK_DATA_TEXT_SCRIPTS_H

#include <stddef.h>
#include <stdint.h>

#include "share/base/err.h"

/* Scripts that are counted apart, by their names in ICU. COMMON: letters of several scripts. */
/* clang-format off */
#define NAMED_SCRIPTS(X) \
	X(COMMON) X(LATIN) X(GREEK) X(CYRILLIC) X(ARMENIAN) X(HEBREW) X(ARABIC) X(DEVANAGARI) \
	X(BENGALI) X(GURMUKHI) X(GUJARATI) X(TAMIL) X(TELUGU) X(KANNADA) X(MALAYALAM) X(SINHALA) \
	X(THAI) X(LAO) X(TIBETAN) X(MYANMAR) X(GEORGIAN) X(ETHIOPIC) X(KHMER) X(MONGOLIAN) \
	X(HANGUL) X(HAN) X(HIRAGANA) X(KATAKANA)
/* clang-format on */

enum script {
	SCRIPT_NONE, /* no letter */
#define X(name) SCRIPT_##name,
	NAMED_SCRIPTS(X)
#undef X
		SCRIPT_OTHER, /* a letter of any other script */
	N_SCRIPTS
};

/*
 * The scripts in which a language (ISO 639) is written, as bits (uint32_t)1 << SCRIPT_…; an unknown
 * language: all bits.
 */
uint32_t scripts_of_language(const char *language);

struct scripts; /* a table of all characters; threads may share it */

struct scripts *scripts_new(struct err *e); /* NULL: out of memory */
void scripts_free(struct scripts *s);

/* The script of a letter; SCRIPT_NONE: the character is not a letter. */
enum script scripts_of(const struct scripts *s, uint32_t codepoint);

struct scripts_count {
	size_t characters, letters;
	size_t foreign; /* letters of other scripts than those asked for */
};

/* Count the letters of a text in well-formed UTF-8. scripts: bits as above. */
void scripts_count(const struct scripts *s, uint32_t scripts, const char *text, size_t n,
		   struct scripts_count *count);

#endif
