/* judge_pairs.c - rules about pairs and sets of a corpus: misaligned, shifted, letter case, lengths */
#include "data/judge/judge_rules.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "share/base/mem.h"
#include "share/base/number_format.h"
#include "share/base/text.h"
#include "share/base/util.h"

#define LEAST_COMPARED 300 /* comparisons for a verdict on a whole set */
#define LEAST_OF_BLOCK 60  /* … on a block, with its neighbours */
#define WINS_OF_NOTHING                                                                            \
	0.58 /* at most, of pairs that are not translations; 0.5 plus chance and topics */
#define WINS_OF_GOOD 0.80 /* at least, of text on which bad stretches can be recognised */
#define WINS_OF_MANY                                                                               \
	0.78 /* at most, of text with many bad pairs; healthy corpora have 0.84 and more */
#define WINS_OF_MOST	0.70 /* at most, of text that is bad for sure */
#define COMPARED_MANY	1000 /* comparisons for these two */
#define WINS_IN_DOUBT	0.92 /* at most, of pairs that may be shifted */
#define LEAST_FALL	0.15 /* from a usual block to one whose pairs are not translations */
#define LEAST_OF_SHIFT	0.65 /* wins of the target of another line over that of the same line */
#define LEAST_GAIN	0.05 /* of the share of wins, by learning from another line's targets */
#define LEAST_SET_LINES 100
#define N_SHIFTS	(2 * ALIGNMENT_SHIFTS + 1)

static double share_of_wins(struct alignment_wins w)
{
	return w.n ? w.wins / (double)w.n : NAN;
}

/* ---- misaligned and shifted ---- */

struct block_wins {
	struct alignment_wins own; /* over random targets; n 0: nothing is wrong with the block */
	struct alignment_wins shifted; /* of the targets at `shift` over those of the same line */
	int shift;		       /* 0: none fits better */
};

/* The shift whose targets win most often over those of the same line; 0: none does so clearly. */
static int find_best_shift(const struct alignment_wins shifted[N_SHIFTS])
{
	double most = LEAST_OF_SHIFT;
	int best = 0;

	for (int i = 0; i < N_SHIFTS; i++) {
		const double share = share_of_wins(shifted[i]),
			     sigma = 0.5 / sqrt((double)MAX(shifted[i].n, 1));

		if (shifted[i].n >= LEAST_OF_BLOCK && share - 3 * sigma > 0.5 && share > most) {
			most = share;
			best = i - ALIGNMENT_SHIFTS;
		}
	}
	return best;
}

static void judge_block_shift(const struct alignment *a, int32_t block, struct block_wins *b)
{
	struct alignment_wins shifted[N_SHIFTS];

	for (int i = 0; i < N_SHIFTS; i++)
		shifted[i] = alignment_of_shift(a, block, i - ALIGNMENT_SHIFTS);
	b->shift = find_best_shift(shifted);
	b->shifted = shifted[b->shift + ALIGNMENT_SHIFTS];
}

/* Is the share of a block so low that chance does not explain it? good: of a usual block. */
static bool is_bad_block(struct alignment_wins w, double good)
{
	const double share = share_of_wins(w), sigma = 0.5 / sqrt((double)MAX(w.n, 1));

	return w.n >= LEAST_OF_BLOCK && share < good - LEAST_FALL && share + 2.5 * sigma < good &&
	       share < WINS_OF_NOTHING + 2 * sigma;
}

static int cmp_share(const void *x, const void *y)
{
	const double a = *(const double *)x, b = *(const double *)y;

	return a < b ? -1 : a > b;
}

/* The upper quartile of the blocks: the usual share even if half of the corpus is bad. */
static double usual_share(const struct alignment_wins *wins, int32_t n)
{
	double shares[JUDGE_BLOCKS * 2];
	int32_t known = 0;

	for (int32_t i = 0; i < n && known < (int32_t)ARRAY_LEN(shares); i++)
		if (wins[i].n >= LEAST_OF_BLOCK)
			shares[known++] = share_of_wins(wins[i]);
	qsort(shares, (size_t)known, sizeof(*shares), cmp_share);
	return known ? shares[known * 3 / 4] : NAN;
}

/* own: over random targets; shifted: over targets of the same line; good: elsewhere, NaN: unknown. */
static void say_misaligned(struct corpus_verdict *v, int shift, double own, double shifted,
			   double good)
{
	char usual[40] = "";

	if (isfinite(good))
		snprintf(usual, sizeof(usual), "; elsewhere: %.0f %%", 100 * good);
	v->is_clear = true;
	if (shift) {
		snprintf(v->what, sizeof(v->what),
			 "Targets stand %d line%s %s their sources: by words that occur together, "
			 "the target there fits better than the one of the same line in %.0f %% of "
			 "the "
			 "pairs.",
			 abs(shift), text_plural(abs(shift)), shift > 0 ? "after" : "before",
			 100 * shifted);
		v->cure = "Find the line that one side lacks, and add or remove it.";
		return;
	}
	snprintf(v->what, sizeof(v->what),
		 "Targets do not translate their sources: by words that occur together, the target "
		 "of a line fits better than a random one in %.0f %% of the pairs (chance: 50 "
		 "%%%s).",
		 100 * own, usual);
	v->cure = "Compare both files line by line: one of them was sorted, shuffled, or is of "
		  "another text.";
}

/* The bad lines of a set: those of the blocks first … last; first < 0: all. */
struct bad_lines {
	const struct judged_set *set;
	int32_t first, last;
};

static int report_lines(struct corpus_judge *j, struct bad_lines lines, int shift,
			struct alignment_wins own, struct alignment_wins shifted, double good,
			struct err *e)
{
	const struct judged_lines *t = &lines.set->lines;
	bool *is_bad = mem_alloc(MAX(t->n, 1), sizeof(*is_bad), e);
	struct corpus_verdict *v;

	if (!is_bad)
		return e->code;
	for (size_t i = 0; i < t->n; i++)
		is_bad[i] = lines.first < 0 ||
			    (t->lines[i].block >= lines.first && t->lines[i].block <= lines.last);
	v = judge_new_verdict(j, shift ? JUDGE_SHIFTED : JUDGE_MISALIGNED, lines.set);
	if (v) {
		judge_locate(j, v, lines.set, is_bad);
		say_misaligned(v, shift, share_of_wins(own), share_of_wins(shifted), good);
	}
	free(is_bad);
	return 0;
}

/* One verdict for all of a set. */
static int report_set(struct corpus_judge *j, const struct judged_set *set, int shift,
		      struct alignment_wins own, struct alignment_wins shifted, double good,
		      struct err *e)
{
	return report_lines(j, (struct bad_lines){ set, -1, -1 }, shift, own, shifted, good, e);
}

/* One verdict for the run of bad blocks first … last, which have the same shift. */
static int report_blocks(struct corpus_judge *j, int32_t first, int32_t last,
			 const struct block_wins *blocks, double good, struct err *e)
{
	struct alignment_wins own = { 0, 0 }, shifted = { 0, 0 };

	for (int32_t i = first; i <= last; i++) {
		own.wins += blocks[i].own.wins;
		own.n += blocks[i].own.n;
		shifted.wins += blocks[i].shifted.wins;
		shifted.n += blocks[i].shifted.n;
	}
	return report_lines(j, (struct bad_lines){ &j->train, first, last }, blocks[first].shift,
			    own, shifted, good, e);
}

/* The training text of a block's first line; -1: the block is empty. */
static int32_t text_of_block(const struct judged_lines *t, int32_t block)
{
	for (size_t i = 0; i < t->n; i++)
		if (t->lines[i].block == block)
			return t->lines[i].text;
	return -1;
}

static int judge_stretches(struct corpus_judge *j, const struct alignment *a,
			   const struct alignment_wins *wins, double good, struct err *e)
{
	const int32_t n = j->train.lines.n_blocks;
	struct block_wins *blocks = mem_alloc((size_t)n, sizeof(*blocks), e);
	int rc = blocks ? 0 : e->code;

	for (int32_t i = 0; !rc && i < n; i++)
		if (wins[i].n >= LEAST_OF_BLOCK && share_of_wins(wins[i]) < WINS_IN_DOUBT) {
			judge_block_shift(a, i, &blocks[i]);
			if (blocks[i].shift || is_bad_block(wins[i], good))
				blocks[i].own = wins[i];
		}
	for (int32_t i = 0, end; !rc && i < n; i = end) {
		end = i + 1;
		if (!blocks[i].own.n)
			continue;
		while (end < n && blocks[end].own.n && blocks[end].shift == blocks[i].shift &&
		       text_of_block(&j->train.lines, end) == text_of_block(&j->train.lines, i))
			end++;
		rc = report_blocks(j, i, end - 1, blocks, good, e);
	}
	free(blocks);
	return rc;
}

/*
 * Learn from the targets of other lines: if they fit better, all of the text is shifted. Returns the shift;
 * it stays learned. own: of shift 0, which has been learned.
 */
static int find_shift_of_all(struct alignment *a, struct alignment_wins own,
			     struct alignment_wins *shifted)
{
	double most = share_of_wins(own) + LEAST_GAIN;
	int best = 0;

	for (int shift = -ALIGNMENT_SHIFTS; shift <= ALIGNMENT_SHIFTS; shift++) {
		struct alignment_wins w;

		if (!shift)
			continue;
		alignment_learn(a, shift);
		w = alignment_of_block(a, -1, shift);
		if (w.n * 2 > own.n && share_of_wins(w) > most) {
			most = share_of_wins(w);
			best = shift;
		}
	}
	alignment_learn(a, best);
	if (best)
		*shifted = alignment_of_shift(a, -1, best);
	return best;
}

/* No stretch is to blame, but all of the text fits less than healthy text does. */
static int report_many(struct corpus_judge *j, struct alignment_wins all, struct err *e)
{
	const struct alignment_wins none = { 0, 0 };
	struct corpus_verdict *v;

	if (all.n < COMPARED_MANY || j->alignment >= WINS_OF_MANY)
		return 0;
	if (report_set(j, &j->train, 0, all, none, NAN, e))
		return e->code;
	v = &j->verdicts[j->n_verdicts - 1];
	v->is_clear = j->alignment < WINS_OF_MOST;
	snprintf(v->what, sizeof(v->what),
		 "Many targets do not translate their sources: by words that occur together, the "
		 "target of a line fits better than a random one in only %.0f %% of the pairs "
		 "(chance: 50 %%, healthy text: 85 %% and more).",
		 100 * j->alignment);
	return 0;
}

static int judge_set_alignment(struct corpus_judge *j, const struct alignment *a,
			       const struct judged_set *set, double good, struct err *e)
{
	struct alignment_wins own, shifted[N_SHIFTS] = { { 0, 0 } };
	int shift;

	if (alignment_of_set(a, &set->lines, WINS_IN_DOUBT, &own, shifted, e))
		return e->code;
	if (own.n < LEAST_SET_LINES || share_of_wins(own) >= WINS_IN_DOUBT)
		return 0;
	shift = find_best_shift(shifted);
	if (!shift && !is_bad_block(own, good))
		return 0;
	return report_set(j, set, shift, own, shifted[shift + ALIGNMENT_SHIFTS], good, e);
}

/* all: of all blocks, wins: of each. */
static int judge_aligned_text(struct corpus_judge *j, struct alignment *a,
			      struct alignment_wins all, const struct alignment_wins *wins,
			      struct err *e)
{
	const double good = usual_share(wins, j->train.lines.n_blocks);
	struct alignment_wins shifted = { 0, 0 };
	const int shift = j->alignment < WINS_IN_DOUBT ? find_shift_of_all(a, all, &shifted) : 0;
	int rc = 0;

	if (shift && share_of_wins(shifted) > LEAST_OF_SHIFT)
		return report_set(j, &j->train, shift, all, shifted, NAN, e);
	if (shift)
		alignment_learn(a, 0);
	if (j->alignment < WINS_OF_NOTHING && !(good >= WINS_OF_GOOD))
		return report_set(j, &j->train, 0, all, shifted, NAN, e);
	if (good >= WINS_OF_GOOD)
		rc = judge_stretches(j, a, wins, good, e);
	if (!rc && !j->n_verdicts)
		rc = report_many(j, all, e);
	for (int i = 0; !rc && i < j->n_sets && good >= WINS_OF_GOOD; i++)
		rc = judge_set_alignment(j, a, &j->sets[i], good, e);
	return rc;
}

static int judge_blocks(struct corpus_judge *j, struct alignment *a, struct err *e)
{
	const int32_t n = j->train.lines.n_blocks;
	struct alignment_wins all = { 0, 0 },
			      *wins = mem_alloc((size_t)MAX(n, 1), sizeof(*wins), e);
	int rc = wins ? 0 : e->code;

	for (int32_t i = 0; wins && i < n; i++) {
		wins[i] = alignment_of_block(a, i, 0);
		all.wins += wins[i].wins;
		all.n += wins[i].n;
	}
	if (!rc && all.n >= LEAST_COMPARED) {
		j->alignment = share_of_wins(all);
		rc = judge_aligned_text(j, a, all, wins, e);
	}
	free(wins);
	return rc;
}

int judge_alignment_rules(struct corpus_judge *j, struct err *e)
{
	struct alignment *a = alignment_new(&j->marks, &j->train.lines, e);
	int rc;

	if (!a)
		return e->code;
	alignment_learn(a, 0);
	rc = judge_blocks(j, a, e);
	alignment_free(a);
	return rc;
}

/* ---- a held-out set beside the training text ---- */

/* Share of lines with an upper-case letter. */
static double share_with_upper(const struct corpus_judge *j, const struct judged_lines *t, int side)
{
	int64_t n = 0;

	for (size_t i = 0; i < t->n; i++) {
		const int32_t *words = judged_words(t, &t->lines[i], side);
		bool has = false;

		for (uint32_t k = 0; k < t->lines[i].sides[side].n && !has; k++)
			has = j->marks.marks[words[k]].flags & WORD_HAS_UPPER;
		n += has;
	}
	return t->n ? (double)n / (double)t->n : NAN;
}

static void judge_letter_case(struct corpus_judge *j, const struct judged_set *set)
{
	static const char *const sides[] = { "source", "target" };

	for (int side = 0; side < 2; side++) {
		const double train = share_with_upper(j, &j->train.lines, side),
			     held = share_with_upper(j, &set->lines, side);
		struct corpus_verdict *v;

		if (!((train < 0.02 && held > 0.3) || (held < 0.02 && train > 0.3)) ||
		    !(v = judge_new_verdict(j, JUDGE_CASE, set)))
			continue;
		v->is_clear = true;
		v->n_judged = (int64_t)set->lines.n;
		snprintf(v->what, sizeof(v->what),
			 "Upper-case letters are in %.0f %% of its %s lines, and in %.0f %% of "
			 "those of the training text: one of them was converted to lower case.",
			 100 * held, sides[side], 100 * train);
		v->cure = "Prepare both from text of the same letter case.";
	}
}

/* exp of the mean log ratio of target to source characters. */
static double ratio_of_characters(const struct judged_lines *t)
{
	double sum = 0;

	for (size_t i = 0; i < t->n; i++)
		sum += log((t->lines[i].sides[1].characters + 1.0) /
			   (t->lines[i].sides[0].characters + 1.0));
	return t->n ? exp(sum / (double)t->n) : NAN;
}

static void judge_length_ratio(struct corpus_judge *j, const struct judged_set *set)
{
	const double train = ratio_of_characters(&j->train.lines),
		     held = ratio_of_characters(&set->lines);
	struct corpus_verdict *v;

	if ((train < held * 1.3 && held < train * 1.3) ||
	    !(v = judge_new_verdict(j, JUDGE_LENGTHS, set)))
		return;
	v->is_clear = train > held * 1.5 || held > train * 1.5;
	v->n_judged = (int64_t)set->lines.n;
	snprintf(v->what, sizeof(v->what),
		 "A target has %.2f times the characters of its source here, and %.2f times in the "
		 "training "
		 "text: targets of one of them are cut, or hold something else.",
		 held, train);
	v->cure = "Compare some lines of both; a model learns the lengths of the training text.";
}

void judge_set_rules(struct corpus_judge *j, const struct judged_set *set)
{
	if (set->lines.n < LEAST_SET_LINES || j->train.lines.n < LEAST_COMPARED)
		return;
	judge_letter_case(j, set);
	judge_length_ratio(j, set);
}
