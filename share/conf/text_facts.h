/*
 * text_facts.h - what a prepared corpus says about its text: languages, tokenisation, pieces, …
 *
 * text_facts.def lists these options. Preparation writes them into corpora/NAME/recipe.ini. Whoever
 * uses the corpus takes them from there, and a run keeps them in its own recipe.ini, with the
 * origin "corpus NAME".
 */
#ifndef WERKBANK_SHARE_CONF_TEXT_FACTS_H
#define WERKBANK_SHARE_CONF_TEXT_FACTS_H

#include <stdbool.h>
#include <stddef.h>

#include "share/base/err.h"
#include "share/conf/conf.h"
#include "share/format/format_version.h"
#include "share/format/json.h"

/* The version of a prepared corpus, "v" of its manifest.json. */
extern const struct file_format text_corpus_format;

/*
 * Read manifest.json of a corpus folder. *root: the tree, freed by the caller; NULL: no such file.
 * ERR_CONFIG: a newer program prepared the corpus (format_version.h). ERR_DATA: damaged.
 */
int text_corpus_manifest(struct json **root, const char *folder, struct err *e);

enum text_fact_use {
	TEXT_FACT_SOURCE,
	TEXT_FACT_SIDE,
	TEXT_FACT_FORM,
	TEXT_FACT_PAIRS,
	TEXT_FACT_INPUT
};

/* A row of text_facts.def. All borrowed. */
struct text_fact {
	const char *option;
	enum text_fact_use use;
	const char *stage, *condition;
};

/*
 * Clear verdicts against the corpus of a manifest.json, found by its preparation
 * (data/judge/corpus_judge.h). -1: not judged.
 */
int text_corpus_clear_verdicts(const struct json *manifest);

/* Row number i; NULL past the end. */
const struct text_fact *text_fact_at(size_t i);
/* The row of an option; NULL: the option is no fact of text. */
const struct text_fact *text_fact_find(const char *option);
/* Does the fact count with the options of c? See "condition". */
bool text_fact_counts(const struct conf *c, const struct text_fact *f);

/*
 * Set all facts of c to those of the corpus; recipe: path of its recipe.ini. ERR_CONFIG: the user
 * gave a contradicting value (conf_is_given()); the message has both values. ERR_NOINPUT: no such file.
 */
int text_facts_adopt(struct conf *c, const char *corpus, const char *recipe, struct err *e);

/*
 * The same for the corpus that c names, in the workspace of c. A corpus that is not prepared yet: 0,
 * and c stays as it is.
 */
int text_facts_adopt_prepared(struct conf *c, struct err *e);

/*
 * Set the facts of SIDE and FORM to those of a model, by the recipe.ini in its folder. ERR_CONFIG: the user gave a
 * contradicting value. ERR_NOINPUT: no such file.
 */
int text_facts_adopt_model(struct conf *c, const char *model, const char *folder, struct err *e);

/* Do the facts of c come from a corpus? If not, an older release wrote them, maybe wrongly. */
bool text_facts_are_adopted(const struct conf *c);
/* The corpus that the facts of c come from, borrowed; NULL: none. */
const char *text_facts_corpus(const struct conf *c);

/*
 * Compare the facts of a run (c) with those of its corpus. ERR_DATA: the corpus was prepared again with
 * other languages. note gets a sentence about the first other difference. Without recipe.ini: 0.
 */
int text_facts_check_run(const struct conf *c, const char *recipe, struct buf *note, struct err *e);

/*
 * Do two models, folders with a recipe.ini, translate the same text in the same form? ERR_DATA: a fact of
 * SIDE or FORM differs; the message has both values. A model without recipe.ini, or of an older release
 * (text_facts_are_adopted()), passes.
 */
int text_facts_check_models(const char *folder, const char *other, struct err *e);

#endif
