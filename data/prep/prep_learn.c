/* prep_learn.c - stage "learn": BPE merges or SentencePiece pieces from the counts of words */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "data/pipeline/pipeline.h"
#include "data/prep/prep_pairs.h"
#include "data/prep/prep_pieces.h"
#include "data/sentencepiece/sp.h"
#include "data/subword/bpe.h"
#include "data/words/word_counter.h"
#include "share/base/file.h"
#include "share/base/number_format.h"
#include "share/base/util.h"
#include "share/workspace/model_files.h"

/* What the learner of pieces reads: words without protected symbols. */
struct word_source {
	enum pipeline_side side;
	struct word_counter *words; /* owned */
	struct protect *protect;    /* owned; NULL: none */
	struct buf rest;	    /* of a word without its symbols */
};

/* BPE learns from what is left without the symbols; SentencePiece knows the symbols itself. */
static int count_table_word(struct prep *p, struct word_source *s, const char *text, size_t n,
			    int64_t count, struct err *e)
{
	size_t len;

	if (text_segmentation(p->c, (int)s->side) != SEGMENTATION_BPE)
		return sp_count_word(s->words, text, n, count, e);
	if (protect_find(s->protect, text, n, &len) == n)
		return bpe_count_words(s->words, text, n, count, e);
	buf_clear(&s->rest);
	protect_blank_out(s->protect, pipeline_where(p->c, s->side), text, n, &s->rest);
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

static int learn_bpe(struct prep *p, const struct word_source *s, struct err *e)
{
	const int side = (int)s->side;
	struct outfile out = { 0 };
	const char *path = prep_path(p, e, "%s", text_codes_file(p->c, side));
	int rc = path ? outfile_open(&out, path, e) : e->code;

	if (!rc)
		rc = bpe_learn(s->words, text_merges(p->c, side), p->c->min_frequency, out.stream,
			       prep_merges(p, side), e);
	if (!rc)
		rc = outfile_commit(&out, e);
	outfile_abandon(&out);
	return rc;
}

static int learn_sentencepiece(struct prep *p, const struct word_source *s, struct err *e)
{
	const int side = (int)s->side;
	char *model = file_path(e, "%s/%s", p->folder, text_codes_file(p->c, side));
	char *vocab = model ? file_path(e, "%s/%s", p->work, prep_piece_list(p, side)) : NULL;
	int64_t size = text_vocabulary_size(p->c, side), *learned = prep_merges(p, side);
	int rc = vocab ? 0 : e->code;

	if (!rc && text_segmentation(p->c, side) == SEGMENTATION_UNIGRAM)
		rc = sp_learn_unigram(s->words, size, s->protect, p->threads, model, vocab, learned,
				      e);
	else if (!rc)
		rc = sp_learn(s->words, size, s->protect, model, vocab, learned, e);

	free(model);
	free(vocab);
	return rc;
}

static int learn_pieces_of(struct prep *p, enum pipeline_side side, const struct intern *words,
			   const int64_t *counts, struct err *e)
{
	struct word_source s = { .side = side, .words = word_counter_new(e) };
	int rc = s.words ? pipeline_symbols(&s.protect, p->c, e) : e->code;

	if (!rc)
		rc = count_table_words(p, &s, words, counts, e);
	if (!rc)
		rc = text_segmentation(p->c, (int)side) == SEGMENTATION_BPE
			     ? learn_bpe(p, &s, e)
			     : learn_sentencepiece(p, &s, e);
	word_counter_free(s.words);
	protect_close(s.protect);
	buf_free(&s.rest);
	return rc;
}

/* The codes of an earlier preparation with other options. */
static int remove_other_codes(struct prep *p, struct err *e)
{
	static const struct {
		const char *name;
		bool is_vocabulary;
	} files[] = { MODEL_FILE_KINDS };
	const int last = text_subword_models(p->c) - 1;
	int rc = 0;

	for (size_t i = 0; !rc && i < ARRAY_LEN(files); i++)
		if (!files[i].is_vocabulary && strcmp(files[i].name, text_codes_file(p->c, 0)) &&
		    strcmp(files[i].name, text_codes_file(p->c, last)))
			rc = prep_remove_file(p, e, "%s", files[i].name);
	return rc;
}

/* "12,345 of 32,000 merges" of a side. */
static void describe_learned(struct prep *p, int side, struct buf *out)
{
	const bool is_bpe = text_segmentation(p->c, side) == SEGMENTATION_BPE;

	buf_add_str(out, COUNT_TEXT(*prep_merges(p, side)));
	if (!p->c->pieces_from)
		buf_printf(out, " of %s",
			   COUNT_TEXT(is_bpe ? text_merges(p->c, side)
					     : text_vocabulary_size(p->c, side)));
	buf_add_str(out, is_bpe ? " merges" : " pieces");
}

static int end_learning(struct prep *p, struct err *e)
{
	struct buf text = { 0 };
	int rc;

	for (int side = 0; side < text_subword_models(p->c); side++) {
		buf_add_str(&text, side ? ", " : "");
		describe_learned(p, side, &text);
		if (text_subword_models(p->c) > 1)
			buf_add_str(&text, side ? " of the target" : " of the source");
	}
	if (p->c->pieces_from)
		buf_printf(&text, " taken from %s", p->c->pieces_from);
	rc = buf_check(&text, e);
	if (!rc)
		progress_end(&p->progress, "%s", buf_text(&text));
	buf_free(&text);
	return rc;
}

int prep_learn_pieces(struct prep *p, struct err *e)
{
	const struct intern *words = prep_words(p, e);
	int64_t *counts = words ? prep_read_counts(p, words->n, e) : NULL;
	int rc = counts ? remove_other_codes(p, e) : e->code;

	if (!rc) {
		progress_begin(&p->progress, "learn", words->n, "words");
		rc = p->c->pieces_from ? prep_pieces_copy_codes(p, e) : 0;
	}
	for (int side = 0; !rc && !p->c->pieces_from && side < text_subword_models(p->c); side++)
		rc = learn_pieces_of(p, (enum pipeline_side)side, words,
				     counts + (size_t)side * (size_t)words->n, e);
	if (!rc)
		rc = end_learning(p, e);
	free(counts);
	return rc;
}
