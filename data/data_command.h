/*
 * data_command.h - werkbank data QUESTION CORPUS …: questions to a prepared corpus.
 *
 *	data list			the corpora of the workspace
 *	data stats CORPUS		what went in, what was dropped, lengths, pieces, stages
 *	data show CORPUS N [COUNT]	pairs N … N + COUNT - 1 of train.shard, and where they come from
 *	data why CORPUS FILE:LINE	what became of a line: kept and where it is, or dropped and why
 *
 *	data dropped CORPUS [RULE|all] [COUNT]	the first COUNT (20) pairs that a rule dropped
 *	data vocab CORPUS [TEXT] [COUNT]	entries of the vocabulary with TEXT in them
 *	data split CORPUS SENTENCE [source|target]	its words, their pieces, and merge by merge how those come about
 *
 * Answers go to standard output, with --json as one JSON document: of stats, stats.json
 * with the stages of manifest.json.
 */
#ifndef WERKBANK_DATA_DATA_COMMAND_H
#define WERKBANK_DATA_DATA_COMMAND_H

#include "share/conf/conf.h"
#include "share/base/err.h"

/* c->arguments: the question, the corpus, what is asked for. */
int data_command_run(struct conf *c, struct err *e);

/* Print stats.json and the stages of manifest.json, both in the folder, as tables or JSON. */
int data_print_stats(const char *folder, bool json, struct err *e);

/* data_queries.c: answers that need no shard. folder: of the corpus. */
int data_print_corpora(struct conf *c, struct err *e);
int data_print_dropped(struct conf *c, const char *folder, struct err *e);
int data_print_vocabulary(struct conf *c, const char *folder, struct err *e);
int data_print_split(struct conf *c, const char *folder, struct err *e);

#endif
