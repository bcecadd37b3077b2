/*
 * corpus.h - the folder of a prepared corpus: corpora/NAME in the workspace
 *
 *	train.shard dev.shard test.shard    token ids
 *	dev.LANG test.LANG                  raw text of the held-out sets, one sentence a line
 *	bpe.codes or sentencepiece.model, vocab.tsv recipe.ini ledger.tsv stats.json manifest.json
 *	work/				    files between stages, reused when options change
 *
 * manifest.json is written last: a corpus is ready when manifest.json exists. A corpus of an older
 * version (text_corpus_format) counts as not ready; one of a newer version is refused.
 */
#ifndef WERKBANK_DATA_SOURCE_CORPUS_H
#define WERKBANK_DATA_SOURCE_CORPUS_H

#include <stdbool.h>

#include "share/base/err.h"
#include "share/conf/conf.h"

/*
 * Path of the folder of corpus c->corpus (which conf sets to the recipe's name by default). Owned
 * by the caller; NULL: failure.
 */
char *corpus_folder(const struct conf *c, struct err *e);

/*
 * *ready: the corpus is prepared with the seed and the facts of text of c (text_facts.def).
 * No corpus, or a file of it missing or of another size: *ready = false. A newer version: ERR_CONFIG. Other options or another
 * seed: ERR_CONFIG, which names the first difference.
 */
int corpus_is_ready(const struct conf *c, bool *ready, struct err *e);

/*
 * *changed: a source file of the corpus in folder, which is ready, is newer than manifest.json or has
 * another size than recorded there. Its contents may still be the same. A file that is missing now does
 * not count, and neither do archives.
 */
int corpus_sources_changed(const struct conf *c, const char *folder, bool *changed, struct err *e);

#endif
