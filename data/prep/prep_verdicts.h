/*
 * prep_verdicts.h - verdicts on the training text of a corpus: judged by the ledger stage, kept in stats.json,
 * reported at the end of each preparation
 *
 * Only prep*.c include this.
 */
#ifndef WERKBANK_DATA_PREP_PREP_VERDICTS_H
#define WERKBANK_DATA_PREP_PREP_VERDICTS_H

#include "data/judge/corpus_judge.h"
#include "data/prep/prep_stages.h"
#include "data/prep/token_column.h"
#include "share/format/json.h"

/* A judge of p's training text, whose word table is loaded. NULL: failure. */
struct corpus_judge *prep_judge_open(struct prep *p, struct err *e);
/* Judge training pair `number` of all, line `line` of text `text`; kept pairs only. */
int prep_judge_pair(struct corpus_judge *j, int64_t number, size_t text, int64_t line,
		    const struct token_column_line sides[2], struct err *e);
/* Read the held-out sets, then apply the rules. */
int prep_judge_finish(struct corpus_judge *j, struct prep *p, struct err *e);
/* Members "judged" and "verdicts" of stats.json. */
int prep_judge_put_json(const struct corpus_judge *j, const struct prep *p, struct json_writer *w,
			struct err *e);

/*
 * Print the verdicts of stats.json as warnings, and held-out sets of which more than 1 % is in the
 * training text with overlap = warn. With --strict at least one of either is ERR_DATA. *stats: owned by
 * the caller.
 */
int prep_report_verdicts(struct prep *p, struct json **stats, struct err *e);
/* Member "verdicts" of manifest.json: rule, confidence, set, what, cure of each. */
void prep_put_manifest_verdicts(struct json_writer *w, const struct json *stats);

#endif
