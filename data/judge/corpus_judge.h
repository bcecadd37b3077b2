/*
 * corpus_judge.h - verdicts on a corpus: is its training text fit for training?
 *
 *	struct corpus_judge *j = corpus_judge_new(&options, e);
 *	for each kept training pair, in order:	corpus_judge_add(j, number, &pair, e);
 *	for each held-out set:			corpus_judge_begin_set(j, "dev");
 *		for each of its pairs:		corpus_judge_add_set(j, source, target, e);
 *	corpus_judge_run(j, e);
 *	... corpus_judge_verdicts(j, &n) ...
 *	corpus_judge_free(j);
 *
 * A sample of at most JUDGE_BLOCKS * JUDGE_BLOCK_LINES pairs is judged (judged_lines.h), so memory and time
 * are bounded. Rules that lack data give no verdict. The verdicts depend on the text alone: equal
 * corpora have equal ones.
 */
#ifndef WERKBANK_DATA_JUDGE_CORPUS_JUDGE_H
#define WERKBANK_DATA_JUDGE_CORPUS_JUDGE_H

#include "data/words/intern.h"
#include "share/base/err.h"
#include "share/format/json.h"

#define JUDGE_EXAMPLES	 3
#define JUDGE_TEXT_BYTES 240 /* of one side of an example, with the NUL */

/* X(id, name) */
#define JUDGE_RULES(X)                                                                             \
	X(JUDGE_MISALIGNED, "misaligned")                                                          \
	X(JUDGE_SHIFTED, "shifted")                                                                \
	X(JUDGE_SWAPPED, "swapped")                                                                \
	X(JUDGE_SOURCE_LANGUAGE, "source-language")                                                \
	X(JUDGE_TARGET_LANGUAGE, "target-language")                                                \
	X(JUDGE_SOURCE_SCRIPT, "source-script")                                                    \
	X(JUDGE_TARGET_SCRIPT, "target-script")                                                    \
	X(JUDGE_COPIES, "copies")                                                                  \
	X(JUDGE_REPEATS, "repeats")                                                                \
	X(JUDGE_ONE_LINE, "one-line")                                                              \
	X(JUDGE_QUOTED, "quoted")                                                                  \
	X(JUDGE_ENTITIES, "entities")                                                              \
	X(JUDGE_MARKUP, "markup")                                                                  \
	X(JUDGE_CAPITALS, "capitals")                                                              \
	X(JUDGE_CASE, "case")                                                                      \
	X(JUDGE_LENGTHS, "lengths")

enum judge_rule {
#define X(id, name) id,
	JUDGE_RULES(X)
#undef X
		JUDGE_N_RULES
};

struct judge_example {
	int64_t line; /* from 1 */
	int32_t text;
	char source[JUDGE_TEXT_BYTES], target[JUDGE_TEXT_BYTES]; /* words joined by blanks */
};

struct corpus_verdict {
	enum judge_rule rule;
	bool is_clear; /* else it is likely */
	char set[32];  /* "train" or a held-out set */
	int32_t text;  /* number of the training text of the bad lines; -1: several, or a set */
	int64_t first, last;	 /* lines of the bad stretch; 0: they are not close together */
	int64_t n_bad, n_judged; /* lines */
	double density;		 /* share of bad lines in that stretch, else in the set */
	char what[400];		 /* a sentence: what is wrong, by which evidence */
	const char *cure;	 /* a sentence: what to do */
	struct judge_example examples[JUDGE_EXAMPLES];
	int n_examples;
};

struct judge_options {
	const struct intern *words; /* of the pairs; borrowed */
	int64_t n_pairs;	    /* training pairs in all, dropped ones too */
	const char *source_language, *target_language;
	bool is_escaped; /* words are escaped as Moses does */
};

/* One side of a training pair. */
struct judge_side {
	uint64_t hash; /* of the raw line */
	uint32_t characters, letters, foreign;
	const int32_t *words; /* (n) numbers of judge_options.words; borrowed */
	uint32_t n;
};

struct judge_pair {
	int32_t text; /* number of the training text */
	int64_t line; /* from 1 */
	struct judge_side sides[2];
};

struct corpus_judge;

struct corpus_judge *corpus_judge_new(const struct judge_options *o,
				      struct err *e); /* NULL: failure */
void corpus_judge_free(struct corpus_judge *j);

/* number: of the pair among all training pairs, rising from 0. */
int corpus_judge_add(struct corpus_judge *j, int64_t number, const struct judge_pair *p,
		     struct err *e);

/* At most 16 sets. name: shorter than 32 bytes. */
void corpus_judge_begin_set(struct corpus_judge *j, const char *name);
/* Raw lines, well-formed UTF-8; after JUDGE_SET_LINES lines more are ignored. */
#define JUDGE_SET_LINES 4000
int corpus_judge_add_set(struct corpus_judge *j, const char *source, size_t n_source,
			 const char *target, size_t n_target, struct err *e);

int corpus_judge_run(struct corpus_judge *j, struct err *e);

/* Valid until corpus_judge_free(). */
const struct corpus_verdict *corpus_judge_verdicts(const struct corpus_judge *j, int *n);
/* Lines of the training text that were judged, and the share of wins of alignment.h (NaN: unknown). */
int64_t corpus_judge_lines(const struct corpus_judge *j);
double corpus_judge_alignment(const struct corpus_judge *j);

const char *judge_rule_name(enum judge_rule r);

/*
 * Members "judged" (pairs, alignment) and "verdicts" of an open object, for all n judges of a corpus. text_names: of the
 * training texts.
 */
void corpus_judges_put_json(struct corpus_judge *const *judges, size_t n, struct json_writer *w,
			    const char *const *text_names);
/*
 * A verdict of that JSON as one line of text: "train, lines 1,001 to 3,000 of b.de: what. Cure."
 * Appends to out.
 */
void corpus_verdict_describe(const struct json *verdict, struct buf *out);

#endif
