/* prep_learn.c - stage "learn": BPE merges or SentencePiece pieces from the counts of words */
#include <stdio.h>
#include <stdlib.h>

#include "data/prep/prep_pairs.h"
#include "data/prep/prep_pieces.h"
#include "data/subword/bpe.h"
#include "data/subword/pipeline.h"
#include "data/subword/sp.h"
#include "data/words/word_counter.h"
#include "share/base/file.h"
#include "share/base/number_format.h"
#include "share/workspace/model_files.h"

/* What the learner of pieces reads: words without protected symbols. */
struct word_source {
	struct word_counter *words; /* owned */
	struct protect *protect;    /* owned; NULL: none */
	struct buf rest;	    /* of a word without its symbols */
};

/* BPE learns from what is left without the symbols; SentencePiece knows the symbols itself. */
static int count_table_word(struct prep *p, struct word_source *s, const char *text, size_t n,
			    int64_t count, struct err *e)
{
	size_t len;

	if (p->c->segmentation != SEGMENTATION_BPE)
		return sp_count_word(s->words, text, n, count, e);
	if (protect_find(s->protect, text, n, &len) == n)
		return bpe_count_words(s->words, text, n, count, e);
	buf_clear(&s->rest);
	protect_blank_out(s->protect, pipeline_where(p->c, SIDE_SOURCE), text, n, &s->rest);
	return buf_check(&s->rest, e)
		       ? e->code
		       : bpe_count_words(s->words, buf_text(&s->rest), s->rest.len, count, e);
}

/* The learner counts the words of the table again, each as often as it occurs in kept pairs. */
static int count_table_words(struct prep *p, struct word_source *s, const struct intern *words,
			     const int64_t *counts, struct err *e)
{
	size_t n;

	for (int32_t i = 0; i < words->n; i++) {
		const char *text = intern_text(words, i, &n);

		if (counts[i] > 0 && count_table_word(p, s, text, n, counts[i], e))
			return e->code;
		progress_at(&p->progress, i);
	}
	return 0;
}

static int learn_bpe(struct prep *p, struct word_counter *w, struct err *e)
{
	struct outfile out = { 0 };
	const char *path = prep_path(p, e, BPE_CODES_FILE);
	int rc = path ? outfile_open(&out, path, e) : e->code;

	if (!rc)
		rc = bpe_learn(w, p->c->merges, p->c->min_frequency, out.stream, &p->numbers.merges,
			       e);
	if (!rc)
		rc = outfile_commit(&out, e);
	outfile_abandon(&out);
	return rc;
}

static int learn_sentencepiece(struct prep *p, const struct word_source *s, struct err *e)
{
	char *model = file_path(e, "%s/" SENTENCEPIECE_FILE, p->folder);
	char *vocab = model ? file_path(e, "%s/sentencepiece.vocab", p->work) : NULL;
	int rc = vocab ? sp_learn(s->words, p->c->vocabulary_size, s->protect, model, vocab,
				  &p->numbers.merges, e)
		       : e->code;

	free(model);
	free(vocab);
	return rc;
}

static int learn_pieces_of(struct prep *p, const struct intern *words, const int64_t *counts,
			   struct err *e)
{
	struct word_source s = { .words = word_counter_new(e) };
	int rc = s.words ? pipeline_symbols(&s.protect, p->c, e) : e->code;

	if (!rc)
		rc = count_table_words(p, &s, words, counts, e);
	if (!rc)
		rc = p->c->segmentation == SEGMENTATION_BPE ? learn_bpe(p, s.words, e)
							    : learn_sentencepiece(p, &s, e);
	word_counter_free(s.words);
	protect_close(s.protect);
	buf_free(&s.rest);
	return rc;
}

int prep_learn_pieces(struct prep *p, struct err *e)
{
	const struct intern *words = prep_words(p, e);
	int64_t *counts = words ? prep_read_counts(p, words->n, e) : NULL;
	bool is_bpe = p->c->segmentation == SEGMENTATION_BPE;
	int rc = counts ? 0 : e->code;

	if (!rc) /* the codes of an earlier preparation with the other segmentation */
		rc = prep_remove_file(p, e, "%s", is_bpe ? SENTENCEPIECE_FILE : BPE_CODES_FILE);
	if (!rc) {
		progress_begin(&p->progress, "learn", words->n, "words");
		rc = p->c->pieces_from ? prep_pieces_copy_codes(p, e)
				       : learn_pieces_of(p, words, counts, e);
	}
	if (!rc && p->c->pieces_from)
		progress_end(&p->progress, "%s %s taken from %s", COUNT_TEXT(p->numbers.merges),
			     is_bpe ? "merges" : "pieces", p->c->pieces_from);
	else if (!rc && is_bpe)
		progress_end(&p->progress, "%s of %s merges", COUNT_TEXT(p->numbers.merges),
			     COUNT_TEXT(p->c->merges));
	else if (!rc)
		progress_end(&p->progress, "%s of %s pieces", COUNT_TEXT(p->numbers.merges),
			     COUNT_TEXT(p->c->vocabulary_size));
	free(counts);
	return rc;
}
