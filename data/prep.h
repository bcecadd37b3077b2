/*
 * prep.h - werkbank-data prep RECIPE: from sources to a prepared corpus.
 *
 * The stages, each reading what the one before wrote:
 *
 *	sources   fetch, unpack or make the raw texts		archives/, work/
 *	held out  copy dev and test as they are			dev.LANG test.LANG
 *	clean     normalise, tokenise, drop bad pairs		work/train.LANG, ledger.tsv begins
 *	learn     BPE merges over source then target		bpe.codes
 *	apply     pieces; drop over-long pairs; count		work/train.pieces.LANG, ledger.tsv, vocab.tsv
 *	pack      ids, shuffled by seed				train.shard dev.shard test.shard
 *	finish    what was asked and what came of it		recipe.ini, then manifest.json
 *
 * Cleaning judges tokenised text, as the WMT scripts do. Text streams: memory
 * holds the word counts, the vocabulary and 16 bytes a pair. manifest.json is
 * removed first and written last, so nothing half done looks finished; work/
 * is removed at the end and at the next start.
 *
 * manifest.json: v, name, recipe, time, seed, source_language, target_language,
 * sources, archives, pairs (read, train, dev, test), dropped (by rule),
 * held_out_in_train (training pairs equal to one of dev or test), merges, vocabulary, tokens,
 * stages (name, seconds), files (name, bytes, sha256).
 */
#ifndef WERKBANK_DATA_PREP_H
#define WERKBANK_DATA_PREP_H

#include "share/base/conf.h"
#include "share/base/err.h"

/*
 * c->arguments[0] is the recipe; it is loaded here. A corpus that is there
 * with the same options: says so and returns 0 (unless c->force).
 */
int prep_run(struct conf *c, struct err *e);

#endif
