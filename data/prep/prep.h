/*
 * prep.h - werkbank prep RECIPE: from sources to a prepared corpus.
 *
 * The stages, each reading what others wrote (prep_stages.h says what):
 *
 *	read	fetch, unpack, normalise, tokenise	dev.LANG test.LANG, words and sides in work/
 *	judge	which pairs stay, words counted		work/
 *	learn	pieces					bpe.codes or sentencepiece.model
 *	encode	pieces of every word			vocab.tsv, work/
 *	pack	ids, shuffled by seed			train.shard dev.shard test.shard
 *	ledger	what was dropped, statistics		ledger.tsv stats.json
 *	finish	what was asked and what came of it	recipe.ini, then manifest.json
 *
 * Every stage leaves a record in work/ (prep_plan.h). A preparation that was killed goes on with the
 * first stage that is not done; one with other options runs only the stages that depend on
 * them. manifest.json is removed before anything else is changed and written last, so nothing
 * half done looks finished.
 *
 * manifest.json: v, name, recipe, time, seed, source_language, target_language,
 * sources, archives, pairs (read, train, dev, test), dropped (by rule),
 * held_out_in_train (training pairs equal to one of a held-out set), merges, vocabulary, tokens,
 * stages (name, seconds, kept: was it done earlier; pairs_in, pairs_out, bytes), files (name, bytes,
 * sha256).
 */
#ifndef WERKBANK_DATA_PREP_PREP_H
#define WERKBANK_DATA_PREP_PREP_H

#include "share/conf/conf.h"
#include "share/base/err.h"

/*
 * c->arguments[0] is the recipe; it is loaded here. A corpus that is there
 * with the same options: says so and returns 0 (unless c->force). With c->dry_run:
 * what would be done, on standard output.
 */
int prep_command_run(struct conf *c, struct err *e);

#endif
