/* ter.c - sums edits over segments; see ter.h (ter_shift.c finds the edits) */
#include "eval/metrics/ter.h"

#include <stdlib.h>

#include "config.h"
#include "eval/metrics/ngrams.h"
#include "eval/metrics/ter_shift.h"
#include "share/base/mem.h"
#include "share/base/util.h"

struct ter {
	struct ter_options o;
	struct ter_shift *shift; /* owned: works on numbers */
	struct word_numbers words;
	uint32_t *numbers; /* owned (cap_numbers): of the words of all texts of a segment */
	size_t *ends;	   /* owned (cap_ends): index after the last word of each text */
	size_t n_numbers, cap_numbers, cap_ends;
	struct score_scratch scratch;
	struct buf text, once; /* a tokenised text; a reference that is tokenised once */
	size_t references;     /* of a segment; 0: there is no segment yet */
	int64_t edits, words_of_references, segments;
	double length;
};

struct ter *ter_new(const struct ter_options *o, struct err *e)
{
	struct ter *t = mem_alloc(1, sizeof(*t), e);

	if (!t)
		return NULL;
	t->o = *o;
	t->shift = ter_shift_new(e);
	if (t->shift)
		return t;
	ter_free(t);
	return NULL;
}

void ter_free(struct ter *t)
{
	if (!t)
		return;
	word_numbers_free(&t->words);
	free(t->numbers);
	free(t->ends);
	score_scratch_free(&t->scratch);
	buf_free(&t->text);
	buf_free(&t->once);
	ter_shift_free(t->shift);
	free(t);
}

/* ---- segments ---------------------------------------------------------- */

/*
 * sacreBLEU tokenises references twice, the hypothesis once. This matters with options only, for
 * text such as "a's.". Equal scores need the same.
 */
static int tokenize_text(struct ter *t, const struct score_text *text, bool is_reference,
			 struct buf *out, struct err *e)
{
	buf_clear(out);
	ter_tokenize(&t->o, text->text, text->n, &t->scratch, out);
	if (is_reference && (t->o.normalized || t->o.drop_punctuation) && !out->failed) {
		buf_clear(&t->once);
		buf_add(&t->once, buf_text(out), out->len);
		buf_clear(out);
		ter_tokenize(&t->o, buf_text(&t->once), t->once.len, &t->scratch, out);
	}
	return buf_check(&t->once, e) ? e->code : buf_check(out, e);
}

/* Appends the numbers of the words of a text to t->numbers. */
static int number_words(struct ter *t, const struct score_text *text, size_t at, struct err *e)
{
	if (tokenize_text(t, text, at > 0, &t->text, e) ||
	    word_numbers_split(&t->words, buf_text(&t->text), t->text.len, false, &t->numbers,
			       &t->n_numbers, &t->cap_numbers, e))
		return e->code;
	t->ends[at] = t->n_numbers;
	return 0;
}

int ter_add(struct ter *t, const struct score_text *hypothesis, const struct score_text *references,
	    size_t n, struct err *e)
{
	int64_t least = INT64_MAX;
	size_t length;

	t->n_numbers = 0;
	if (signature_check_references(t->segments, t->references, n, e) ||
	    mem_grow(&t->ends, &t->cap_ends, n + 1, sizeof(*t->ends), e) ||
	    number_words(t, hypothesis, 0, e))
		return e->code;
	for (size_t i = 1; i <= n; i++)
		if (number_words(t, &references[i - 1], i, e))
			return e->code;
	for (size_t i = 1; i <= n; i++) {
		const int32_t *numbers = (const int32_t *)t->numbers; /* only compared */
		struct ter_words h = { numbers, t->ends[0] },
				 r = { numbers + t->ends[i - 1], t->ends[i] - t->ends[i - 1] };
		int64_t edits;

		if (ter_shift_edits(t->shift, h, r, &edits, e))
			return e->code;
		least = MIN(least, edits);
	}
	length = t->ends[n] - t->ends[0];
	t->references = n;
	t->edits += least;
	t->words_of_references += (int64_t)length;
	t->length += (double)length / (double)n;
	t->segments++;
	return 0;
}

static double edit_rate(int64_t edits, double length)
{
	return 100 * (length > 0 ? (double)edits / length : edits > 0);
}

void ter_score(const struct ter *t, struct ter_score *score)
{
	*score = (struct ter_score){ edit_rate(t->edits, t->length), t->edits, t->length };
}

void ter_sums(const struct ter *t, int64_t sums[TER_SUMS])
{
	sums[0] = t->edits;
	sums[1] = t->words_of_references;
}

double ter_of_sums(const struct ter *t, const int64_t sums[TER_SUMS])
{
	return edit_rate(sums[0], t->references ? (double)sums[1] / (double)t->references : 0);
}

static const char *yes_or_no(bool is_so)
{
	return is_so ? "yes" : "no";
}

void ter_signature(const struct ter *t, struct buf *out)
{
	buf_printf(out, "werkbank|ter|refs:%zu|case:%s|tok:tercom|norm:%s|punct:%s%s|v:%s",
		   t->references, t->o.cased ? "mixed" : "lc", yes_or_no(t->o.normalized),
		   yes_or_no(!t->o.drop_punctuation), t->o.asian ? "|asian:yes" : "",
		   PACKAGE_VERSION);
}

void ter_sacrebleu_signature(const struct ter *t, const struct signature_trials *trials,
			     struct buf *out)
{
	signature_begin(t->references, trials, out);
	buf_printf(out, "|case:%s|tok:tercom|norm:%s|punct:%s|asian:%s",
		   t->o.cased ? "mixed" : "lc", yes_or_no(t->o.normalized),
		   yes_or_no(!t->o.drop_punctuation), yes_or_no(t->o.asian));
	signature_end(out);
}
