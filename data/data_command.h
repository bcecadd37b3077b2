/*
 * data_command.h - werkbank data stats|show|why CORPUS …: questions to a prepared corpus.
 *
 *	data stats CORPUS		what went in, what was dropped, lengths, pieces, stages
 *	data show CORPUS N [COUNT]	pairs N … N + COUNT - 1 of train.shard, and where they come from
 *	data why CORPUS FILE:LINE	what became of a line: kept and where it is, or dropped and why
 *
 * Answers go to standard output, with --json as one JSON document: of stats, stats.json
 * with the stages of manifest.json.
 */
#ifndef WERKBANK_DATA_DATA_COMMAND_H
#define WERKBANK_DATA_DATA_COMMAND_H

#include "share/base/conf.h"
#include "share/base/err.h"

/* c->arguments: the question, the corpus, what is asked for. */
int data_command_run(struct conf *c, struct err *e);

/* Print stats.json and the stages of manifest.json, both in the folder, as tables or JSON. */
int data_print_stats(const char *folder, bool json, struct err *e);

#endif
