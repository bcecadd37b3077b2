/*
 * data_command.h - the command "werkbank data QUESTION CORPUS ...": queries on a prepared corpus
 *
 *	data list			the corpora of the workspace
 *	data stats CORPUS		sources, dropped pairs, lengths, pieces, stages
 *	data show CORPUS N [COUNT]	pairs N ... N + COUNT - 1 of train.shard, and their origin
 *	data why CORPUS FILE:LINE	its position, or the rule that dropped it
 *
 *	data dropped CORPUS [RULE|all] [COUNT]	the first COUNT (20) pairs that a rule dropped
 *	data vocab CORPUS [TEXT] [COUNT]	entries of the vocabulary that contain TEXT
 *	data split CORPUS SENTENCE [source|target]	the words, their pieces, and each merge
 *
 * Answers go to standard output, with --json as one JSON document. The JSON of stats is stats.json
 * with the stages of manifest.json added. An empty answer as text comes with a note on stderr.
 */
#ifndef WERKBANK_DATA_DATA_COMMAND_H
#define WERKBANK_DATA_DATA_COMMAND_H

#include "share/base/err.h"
#include "share/conf/conf.h"

/* c->arguments: QUESTION CORPUS and the rest, as above. */
int data_command_run(struct conf *c, struct err *e);

/*
 * Print stats.json and the stages of manifest.json as tables or JSON. folder: of the corpus. Without
 * manifest.json the answer says that the corpus is not ready.
 */
int data_print_stats(struct conf *c, const char *folder, struct err *e);

/* Parse argument i, a number of at least low; *value stays if there is no such argument. */
int data_count_argument(const struct conf *c, int i, const char *what, int64_t low, int64_t *value,
			struct err *e);

/* Answers that need no shard (data_queries.c). folder: of the corpus; arguments in c. */
int data_print_corpora(struct conf *c, struct err *e);
int data_print_dropped(struct conf *c, const char *folder, struct err *e);
int data_print_vocabulary(struct conf *c, const char *folder, struct err *e);
int data_print_split(struct conf *c, const char *folder, struct err *e);

#endif
