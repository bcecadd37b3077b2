/* ter.c - numbers words and sums edits over segments; see ter.h (ter_shift.c finds the edits) */
#include "eval/metrics/ter.h"

#include <stdlib.h>
#include <string.h>

#include "config.h"
#include "eval/metrics/ter_shift.h"
#include "eval/metrics/unicode.h"
#include "share/base/mem.h"
#include "share/base/util.h"

/* A word of one of the texts of a segment. */
struct word {
	const char *text;
	size_t n;
	size_t at; /* index among all words of the segment's texts */
};

struct ter {
	struct ter_options o;
	struct ter_shift *shift; /* owned: works on numbers */
	struct buf *texts;	 /* owned (cap_texts): the tokenised texts of a segment */
	size_t *ends;		 /* owned (cap_ends): index after the last word of each text */
	struct word *words;	 /* owned (cap_words) */
	int32_t *numbers;	 /* owned (cap_numbers): of words: equal words, equal numbers */
	struct score_scratch scratch;
	struct buf once; /* a reference that is tokenised once */
	size_t cap_texts, cap_ends, cap_words, cap_numbers;
	size_t references; /* of a segment; 0: there is no segment yet */
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
	for (size_t i = 0; i < t->cap_texts; i++)
		buf_free(&t->texts[i]);
	free(t->texts);
	free(t->ends);
	free(t->words);
	free(t->numbers);
	score_scratch_free(&t->scratch);
	buf_free(&t->once);
	ter_shift_free(t->shift);
	free(t);
}

/* ---- words as numbers -------------------------------------------------- */

static int by_text(const void *a, const void *b)
{
	const struct word *x = a, *y = b;
	int order = memcmp(x->text, y->text, MIN(x->n, y->n));

	return order ? order : (x->n > y->n) - (x->n < y->n);
}

/* Appends the words of text to t->words, which has *n words. */
static int ter_split_words(struct ter *t, const char *text, size_t len, size_t *n, struct err *e)
{
	size_t i = 0;

	while (i < len) {
		size_t from, space;

		while (i < len && (space = unicode_space(text + i, len - i)) > 0)
			i += space;
		from = i;
		while (i < len && !unicode_space(text + i, len - i))
			i++;
		if (i == from)
			break;
		if (mem_grow(&t->words, &t->cap_words, *n + 1, sizeof(*t->words), e))
			return e->code;
		t->words[*n] = (struct word){ text + from, i - from, *n };
		(*n)++;
	}
	return 0;
}

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

static int split_all(struct ter *t, const struct score_text *const *texts, size_t n, size_t *words,
		     struct err *e)
{
	size_t had = t->cap_texts;

	if (mem_grow(&t->texts, &t->cap_texts, n, sizeof(*t->texts), e) ||
	    mem_grow(&t->ends, &t->cap_ends, n, sizeof(*t->ends), e))
		return e->code;
	if (t->cap_texts > had)
		memset(t->texts + had, 0, (t->cap_texts - had) * sizeof(*t->texts));
	*words = 0;
	for (size_t i = 0; i < n; i++) {
		if (tokenize_text(t, texts[i], i > 0, &t->texts[i], e) ||
		    ter_split_words(t, buf_text(&t->texts[i]), t->texts[i].len, words, e))
			return e->code;
		t->ends[i] = *words;
	}
	return 0;
}

static int number_words(struct ter *t, size_t n, struct err *e)
{
	int32_t number = 0;

	if (mem_grow(&t->numbers, &t->cap_numbers, MAX(n, 1), sizeof(*t->numbers), e))
		return e->code;
	if (n)
		qsort(t->words, n, sizeof(*t->words), by_text);
	for (size_t i = 0; i < n; i++) {
		number += i && by_text(&t->words[i - 1], &t->words[i]) != 0;
		t->numbers[t->words[i].at] = number;
	}
	return 0;
}

/* ---- segments ---------------------------------------------------------- */

int ter_add(struct ter *t, const struct score_text *hypothesis, const struct score_text *references,
	    size_t n, struct err *e)
{
	const struct score_text **texts;
	int64_t least = INT64_MAX;
	size_t words = 0, length = 0;
	int rc = signature_check_references(t->segments, t->references, n, e);

	if (rc)
		return rc;
	texts = mem_alloc(n + 1, sizeof(*texts), e);
	rc = texts ? 0 : e->code;
	if (!rc) {
		texts[0] = hypothesis;
		for (size_t i = 0; i < n; i++)
			texts[i + 1] = &references[i];
		rc = split_all(t, texts, n + 1, &words, e);
	}
	if (!rc)
		rc = number_words(t, words, e);
	for (size_t i = 1; !rc && i <= n; i++) {
		struct ter_words h = { t->numbers, t->ends[0] },
				 r = { t->numbers + t->ends[i - 1], t->ends[i] - t->ends[i - 1] };
		int64_t edits;

		rc = ter_shift_edits(t->shift, h, r, &edits, e);
		least = MIN(least, edits);
		length += r.n;
	}
	free(texts);
	if (rc)
		return rc;
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
	*score = (struct ter_score){ edit_rate(t->edits, t->length), t->edits, t->length,
				     t->segments };
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
