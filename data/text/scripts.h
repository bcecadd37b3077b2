/*
 * scripts.h - how many letters a text has, and how many of them are of another script than its
 * language is written in.
 *
 *	struct scripts *s = scripts_new(e);		one for all threads
 *	scripts_count(s, scripts_of_language("de"), text, n, &count);
 *	scripts_free(s);
 */
#ifndef WERKBANK_DATA_TEXT_SCRIPTS_H
#define WERKBANK_DATA_TEXT_SCRIPTS_H

#include <stddef.h>
#include <stdint.h>

#include "share/base/err.h"

#define SCRIPTS(X)                                                                                 \
	X(COMMON)                                                                                  \
	X(LATIN)                                                                                   \
	X(GREEK) X(CYRILLIC) X(ARMENIAN) X(HEBREW) X(ARABIC) X(DEVANAGARI) X(BENGALI) X(GURMUKHI)  \
		X(GUJARATI) X(TAMIL) X(TELUGU) X(KANNADA) X(MALAYALAM) X(SINHALA) X(THAI) X(LAO)   \
			X(TIBETAN) X(MYANMAR) X(GEORGIAN) X(ETHIOPIC) X(KHMER) X(MONGOLIAN)        \
				X(HANGUL) X(HAN) X(HIRAGANA) X(KATAKANA) X(OTHER)

enum script {
	SCRIPT_NONE, /* no letter */
#define X(name) SCRIPT_##name,
	SCRIPTS(X)
#undef X
		N_SCRIPTS
};

/* A bit for each script, (uint32_t)1 << SCRIPT_…, that a language is written in. */
uint32_t scripts_of_language(const char *language); /* one that is not known here: all bits */

struct scripts;
struct scripts *scripts_new(struct err *e);
void scripts_free(struct scripts *s);

enum script scripts_of(const struct scripts *s, uint32_t codepoint);

struct scripts_count {
	size_t characters, letters;
	size_t foreign; /* letters of scripts that were not asked for */
};

/* text is well-formed UTF-8. */
void scripts_count(const struct scripts *s, uint32_t scripts, const char *text, size_t n,
		   struct scripts_count *count);

#endif
