/* prep_learn.c - stage "learn": BPE merges or SentencePiece pieces from the counts of words */
#include <stdio.h>
#include <stdlib.h>

#include "data/prep/prep_pairs.h"
#include "data/prep/prep_pieces.h"
#include "data/subword/bpe.h"
#include "data/subword/sp.h"
#include "share/base/file.h"
#include "share/base/number_format.h"
#include "share/workspace/model_files.h"

/* In the order of the word table, so the result does not depend on the number of threads. */
#define EACH_COUNTED_WORD(w, words, counts)                                                        \
	for (int32_t w = 0; w < (words)->n; w++)                                                   \
		if ((counts)[w] > 0)

static int learn_bpe(struct prep *p, const struct intern *words, const int64_t *counts,
		     struct err *e)
{
	struct bpe_learner *l = bpe_learner_new(e);
	struct outfile out = { 0 };
	const char *path;
	int rc = l ? 0 : e->code;
	size_t n;

	EACH_COUNTED_WORD(w, words, counts)
	{
		const char *text = intern_text(words, w, &n);

		if (rc)
			break;
		rc = bpe_learner_add_word(l, text, n, counts[w], e);
		progress_at(&p->progress, w);
	}
	if (!rc && !(path = prep_path(p, e, BPE_CODES_FILE)))
		rc = e->code;
	if (!rc)
		rc = outfile_open(&out, path, e);
	if (!rc)
		rc = bpe_learn(l, p->c->merges, p->c->min_frequency, out.stream, &p->numbers.merges,
			       e);
	if (!rc)
		rc = outfile_commit(&out, e);
	outfile_abandon(&out);
	bpe_learner_free(l);
	return rc;
}

static int learn_sentencepiece(struct prep *p, const struct intern *words, const int64_t *counts,
			       struct err *e)
{
	struct sp_learner *l = sp_learner_new(e);
	char *model = l ? file_path(e, "%s/" SENTENCEPIECE_FILE, p->folder) : NULL;
	char *vocab = model ? file_path(e, "%s/sentencepiece.vocab", p->work) : NULL;
	int rc = vocab ? 0 : e->code;
	size_t n;

	EACH_COUNTED_WORD(w, words, counts)
	{
		const char *text = intern_text(words, w, &n);

		if (rc)
			break;
		rc = sp_learner_add_word(l, text, n, counts[w], e);
		progress_at(&p->progress, w);
	}
	if (!rc)
		rc = sp_learn(l, p->c->vocabulary_size, model, vocab, &p->numbers.merges, e);
	sp_learner_free(l);
	free(model);
	free(vocab);
	return rc;
}

/* Remove the codes of an earlier preparation with the other segmentation. */
static int remove_other(struct prep *p, struct err *e)
{
	bool is_bpe = p->c->segmentation == SEGMENTATION_BPE;
	const char *path = prep_path(p, e, is_bpe ? SENTENCEPIECE_FILE : BPE_CODES_FILE);

	if (path)
		remove(path);
	return path ? 0 : e->code;
}

int prep_learn_pieces(struct prep *p, struct err *e)
{
	const struct intern *words = prep_words(p, e);
	int64_t *counts = words ? prep_read_counts(p, words->n, e) : NULL;
	bool is_bpe = p->c->segmentation == SEGMENTATION_BPE;
	int rc = counts ? remove_other(p, e) : e->code;

	if (!rc) {
		progress_begin(&p->progress, "learn", words->n, "words");
		rc = p->c->pieces_from ? prep_pieces_copy_codes(p, e)
		     : is_bpe	       ? learn_bpe(p, words, counts, e)
				       : learn_sentencepiece(p, words, counts, e);
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
