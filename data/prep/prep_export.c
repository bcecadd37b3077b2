/*
 * prep_export.c - option --keep-text: the texts after each step, as files of the reference scripts
 *
 *	bpe (tensorflow/nmt wmt16_en_de.sh)		sentencepiece (OpenSeq2Seq get_en_de.sh)
 *	train.tok.clean.LANG				train.clean.LANG
 *	train.tok.clean.bpe.32000.LANG			train.clean.LANG.shuffled
 *	bpe.32000					train.clean.LANG.shuffled.BPE_common.32K.tok
 *							m_common.model m_common.vocab
 *	SET.tok.LANG SET.tok.bpe.32000.LANG		SET.LANG.BPE_common.32K.tok
 *
 * Names contain ".tok" only if the recipe tokenises. An unshuffled text holds what the reference
 * script produces, including pairs that max_tokens keeps out of the shards. Line i of a shuffled
 * text is pair i of train.shard. Sentences are rebuilt from the word numbers of the token columns
 * and from the pieces of each word.
 */
#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "data/pipeline/pipeline.h"
#include "data/prep/parallel.h"
#include "data/prep/prep_pairs.h"
#include "share/base/file.h"
#include "share/base/mem.h"

#define NAME_BYTES 64

enum { SOURCE, TARGET };

/* Output files of one parallel text. */
struct texts_out {
	struct outfile side[2];
};

struct text_export {
	struct prep *p;
	const struct intern *words;
	const char *tok;	 /* ".tok", or "" */
	char mark[N_SIDES][48];	 /* ".bpe.32000", or ".BPE_common.32K.tok" */
	struct exported_pieces { /* of each subword model, the target's last */
		struct buf text; /* the pieces of each word, joined by blanks */
		size_t *end;	 /* owned: [words->n] those of word w end at end[w] */
	} pieces[N_SIDES];
	struct texts_out plain, split; /* words; pieces */
	struct buf line;
	struct pipeline *tools; /* owned: for the held-out sets */
	/* for the shuffled texts */
	struct external_shuffle *external_shuffle; /* owned; NULL: no shuffled texts */
	struct buf final;			   /* work/verdicts.final */
	struct shuffle order;
	int64_t n_shuffled; /* pairs put into the external shuffle */
};

/* ---- names ---- */

/* The reference's mark for files of pieces; sizes are written like 32K or 50000. */
static void export_name_suffix(struct text_export *x, int side)
{
	const struct conf *c = x->p->c;
	long long size = text_vocabulary_size(c, side);
	char *mark = x->mark[side];

	if (text_segmentation(c, side) == SEGMENTATION_BPE)
		snprintf(mark, sizeof(x->mark[side]), ".bpe.%lld", (long long)text_merges(c, side));
	else if (size % 1024 == 0)
		snprintf(mark, sizeof(x->mark[side]), ".BPE_common.%lldK.tok", size / 1024);
	else
		snprintf(mark, sizeof(x->mark[side]), ".BPE_common.%lld.tok", size);
}

static const char *export_language(const struct text_export *x, int side)
{
	return side == SOURCE ? x->p->c->source_language : x->p->c->target_language;
}

enum text_form { PLAIN, SPLIT = 1, SHUFFLED = 2 }; /* bits */

/* Open text/STEM.LANG for both sides, with the marks of the form before or after LANG. */
static int open_texts(struct text_export *x, struct texts_out *o, const char *stem, int form,
		      struct err *e)
{
	for (int side = SOURCE; side <= TARGET; side++) {
		const bool is_bpe = text_segmentation(x->p->c, side) == SEGMENTATION_BPE;
		const char *mark = form & SPLIT ? x->mark[side] : "";
		const char *path =
			prep_path(x->p, e, "text/%s%s.%s%s%s", stem, is_bpe ? mark : "",
				  export_language(x, side), form & SHUFFLED ? ".shuffled" : "",
				  is_bpe ? "" : mark);

		if (!path || outfile_open(&o->side[side], path, e))
			return e->code;
	}
	return 0;
}

static int close_texts(struct texts_out *o, struct err *e)
{
	int rc = outfile_commit(&o->side[SOURCE], e);

	return rc ? rc : outfile_commit(&o->side[TARGET], e);
}

static void abandon_texts(struct texts_out *o)
{
	outfile_abandon(&o->side[SOURCE]);
	outfile_abandon(&o->side[TARGET]);
}

/* ---- lines ---- */

static int export_write_line(struct text_export *x, struct outfile *o, struct err *e)
{
	buf_add_char(&x->line, '\n');
	if (buf_check(&x->line, e))
		return e->code;
	if (fwrite(x->line.data, 1, x->line.len, o->stream) != x->line.len)
		return err_set_errno(e, ERR_IO, "%s: cannot be written", o->path);
	return 0;
}

static int export_write_words(struct text_export *x, struct outfile *o, const int32_t *words,
			      int32_t n, struct err *e)
{
	buf_clear(&x->line);
	for (int32_t i = 0; i < n; i++) {
		size_t len;
		const char *text = intern_text(x->words, words[i], &len);

		if (i)
			buf_add_char(&x->line, ' ');
		buf_add(&x->line, text, len);
	}
	return export_write_line(x, o, e);
}

static int export_write_pieces(struct text_export *x, int side, const int32_t *words, int32_t n,
			       struct err *e)
{
	const struct exported_pieces *q = &x->pieces[MIN(side, text_subword_models(x->p->c) - 1)];

	buf_clear(&x->line);
	for (int32_t i = 0; i < n; i++) {
		size_t start = words[i] ? q->end[words[i] - 1] : 0, len = q->end[words[i]] - start;

		if (len && x->line.len)
			buf_add_char(&x->line, ' ');
		buf_add(&x->line, q->text.data + start, len);
	}
	return export_write_line(x, &x->split.side[side], e);
}

static int export_write_pair(struct text_export *x, const int32_t *source, int32_t n_source,
			     const int32_t *target, int32_t n_target, struct err *e)
{
	if (export_write_words(x, &x->plain.side[SOURCE], source, n_source, e) ||
	    export_write_words(x, &x->plain.side[TARGET], target, n_target, e))
		return e->code;
	if (!x->split.side[SOURCE].stream)
		return 0;
	if (export_write_pieces(x, SOURCE, source, n_source, e) ||
	    export_write_pieces(x, TARGET, target, n_target, e))
		return e->code;
	return 0;
}

/* ---- train ---- */

static int export_save_pieces(void *context, int32_t word, const char *pieces, size_t n,
			      struct err *e)
{
	struct exported_pieces *q = context;

	buf_add(&q->text, pieces, n);
	q->end[word] = q->text.len;
	return buf_check(&q->text, e);
}

static int export_find_pieces(struct text_export *x, struct err *e)
{
	const int32_t n = x->words->n;
	int64_t *counts = prep_read_counts(x->p, n, e);
	int rc = counts ? 0 : e->code;

	for (int side = 0; !rc && side < text_subword_models(x->p->c); side++) {
		struct exported_pieces *q = &x->pieces[side];

		q->end = mem_alloc((size_t)n, sizeof(*q->end), e);
		rc = q->end ? prep_each_word(x->p, (enum pipeline_side)side,
					     counts + (size_t)side * (size_t)n, export_save_pieces,
					     q, e)
			    : e->code;
		for (int32_t i = 1; !rc && i < n; i++) /* words that were not visited */
			q->end[i] = MAX(q->end[i], q->end[i - 1]);
	}
	free(counts);
	return rc;
}

static int export_pair(void *context, const struct pair_words *pair, struct err *e)
{
	struct text_export *x = context;

	if (export_write_pair(x, pair->source, pair->n_source, pair->target, pair->n_target, e))
		return e->code;
	if (!x->external_shuffle || x->final.data[pair->number] != CLEAN_KEEP)
		return 0;
	return external_shuffle_put(x->external_shuffle,
				    shuffle_inverse_at(&x->order, x->n_shuffled++), pair->source,
				    pair->n_source, pair->target, pair->n_target, e);
}

static int export_shuffled_pair(void *context, const int32_t *source, int32_t n_source,
				const int32_t *target, int32_t n_target, struct err *e)
{
	return export_write_pair(context, source, n_source, target, n_target, e);
}

static int export_open_shuffle(struct text_export *x, struct err *e)
{
	struct prep *p = x->p;
	struct external_shuffle_options o = {
		.limit = x->words->n,
		.expected_bytes = 4 * (p->numbers.source_tokens[0] + p->numbers.target_tokens[0]),
	};

	x->external_shuffle = prep_open_shuffle(p, &o, &x->final, &x->order, e);
	return x->external_shuffle ? 0 : e->code;
}

/* All pairs that the rules kept, in source order. */
static int export_in_source_order(struct text_export *x, const char *stem, struct err *e)
{
	struct buf verdicts = { 0 };
	int rc = prep_read_verdicts(x->p, "verdicts", &verdicts, e);

	if (!rc)
		rc = open_texts(x, &x->plain, stem, PLAIN, e);
	if (!rc && !x->external_shuffle)
		rc = open_texts(x, &x->split, stem, SPLIT, e);
	if (!rc)
		rc = prep_each_pair(x->p, &verdicts, x->words->n, export_pair, x, e);
	if (!rc)
		rc = close_texts(&x->plain, e);
	if (!rc && !x->external_shuffle)
		rc = close_texts(&x->split, e);
	buf_free(&verdicts);
	return rc;
}

/* The pairs of train.shard, in its order. */
static int export_in_shard_order(struct text_export *x, const char *stem, struct err *e)
{
	int rc = open_texts(x, &x->plain, stem, SHUFFLED, e);

	if (!rc)
		rc = open_texts(x, &x->split, stem, SHUFFLED | SPLIT, e);
	if (!rc)
		rc = external_shuffle_run(x->external_shuffle, export_shuffled_pair, x, e);
	if (!rc)
		rc = close_texts(&x->plain, e);
	return rc ? rc : close_texts(&x->split, e);
}

static int export_train(struct text_export *x, struct err *e)
{
	char stem[NAME_BYTES];
	int rc = export_find_pieces(x, e);

	snprintf(stem, sizeof(stem), "train%s.clean", x->tok);
	if (!rc && text_segmentation(x->p->c, TARGET) != SEGMENTATION_BPE)
		rc = export_open_shuffle(x, e);
	if (!rc)
		rc = export_in_source_order(x, stem, e);
	return rc || !x->external_shuffle ? rc : export_in_shard_order(x, stem, e);
}

/* ---- held-out sets ---- */

static int export_tokenize_line(struct text_export *x, int side, const struct parallel_text *t,
				struct err *e)
{
	struct buf tokens = { 0 };
	int rc = pipeline_tokenize(x->tools, (enum pipeline_side)side, t->text, t->len, &tokens, e);

	if (!rc && x->plain.side[side].stream) {
		buf_clear(&x->line);
		buf_add(&x->line, buf_text(&tokens), tokens.len);
		rc = export_write_line(x, &x->plain.side[side], e);
	}
	if (!rc) {
		buf_clear(&x->line);
		rc = pipeline_word_pieces(x->tools, (enum pipeline_side)side, buf_text(&tokens),
					  tokens.len, &x->line, e);
	}
	buf_free(&tokens);
	return rc ? rc : export_write_line(x, &x->split.side[side], e);
}

static int export_held_out_pair(void *context, const struct parallel_reader *in, struct err *e)
{
	struct text_export *x = context;
	int rc = export_tokenize_line(x, SOURCE, &in->source, e);

	return rc ? rc : export_tokenize_line(x, TARGET, &in->target, e);
}

static int export_held_out_set(struct text_export *x, const char *set, struct err *e)
{
	char stem[NAME_BYTES];
	int rc = 0;

	snprintf(stem, sizeof(stem), "%s%s", set, x->tok);
	if (*x->tok)
		rc = open_texts(x, &x->plain, stem, PLAIN, e);
	if (!rc)
		rc = open_texts(x, &x->split, stem, SPLIT, e);
	if (!rc)
		rc = parallel_each_pair(x->p->folder, set, export_language(x, SOURCE),
					export_language(x, TARGET), export_held_out_pair, x, e);
	if (!rc && *x->tok)
		rc = close_texts(&x->plain, e);
	return rc ? rc : close_texts(&x->split, e);
}

static int export_held_out_sets(struct text_export *x, struct err *e)
{
	int rc = 0;

	x->tools = pipeline_open_pieces(x->p->folder, x->p->c, e);
	if (!x->tools)
		return e->code;
	for (int i = 1; !rc && i < x->p->texts.n_sets; i++)
		rc = export_held_out_set(x, x->p->texts.sets[i], e);
	return rc;
}

/* ---- codes ---- */

static int export_copy_file(struct text_export *x, const char *from, const char *to, struct err *e)
{
	const char *path = prep_path(x->p, e, "text/%s", to);
	char *source = path ? file_path(e, "%s/%s", x->p->folder, from) : NULL;
	int rc = source ? file_copy(source, path, e) : e->code;

	free(source);
	return rc;
}

/* Models of both sides have the language in the name: bpe.32000.LANG, m_LANG.model. */
static int export_copy_codes(struct text_export *x, int side, struct err *e)
{
	const struct conf *c = x->p->c;
	const bool is_common = text_subword_models(c) == 1;
	const char *language = export_language(x, side);
	char to[NAME_BYTES + 48], from[NAME_BYTES];
	int rc;

	if (text_segmentation(c, side) == SEGMENTATION_BPE) {
		snprintf(to, sizeof(to), "%s%s%s", x->mark[side] + 1, is_common ? "" : ".",
			 is_common ? "" : language);
		return export_copy_file(x, text_codes_file(c, side), to, e);
	}
	snprintf(to, sizeof(to), "m_%s.model", is_common ? "common" : language);
	rc = export_copy_file(x, text_codes_file(c, side), to, e);
	if (rc || c->pieces_from)
		return rc;
	snprintf(from, sizeof(from), "work/%s", prep_piece_list(x->p, side));
	snprintf(to, sizeof(to), "m_%s.vocab", is_common ? "common" : language);
	return export_copy_file(x, from, to, e);
}

int prep_export_text(struct prep *p, struct err *e)
{
	struct text_export x = { .p = p,
				 .words = prep_words(p, e),
				 .tok = text_is_tokenized(p->c, SOURCE) ||
							text_is_tokenized(p->c, TARGET)
						? ".tok"
						: "" };
	const char *folder = x.words ? prep_path(p, e, "text") : NULL;
	int rc = folder ? file_make_folders(folder, e) : e->code;

	export_name_suffix(&x, SOURCE);
	export_name_suffix(&x, TARGET);
	progress_begin(&p->progress, "text", p->numbers.read, "pairs");
	if (!rc)
		rc = export_train(&x, e);
	if (!rc)
		rc = export_held_out_sets(&x, e);
	for (int side = 0; !rc && side < text_subword_models(p->c); side++)
		rc = export_copy_codes(&x, side, e);
	if (!rc)
		progress_end(&p->progress, "texts of %d sets in %s/text", p->texts.n_sets,
			     p->folder);
	abandon_texts(&x.plain);
	abandon_texts(&x.split);
	external_shuffle_free(x.external_shuffle);
	for (int side = 0; side < N_SIDES; side++) {
		buf_free(&x.pieces[side].text);
		free(x.pieces[side].end);
	}
	buf_free(&x.line);
	buf_free(&x.final);
	pipeline_close(x.tools);
	return rc;
}
