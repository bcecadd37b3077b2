/*
 * corpus.h - the files of a prepared corpus: corpora/NAME in the workspace.
 *
 *	train.shard dev.shard test.shard    token ids
 *	dev.LANG test.LANG                  raw text of the held-out sets, one sentence a line
 *	bpe.codes or sentencepiece.model, vocab.tsv recipe.ini ledger.tsv stats.json manifest.json
 *	work/				what stages left for each other: other options begin from there
 *
 * manifest.json is written last: a corpus is prepared when it is there. One of another
 * version than CORPUS_VERSION is as good as not there.
 */
#ifndef WERKBANK_DATA_SOURCE_CORPUS_H
#define WERKBANK_DATA_SOURCE_CORPUS_H

#include <stdbool.h>

#include "share/conf/conf.h"
#include "share/base/err.h"

#define CORPUS_VERSION 2 /* "v" of manifest.json */

/*
 * The folder of the corpus that c names (c->corpus, else the recipe's name). Owned by the caller;
 * NULL: failure.
 */
char *corpus_folder(const struct conf *c, struct err *e);

/*
 * Has it been prepared, and with the same seed and [data] options as c (corpus and
 * repair aside)? Not there, or a file of it missing: false. Different options:
 * ERR_CONFIG naming the first.
 */
int corpus_is_ready(const struct conf *c, bool *ready, struct err *e);

#endif
