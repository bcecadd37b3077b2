/*
 * prep_verdicts.h - verdicts on the training text of a corpus: judged by the ledger stage, kept in stats.json,
 * reported at the end of each preparation
 *
 * Only prep*.c include this.
 */
#ifndef WERKBANK_DATA_PREP_PREP_VERDICTS_H
#define WERKBANK_DATA_PREP_PREP_VERDICTS_H

#include "data/prep/prep_stages.h"
#include "data/prep/token_column.h"
#include "share/format/json.h"

/* The judges of a corpus: one for each pair of languages. */
struct prep_judge;

/* Judges of p's training text, whose word table is loaded; borrows p. NULL: failure. */
struct prep_judge *prep_judge_open(struct prep *p, struct err *e);
void prep_judge_free(struct prep_judge *j);
/* Judge training pair `number` of all, line `line` of text `text`; kept pairs only. */
int prep_judge_pair(struct prep_judge *j, int64_t number, size_t text, int64_t line,
		    const struct token_column_line sides[2], struct err *e);
/* Read the held-out sets, then apply the rules. */
int prep_judge_finish(struct prep_judge *j, struct err *e);
/* Members "judged" and "verdicts" of stats.json. */
int prep_judge_put_json(const struct prep_judge *j, struct json_writer *w, struct err *e);

/*
 * Print the verdicts of stats.json as warnings, and held-out sets of which more than 1 % is in the
 * training text with overlap = warn. With --strict at least one of either is ERR_DATA. *stats: owned by
 * the caller.
 */
int prep_report_verdicts(struct prep *p, struct json **stats, struct err *e);
/* Member "verdicts" of manifest.json: rule, confidence, set, what, cure of each. */
void prep_put_manifest_verdicts(struct json_writer *w, const struct json *stats);

#endif
