/*
 * model_words.h - the shape of a model from a text such as "norm=rms activation=silu", for tests
 *
 * The words are options of [model]. source_vocabulary=N, which follows from a corpus and is not an
 * option, gives the source a vocabulary of its own with N entries.
 */
#ifndef WERKBANK_TESTS_TRAIN_MODEL_WORDS_H
#define WERKBANK_TESTS_TRAIN_MODEL_WORDS_H

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "share/conf/arch.h"
#include "share/conf/conf.h"

#define MODEL_WORD_MAX 80

static inline int model_words_set(struct model_shape *s, struct conf *c, const char *words,
				  struct err *e)
{
	char word[MODEL_WORD_MAX], *value;

	for (; *(words += strspn(words, " ")); words += strcspn(words, " ")) {
		snprintf(word, sizeof(word), "%.*s", (int)strcspn(words, " "), words);
		value = strchr(word, '=');
		if (!value)
			return err_set(e, ERR_USAGE, "%s: write name=value", word);
		*value++ = 0;
		if (!strcmp(word, "source_vocabulary"))
			s->source_vocabulary = s->real_source_vocabulary = atoi(value);
		else if (conf_set(c, word, value, "test", e))
			return e->code;
	}
	return 0;
}

/*
 * The shape of these words; those of more win over those of words. model_new() checks it. vocabulary: rows
 * of the table, real: entries.
 */
static inline int model_words_shape(struct model_shape *s, const char *words, const char *more,
				    int32_t vocabulary, int32_t real, struct err *e)
{
	struct conf c;
	int rc = conf_init(&c, e);

	if (rc)
		return rc;
	*s = (struct model_shape){ .vocabulary = vocabulary, .real_vocabulary = real };
	if (!(rc = model_words_set(s, &c, words, e)) && !(rc = model_words_set(s, &c, more, e)))
		arch_set_options(s, &c);
	conf_free(&c);
	return rc;
}

#endif
