/*
 * export_marian.c - a folder that marian-decoder and pymarian open
 *
 *	model.npz        arrays by name, and the options of the model in special:model.yml; see import_marian.c
 *	decoder.yml      model and vocabularies, for marian-decoder -c decoder.yml
 *	vocab.spm        a joint SentencePiece model whose pieces are the vocabulary: Marian reads raw text
 *	vocab.yml        else the numbers of the pieces, or vocab.source.yml and vocab.target.yml; Marian reads pieces
 *	source.spm target.spm, or bpe.codes
 *	                 what splits text into these pieces
 *	recipe.ini vocab.tsv
 *	                 options of the text and frequencies of the pieces, for werkbank import
 *
 * Marian's tables have no rows for <pad> and <s>: its decoder starts from a zero vector. Rows of these tokens follow the
 * pieces if they are part of the model's predictions. All options of the model are written, because Marian takes the
 * defaults of its command line for those that a file lacks.
 */
#include <stdlib.h>
#include <string.h>

#include "data/sentencepiece/sp.h"
#include "eval/export/export_format.h"
#include "eval/export/zip_write.h"
#include "share/base/file.h"
#include "share/base/mem.h"
#include "share/conf/text_sides.h"
#include "share/format/json.h"
#include "share/workspace/model_files.h"

#define NPY_ALIGN 64 /* of the data of an array */

static int check_marian(const struct export_job *x, struct err *e)
{
	const struct model_shape *s = x->shape;

	if (s->norm_place == NORM_PRE && s->decoder_self != DECODER_SSRU)
		return export_refuse(x, &export_marian, e,
				     "its norm_place is pre: Marian's decoder does not normalise "
				     "keys and values of earlier target tokens, as its training "
				     "does");
	return 0;
}

/* ---- options of the model ---------------------------------------------- */

static const char *marian_activation(const struct model_shape *s)
{
	return s->activation == ACTIVATION_silu	  ? "swish"
	       : s->activation == ACTIVATION_gelu ? "gelu"
						  : "relu";
}

static const char *yaml_switch(bool is_on)
{
	return is_on ? "true" : "false";
}

static void put_marian_sizes(const struct export_job *x, const struct token_rows *rows,
			     struct buf *b)
{
	const struct model_shape *s = x->shape;

	buf_printf(b, "type: transformer\nversion: v1.12.0\ndim-emb: %d\n", s->d_model);
	buf_printf(b, "dim-vocabs: [%d, %d]\nmax-length: 1024\n",
		   rows->n_source ? rows->n_source : rows->n_target, rows->n_target);
	buf_printf(b, "enc-depth: %d\ndec-depth: %d\n", s->encoder_layers, s->decoder_layers);
	buf_printf(b, "transformer-heads: %d\ntransformer-dim-ffn: %d\n", s->heads, s->d_ff);
	buf_printf(b, "transformer-decoder-dim-ffn: %d\n", s->decoder_ff);
	buf_add_str(b, "transformer-ffn-depth: 2\ntransformer-decoder-ffn-depth: 0\n");
}

static void put_marian_config(const struct export_job *x, const struct token_rows *rows,
			      struct buf *b)
{
	const struct model_shape *s = x->shape;
	const char *norm = s->norm ? "r" : "n";
	const bool is_pre = s->norm_place == NORM_PRE, is_all = s->tied_embeddings == TIED_ALL;

	put_marian_sizes(x, rows, b);
	buf_printf(b, "transformer-ffn-activation: %s\n", marian_activation(s));
	buf_printf(b, "transformer-preprocess: \"%s\"\ntransformer-postprocess: da%s\n",
		   is_pre ? norm : "", is_pre ? "" : norm);
	buf_printf(b, "transformer-postprocess-emb: %sd\ntransformer-postprocess-top: \"%s\"\n",
		   s->embedding_norm ? norm : "", is_pre && s->final_norm == ARCH_YES ? norm : "");
	buf_printf(b, "transformer-decoder-autoreg: %s\ndec-cell: ssru\n",
		   s->decoder_self == DECODER_SSRU ? "rnn" : "self-attention");
	buf_add_str(b, "dec-cell-base-depth: 2\ndec-cell-high-depth: 1\nenc-cell: gru\n"
		       "transformer-rnn-projection: false\ntransformer-no-projection: false\n"
		       "layer-normalization: false\ntransformer-train-position-embeddings: false\n"
		       "transformer-no-bias: false\ntransformer-no-affine: false\n"
		       "transformer-tied-layers: []\ntransformer-guided-alignment-layer: last\n"
		       "transformer-depth-scaling: false\nright-left: false\nskip: false\n"
		       "input-types: []\nulr: false\nlemma-dim-emb: 0\n");
	buf_printf(b, "tied-embeddings-all: %s\ntied-embeddings: %s\ntied-embeddings-src: %s\n",
		   yaml_switch(is_all), yaml_switch(s->tied_embeddings == TIED_OUTPUT),
		   yaml_switch(s->tied_embeddings == TIED_SOURCE));
	buf_printf(b, "output-omit-bias: %s\n", yaml_switch(!s->output_bias));
}

/* ---- arrays ------------------------------------------------------------ */

struct npy_writer {
	const struct weight_store *weights;
	const struct weight_item *item; /* NULL: bytes */
	const struct buf *bytes;
	float *row;
};

/* The head of an array; its data starts at a multiple of NPY_ALIGN bytes. */
static void put_npy_head(struct zip_writer *z, const char *type, const char *shape)
{
	char head[192];
	size_t n = (size_t)snprintf(head + 10, sizeof(head) - 10 - NPY_ALIGN,
				    "{'descr': '%s', 'fortran_order': False, 'shape': %s, }", type,
				    shape) +
		   10;

	memcpy(head, "\x93NUMPY\1", 8); /* with the NUL: version 1.0 */
	for (; (n + 1) % NPY_ALIGN; n++)
		head[n] = ' ';
	head[n++] = '\n';
	head[8] = (char)(n - 10);
	head[9] = (char)((n - 10) >> 8);
	zip_put(z, head, n);
}

static int put_npy(void *arg, struct zip_writer *z, struct err *e)
{
	const struct npy_writer *w = arg;
	const struct weight_item *x = w->item;
	char shape[64];

	(void)e;
	if (!x) {
		snprintf(shape, sizeof(shape), "(%zu,)", w->bytes->len);
		put_npy_head(z, "|i1", shape);
		zip_put(z, w->bytes->data, w->bytes->len);
		return 0;
	}
	snprintf(shape, sizeof(shape), "(%lld, %lld)", (long long)x->rows, (long long)x->cols);
	put_npy_head(z, "<f4", shape);
	for (int64_t r = 0; r < x->rows; r++) {
		weight_store_row(w->weights, x, r, w->row);
		zip_put(z, w->row, (size_t)x->cols * sizeof(*w->row));
	}
	return 0;
}

static int put_arrays(const struct weight_store *weights, const struct buf *config, FILE *out,
		      struct err *e)
{
	struct zip_writer z = { .out = out };
	struct npy_writer w = { .weights = weights, .bytes = config };
	int rc = zip_add_member(&z, "special:model.yml.npy", put_npy, &w, e);

	w.row = mem_alloc((size_t)weight_store_widest(weights), sizeof(*w.row), e);
	if (!rc && !w.row)
		rc = e->code;
	for (size_t i = 0; !rc && i < weights->n; i++) {
		char name[112];

		w.item = &weights->items[i];
		snprintf(name, sizeof(name), "%s.npy", w.item->name);
		rc = zip_add_member(&z, name, put_npy, &w, e);
	}
	if (!rc)
		rc = zip_finish(&z, e);
	zip_writer_close(&z);
	free(w.row);
	return rc;
}

static int write_npz(const struct export_job *x, const struct token_rows *rows, struct err *e)
{
	char *path = file_path(e, "%s/model.npz", x->out);
	struct weight_store weights = { .n = 0 };
	struct outfile out = { 0 };
	struct buf config = { 0 };
	int rc = path ? weight_store_open(&weights, NAMING_marian, x->shape, x->weights, rows, e)
		      : e->code;

	put_marian_config(x, rows, &config);
	buf_add_char(&config, 0);
	if (!rc)
		rc = buf_check(&config, e);
	if (!rc)
		rc = outfile_open(&out, path, e);
	if (!rc)
		rc = put_arrays(&weights, &config, out.stream, e);
	if (!rc)
		rc = outfile_commit(&out, e);
	else
		outfile_abandon(&out);
	weight_store_close(&weights);
	buf_free(&config);
	free(path);
	return rc;
}

/* ---- vocabularies ------------------------------------------------------ */

/* </s>, <unk>, the pieces, then <s> and <pad> where the model can predict them. */
static int32_t plain_rows(const struct export_job *x, int side, struct token_row **rows,
			  struct err *e)
{
	static const int32_t first[] = { TOKEN_END, TOKEN_UNKNOWN },
			     last[] = { TOKEN_START, TOKEN_PAD };
	const struct vocab *v = side ? x->vocabs.target : x->vocabs.source;
	const bool is_source = !side && vocabs_are_separate(&x->vocabs);
	int32_t n = 0;

	*rows = mem_alloc((size_t)vocab_real_size(v), sizeof(**rows), e);
	if (!*rows)
		return e->code;
	for (size_t i = 0; i < ARRAY_LEN(first); i++)
		(*rows)[n++].id = first[i];
	for (int32_t i = N_SPECIAL_TOKENS; i < vocab_real_size(v); i++)
		(*rows)[n++].id = i;
	for (size_t i = 0; i < ARRAY_LEN(last); i++)
		if (!is_source && !export_is_silent(x, last[i]))
			(*rows)[n++].id = last[i];
	return n;
}

/* The id of a piece of the SentencePiece model; -1: the vocabulary lacks it. */
static int32_t id_of_piece(const struct vocab *v, const char *piece, size_t n)
{
	int32_t id = vocab_id(v, piece, n);

	for (int32_t k = 0; k < N_SPECIAL_TOKENS; k++)
		if (strlen(vocab_piece(v, k)) == n && !memcmp(vocab_piece(v, k), piece, n))
			return k;
	return id == TOKEN_UNKNOWN ? -1 : id;
}

/*
 * Puts the rows into the order of the pieces of a joint SentencePiece model. *is_spm: each row has a piece and each
 * piece a row, so the model can be the vocabulary.
 */
static int order_by_pieces(const struct export_job *x, struct token_rows *rows, bool *is_spm,
			   struct err *e)
{
	char *path = file_path(e, "%s/" SENTENCEPIECE_FILE, x->folder);
	struct sp *s = path ? sp_open(path, e) : NULL;
	const struct intern *all = s ? sp_pieces(s) : NULL;
	const struct vocab *v = x->vocabs.target;
	const size_t n = (size_t)MAX(all ? all->n : 0, vocab_real_size(v));
	struct token_row *ordered = all ? mem_alloc(n, sizeof(*ordered), e) : NULL;
	bool *has = ordered ? mem_alloc(n, sizeof(*has), e) : NULL;
	int32_t found = 0;

	*is_spm = has != NULL;
	for (int32_t i = 0; *is_spm && i < all->n; i++) {
		size_t length;
		const char *piece = intern_text(all, i, &length);
		const int32_t id = id_of_piece(v, piece, length);

		*is_spm = id >= 0;
		ordered[i].id = id;
		if (*is_spm)
			has[id] = true;
	}
	for (int32_t i = 0; *is_spm && i < rows->n_target; i++)
		found += has[rows->target[i].id];
	*is_spm = *is_spm && found == rows->n_target;
	if (*is_spm) {
		free(rows->target);
		rows->target = ordered;
		rows->n_target = all->n;
		ordered = NULL;
	}
	free(ordered);
	free(has);
	sp_close(s);
	free(path);
	return s && (has || !all) ? 0 : e->code;
}

/* A mapping of pieces, as JSON strings, to numbers. */
static int write_yaml_vocabulary(const struct export_job *x, const struct vocab *v,
				 const struct token_row *rows, int32_t n, const char *name,
				 struct err *e)
{
	struct buf text = { 0 };
	int rc;

	for (int32_t i = 0; i < n; i++) {
		struct json_writer w = { .out = &text };

		json_str(&w, vocab_piece(v, rows[i].id));
		buf_printf(&text, ": %d\n", i);
	}
	rc = file_write_into(x->out, name, &text, e);
	buf_free(&text);
	return rc;
}

static int write_decoder_options(const struct export_job *x, const char *source, const char *target,
				 struct err *e)
{
	struct buf text = { 0 };
	int rc;

	buf_printf(&text,
		   "relative-paths: true\nmodels:\n  - model.npz\nvocabs:\n  - %s\n  - %s\n"
		   "beam-size: 4\nnormalize: 1\n",
		   source, target);
	rc = file_write_into(x->out, "decoder.yml", &text, e);
	buf_free(&text);
	return rc;
}

static int copy_subword_models(const struct export_job *x, struct err *e)
{
	static const char *const names[] = { "source.spm", "target.spm" };
	int rc = 0;

	for (int side = 0; !rc && side < 2; side++) {
		const char *from = text_codes_file(x->text, side);
		const bool is_bpe = text_segmentation(x->text, side) == SEGMENTATION_BPE;

		if (!is_bpe || !side || text_subword_models(x->text) > 1) /* once, if shared */
			rc = export_copy_file(x, from, is_bpe ? from : names[side], false, e);
	}
	return rc;
}

static int write_marian(const struct export_job *x, struct err *e)
{
	const bool is_separate = vocabs_are_separate(&x->vocabs);
	const bool is_joint_spm = x->text->vocabularies == VOCABULARIES_JOINT &&
				  text_segmentation(x->text, 1) != SEGMENTATION_BPE;
	const char *source = is_separate ? "vocab.source.yml" : "vocab.yml",
		   *target = is_separate ? "vocab.target.yml" : "vocab.yml";
	struct token_rows rows = { .n_target = 0 };
	bool is_spm = false;
	int rc = 0;

	if ((rows.n_target = plain_rows(x, 1, &rows.target, e)) < 0 ||
	    (is_separate && (rows.n_source = plain_rows(x, 0, &rows.source, e)) < 0))
		rc = e->code;
	if (!rc && is_joint_spm)
		rc = order_by_pieces(x, &rows, &is_spm, e);
	if (!rc && is_spm) {
		source = target = "vocab.spm";
		rc = export_copy_file(x, SENTENCEPIECE_FILE, target, false, e);
	} else if (!rc) {
		rc = write_yaml_vocabulary(x, x->vocabs.target, rows.target, rows.n_target, target,
					   e);
		if (!rc && is_separate)
			rc = write_yaml_vocabulary(x, x->vocabs.source, rows.source, rows.n_source,
						   source, e);
		if (!rc)
			rc = copy_subword_models(x, e);
	}
	if (!rc)
		rc = write_decoder_options(x, source, target, e);
	if (!rc)
		rc = export_copy_vocabularies(x, e);
	if (!rc)
		rc = write_npz(x, &rows, e);
	free(rows.target);
	free(rows.source);
	return rc;
}

static const struct export_limit marian_limits[] = {
	{ "decoder_start", "zero", "Marian's decoder starts from a zero vector" },
	{ "source_end", "yes", "Marian's encoder reads </s> after the source" },
	{ "norm_epsilon", "1e-6", "Marian's norms have 1e-6" },
	{ "embedding_scale", "sqrt", "Marian multiplies embeddings by the root of d_model" },
	{ "positions", "sinusoid", "Marian has the sinusoids of tensor2tensor" },
	{ "position_offset", "0", "Marian counts positions from 0" },
	{ "activation", "relu|silu|gelu", "Marian has relu, swish and the exact gelu" },
	{ "gated_ffn", "no", "Marian's feed-forward layers have no gate" },
	{ "decoder_heads", "0", "both stacks have the same number of heads in Marian" },
	{ NULL, NULL, NULL },
};

const struct export_format export_marian = { .name = "marian",
					     .title = "Marian",
					     .limits = marian_limits,
					     .check = check_marian,
					     .write = write_marian };
