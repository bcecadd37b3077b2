/*
 * prep.h - the command "werkbank prep RECIPE": from sources to a prepared corpus
 *
 * The stages; each reads files of earlier ones (prep_stages.h lists them):
 *
 *	read	fetch, unpack, normalise, tokenise	dev.LANG test.LANG, words and sides in work/
 *	judge	drop bad pairs, count words		work/
 *	learn	learn the subword pieces		bpe.codes or sentencepiece.model
 *	encode	split each distinct word into pieces	vocab.tsv, work/
 *	pack	shuffle by seed, write token ids	train.shard dev.shard test.shard
 *	ledger	dropped pairs and statistics		ledger.tsv stats.json
 *	finish	resolved options and summary		recipe.ini, then manifest.json
 *
 * Every stage leaves a record in work/ (prep_plan.h). A killed preparation resumes with the first
 * stage that is not done; with other options only the stages that depend on them run again.
 * manifest.json is removed before any other change and written last, so an incomplete corpus never
 * looks complete.
 *
 * manifest.json: v, name, recipe, time, seed, source_language, target_language,
 * sources, archives, pairs (read, train, dev, test), dropped (by rule),
 * held_out_in_train (training pairs equal to a pair of a held-out set), merges, vocabulary, tokens,
 * stages (name, seconds, kept: done by an earlier preparation; pairs_in, pairs_out, bytes), files
 * (name, bytes, sha256).
 */
#ifndef WERKBANK_DATA_PREP_PREP_H
#define WERKBANK_DATA_PREP_PREP_H

#include "share/base/err.h"
#include "share/conf/conf.h"

/*
 * Load the recipe c->arguments[0] and prepare its corpus. If the corpus is ready with the same
 * options: a note and 0 (unless c->force). With c->dry_run: print the plan, change nothing.
 */
int prep_command_run(struct conf *c, struct err *e);

#endif
