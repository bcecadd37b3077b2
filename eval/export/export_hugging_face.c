/*
 * export_hugging_face.c - a folder that MarianMTModel and MarianTokenizer of transformers open; its files are those of
 * import_hugging_face.c
 *
 * The decoder starts from <pad>, whose row becomes a zero vector, or the row of <s>. The model can predict <pad> in
 * softmax, so the bias of its logit is that of Werkbank's <pad> if the rows are the same, else it is silent. Rows of <s> and <pad>
 * that take part in Werkbank's softmax and have no such place follow the pieces as "<s>" or "<unused_s>", and "<unused_pad>"; with
 * them probabilities are equal. None of these tokens is ever generated (bad_words_ids). Tables of positions are
 * written unless they are those that MarianMT computes itself.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "data/pipeline/pipeline.h"
#include "data/sentencepiece/sp.h"
#include "eval/export/export_format.h"
#include "share/base/file.h"
#include "share/base/mem.h"
#include "share/base/text.h"
#include "share/conf/text_sides.h"
#include "share/format/json.h"

#define POSITIONS 1024 /* of an exported model whose positions are not learned */

/* ---- rows -------------------------------------------------------------- */

/* The tables of an export, their names, and what must not be generated. */
struct hf_rows {
	struct token_rows rows;
	const char **target_names, **source_names; /* owned arrays */
	int32_t pad;
	int32_t unwanted[3], n_unwanted;
};

static void add_hf_row(struct hf_rows *h, struct token_row row, const char *name, bool is_unwanted)
{
	if (is_unwanted)
		h->unwanted[h->n_unwanted++] = h->rows.n_target;
	h->target_names[h->rows.n_target] = name;
	h->rows.target[h->rows.n_target++] = row;
}

static bool is_same_row(const struct export_job *x, int32_t a, int32_t b)
{
	const struct safetensor *t = safetensors_find(x->weights, "embed");
	const size_t n = (size_t)x->shape->d_model * sizeof(float);

	return t && !memcmp(t->data + (size_t)a * n, t->data + (size_t)b * n, n);
}

/* Can Werkbank's <pad> be that of Hugging Face, from whose row the decoder starts? */
static bool is_pad_start(const struct export_job *x)
{
	return x->shape->decoder_start == DECODER_ZERO
		       ? export_is_zero_row(x, "embed", TOKEN_PAD)
		       : export_is_silent(x, TOKEN_START) && is_same_row(x, TOKEN_PAD, TOKEN_START);
}

static void add_hf_pad(const struct export_job *x, struct hf_rows *h)
{
	struct token_row row = { TOKEN_PAD, false };

	if (!is_pad_start(x))
		row = (struct token_row){ x->shape->decoder_start == DECODER_ZERO ? -1
										  : TOKEN_START,
					  true };
	h->pad = h->rows.n_target;
	add_hf_row(h, row, "<pad>", true);
}

static int target_rows(const struct export_job *x, struct hf_rows *h, struct err *e)
{
	const bool is_separate = vocabs_are_separate(&x->vocabs);
	const struct vocab *v = x->vocabs.target;
	const size_t room = (size_t)vocab_real_size(v) + 1;

	h->rows.target = mem_alloc(room, sizeof(*h->rows.target), e);
	h->target_names = h->rows.target ? mem_alloc(room, sizeof(*h->target_names), e) : NULL;
	if (!h->target_names)
		return e->code;
	add_hf_row(h, (struct token_row){ TOKEN_END, false }, "</s>", false);
	add_hf_row(h, (struct token_row){ TOKEN_UNKNOWN, false }, "<unk>", false);
	if (is_separate) /* both sides need the same number for it */
		add_hf_pad(x, h);
	for (int32_t i = N_SPECIAL_TOKENS; i < vocab_real_size(v); i++)
		add_hf_row(h, (struct token_row){ i, false }, vocab_piece(v, i), false);
	if (!export_is_silent(x, TOKEN_START))
		add_hf_row(h, (struct token_row){ TOKEN_START, false },
			   x->shape->decoder_start == DECODER_ZERO ? "<s>" : "<unused_s>", true);
	if (!is_pad_start(x) && !export_is_silent(x, TOKEN_PAD))
		add_hf_row(h, (struct token_row){ TOKEN_PAD, false }, "<unused_pad>", true);
	if (!is_separate) /* converters expect it at the end */
		add_hf_pad(x, h);
	return 0;
}

/* No row of <s>: no source has it. */
static int source_rows(const struct export_job *x, struct hf_rows *h, struct err *e)
{
	static const char *const names[] = { "</s>", "<unk>", "<pad>" };
	static const int32_t ids[] = { TOKEN_END, TOKEN_UNKNOWN, TOKEN_PAD };
	const struct vocab *v = x->vocabs.source;
	int32_t n = 0;

	h->rows.source = mem_alloc((size_t)vocab_real_size(v), sizeof(*h->rows.source), e);
	h->source_names =
		h->rows.source ? mem_alloc((size_t)vocab_real_size(v), sizeof(*h->source_names), e)
			       : NULL;
	if (!h->source_names)
		return e->code;
	for (; n < (int32_t)ARRAY_LEN(ids); n++) {
		h->source_names[n] = names[n];
		h->rows.source[n].id = ids[n];
	}
	for (int32_t i = N_SPECIAL_TOKENS; i < vocab_real_size(v); i++) {
		h->source_names[n] = vocab_piece(v, i);
		h->rows.source[n++].id = i;
	}
	h->rows.n_source = n;
	return 0;
}

static void close_hf_rows(struct hf_rows *h)
{
	free(h->rows.target);
	free(h->rows.source);
	free(h->target_names);
	free(h->source_names);
}

/* ---- JSON -------------------------------------------------------------- */

static int write_hf_vocabulary(const struct export_job *x, const char *const *names, int32_t n,
			       const char *file, struct err *e)
{
	struct buf text = { 0 };
	struct json_writer w = { .out = &text };
	int rc;

	json_open(&w, '{');
	for (int32_t i = 0; i < n; i++)
		json_put_int(&w, names[i], i);
	json_close(&w, '}');
	rc = file_write_into(x->out, file, &text, e);
	buf_free(&text);
	return rc;
}

static void put_hf_tokens(struct json_writer *w, const struct hf_rows *h)
{
	json_put_int(w, "eos_token_id", 0);
	json_put_int(w, "forced_eos_token_id", 0);
	json_put_int(w, "pad_token_id", h->pad);
	json_put_int(w, "decoder_start_token_id", h->pad);
}

static const char *hf_activation(const struct model_shape *s)
{
	static const char *const names[] = {
		[ACTIVATION_relu] = "relu",	     [ACTIVATION_gelu] = "gelu",
		[ACTIVATION_gelu_tanh] = "gelu_new", [ACTIVATION_gelu_sigmoid] = "quick_gelu",
		[ACTIVATION_silu] = "swish",
	};

	return names[s->activation];
}

static int64_t hf_positions(const struct model_shape *s)
{
	return s->positions == POSITIONS_LEARNED ? s->max_positions : POSITIONS;
}

static void put_hf_sizes(struct json_writer *w, const struct export_job *x, const struct hf_rows *h)
{
	const struct model_shape *s = x->shape;

	json_put_int(w, "vocab_size", h->rows.n_source ? h->rows.n_source : h->rows.n_target);
	json_put_int(w, "decoder_vocab_size", h->rows.n_target);
	json_put_int(w, "d_model", s->d_model);
	json_put_int(w, "max_position_embeddings", hf_positions(s));
	json_put_int(w, "encoder_layers", s->encoder_layers);
	json_put_int(w, "decoder_layers", s->decoder_layers);
	json_put_int(w, "num_hidden_layers", s->encoder_layers);
	json_put_int(w, "encoder_attention_heads", s->heads);
	json_put_int(w, "decoder_attention_heads", s->decoder_heads ? s->decoder_heads : s->heads);
	json_put_int(w, "encoder_ffn_dim", s->d_ff);
	json_put_int(w, "decoder_ffn_dim", s->decoder_ff ? s->decoder_ff : s->d_ff);
}

static int write_hf_config(const struct export_job *x, const struct hf_rows *h, struct err *e)
{
	const struct model_shape *s = x->shape;
	const bool is_output_tied =
		s->tied_embeddings == TIED_ALL || s->tied_embeddings == TIED_OUTPUT;
	struct buf text = { 0 };
	struct json_writer w = { .out = &text };
	int rc;

	json_open(&w, '{');
	json_put_open(&w, "architectures", '[');
	json_str(&w, "MarianMTModel");
	json_close(&w, ']');
	json_put_str(&w, "model_type", "marian");
	json_put_str(&w, "torch_dtype", "float32");
	json_put_bool(&w, "is_encoder_decoder", true);
	put_hf_sizes(&w, x, h);
	json_put_str(&w, "activation_function", hf_activation(s));
	json_put_bool(&w, "scale_embedding", s->embedding_scale == SCALE_SQRT);
	json_put_bool(&w, "static_position_embeddings", true);
	json_put_bool(&w, "normalize_before", false);
	json_put_bool(&w, "normalize_embedding", false);
	json_put_bool(&w, "add_final_layer_norm", false);
	json_put_bool(&w, "share_encoder_decoder_embeddings",
		      s->tied_embeddings == TIED_ALL || s->tied_embeddings == TIED_SOURCE);
	json_put_bool(&w, "tie_word_embeddings", is_output_tied);
	json_put_real(&w, "dropout", 0.1);
	put_hf_tokens(&w, h);
	json_close(&w, '}');
	rc = file_write_into(x->out, "config.json", &text, e);
	buf_free(&text);
	return rc;
}

static int write_hf_generation(const struct export_job *x, const struct hf_rows *h, struct err *e)
{
	struct buf text = { 0 };
	struct json_writer w = { .out = &text };
	int rc;

	json_open(&w, '{');
	put_hf_tokens(&w, h);
	json_put_open(&w, "bad_words_ids", '[');
	for (int32_t i = 0; i < h->n_unwanted; i++) {
		json_open(&w, '[');
		json_int(&w, h->unwanted[i]);
		json_close(&w, ']');
	}
	json_close(&w, ']');
	json_put_int(&w, "num_beams", x->text->beam);
	if (x->text->beam_rules == BEAM_RULES_TRANSFORMERS ||
	    x->text->beam_rules == BEAM_RULES_FAIRSEQ) {
		json_put_real(&w, "length_penalty", x->text->alpha);
		json_put_bool(&w, "early_stopping", x->text->beam_rules == BEAM_RULES_FAIRSEQ);
	}
	json_put_int(&w, "max_length", 512);
	json_close(&w, '}');
	rc = file_write_into(x->out, "generation_config.json", &text, e);
	buf_free(&text);
	return rc;
}

static int write_hf_tokenizer(const struct export_job *x, struct err *e)
{
	struct buf text = { 0 };
	struct json_writer w = { .out = &text };
	int rc;

	json_open(&w, '{');
	json_put_str(&w, "tokenizer_class", "MarianTokenizer");
	json_put_str(&w, "source_lang", x->text->source_language);
	json_put_str(&w, "target_lang", x->text->target_language);
	json_put_bool(&w, "separate_vocabs", vocabs_are_separate(&x->vocabs));
	json_put_str(&w, "unk_token", "<unk>");
	json_put_str(&w, "eos_token", "</s>");
	json_put_str(&w, "pad_token", "<pad>");
	json_put_int(&w, "model_max_length", MIN(hf_positions(x->shape), 512));
	json_close(&w, '}');
	rc = file_write_into(x->out, "tokenizer_config.json", &text, e);
	buf_free(&text);
	return rc;
}

/* ---- weights ----------------------------------------------------------- */

struct hf_weights {
	struct weight_store store;
	struct safetensors_item *items; /* owned */
	float *x;			/* owned: the widest tensor */
};

/* All names but those of the output layer stand below "model.". */
static int list_hf_items(struct hf_weights *h, struct err *e)
{
	int64_t most = 1;

	h->items = mem_alloc(h->store.n, sizeof(*h->items), e);
	if (!h->items)
		return e->code;
	for (size_t i = 0; i < h->store.n; i++) {
		const struct weight_item *x = &h->store.items[i];
		const bool is_output = text_starts_with(x->name, "lm_head.") ||
				       text_starts_with(x->name, "final_logits");

		snprintf(h->items[i].name, sizeof(h->items[i].name), "%s%.72s",
			 is_output ? "" : "model.", x->name);
		h->items[i].rows = x->rows;
		h->items[i].cols = x->cols;
		h->items[i].is_matrix = x->n_dims == 2;
		most = MAX(most, x->rows * x->cols);
	}
	h->x = mem_alloc((size_t)most, sizeof(*h->x), e);
	return h->x ? 0 : e->code;
}

static const float *fetch_hf_tensor(void *arg, size_t i, struct err *e)
{
	struct hf_weights *h = arg;
	const struct weight_item *x = &h->store.items[i];

	(void)e;
	for (int64_t r = 0; r < x->rows; r++)
		weight_store_row(&h->store, x, r, h->x + r * x->cols);
	return h->x;
}

static int write_hf_weights(const struct export_job *x, const struct hf_rows *rows, struct err *e)
{
	const struct model_shape *s = x->shape;
	const bool is_computed = s->positions == POSITIONS_SINUSOID_2K && !s->position_offset;
	char *path = file_path(e, "%s/model.safetensors", x->out);
	struct hf_weights h = { .items = NULL };
	int rc = path ? weight_store_open(&h.store, NAMING_layers, s, x->weights, &rows->rows, e)
		      : e->code;

	if (!rc && s->positions != POSITIONS_LEARNED && !is_computed)
		rc = weight_store_add_positions(&h.store, "encoder.embed_positions.weight",
						POSITIONS, e) ||
				     weight_store_add_positions(&h.store,
								"decoder.embed_positions.weight",
								POSITIONS, e)
			     ? e->code
			     : 0;
	if (!rc &&
	    s->tied_embeddings == TIED_SOURCE) /* transformers ties them only with the output */
		rc = weight_store_add_copy(&h.store, "encoder.embed_tokens.weight", "shared.weight",
					   e) ||
				     weight_store_add_copy(&h.store, "decoder.embed_tokens.weight",
							   "shared.weight", e)
			     ? e->code
			     : 0;
	if (!rc)
		rc = list_hf_items(&h, e);
	if (!rc)
		rc = safetensors_write_with(path, h.items, h.store.n, "{\"format\":\"pt\"}",
					    fetch_hf_tensor, &h, e);
	weight_store_close(&h.store);
	free(h.items);
	free(h.x);
	free(path);
	return rc;
}

/* ---- all --------------------------------------------------------------- */

/* Does the subword model of the source know the symbol, or MarianTokenizer, which cuts ">>xxx<<" off? */
static int check_hf_symbol(const struct export_job *x, const struct sp *s, const char *symbol,
			   struct err *e)
{
	const size_t n = strlen(symbol);

	if ((text_starts_with(symbol, ">>") && text_ends_with(symbol, "<<") && n > 4) ||
	    intern_find(sp_pieces(s), symbol, n) >= 0)
		return 0;
	return export_refuse(
		x, &export_huggingface, e,
		"its symbol %.60s (option protect) is neither a piece of the SentencePiece "
		"model nor a tag like >>deu<<",
		symbol);
}

static int check_hugging_face(const struct export_job *x, struct err *e)
{
	struct protect *symbols = NULL;
	struct sp *s = NULL;
	char *path;
	int rc = export_check_pieces(x, &export_huggingface, e);

	if (rc || pipeline_symbols(&symbols, x->text, e) || !symbols)
		return e->code;
	path = file_path(e, "%s/%s", x->folder, text_codes_file(x->text, 0));
	s = path ? sp_open(path, e) : NULL;
	rc = s ? 0 : e->code;
	for (size_t i = 0; !rc && i < protect_count(symbols); i++)
		rc = check_hf_symbol(x, s, protect_symbol(symbols, i), e);
	sp_close(s);
	free(path);
	protect_close(symbols);
	return rc;
}

static int write_hf_texts(const struct export_job *x, const struct hf_rows *h, struct err *e)
{
	const bool is_separate = h->rows.n_source != 0;

	if (write_hf_vocabulary(x, is_separate ? h->source_names : h->target_names,
				is_separate ? h->rows.n_source : h->rows.n_target, "vocab.json",
				e) ||
	    (is_separate &&
	     write_hf_vocabulary(x, h->target_names, h->rows.n_target, "target_vocab.json", e)) ||
	    export_copy_file(x, text_codes_file(x->text, 0), "source.spm", false, e) ||
	    export_copy_file(x, text_codes_file(x->text, 1), "target.spm", false, e) ||
	    export_copy_vocabularies(x, e))
		return e->code;
	return write_hf_tokenizer(x, e);
}

static int write_hugging_face(const struct export_job *x, struct err *e)
{
	struct hf_rows h = { .pad = 0 };
	int rc = target_rows(x, &h, e);

	if (!rc && vocabs_are_separate(&x->vocabs))
		rc = source_rows(x, &h, e);
	if (!rc)
		rc = write_hf_config(x, &h, e);
	if (!rc)
		rc = write_hf_generation(x, &h, e);
	if (!rc)
		rc = write_hf_texts(x, &h, e);
	if (!rc)
		rc = write_hf_weights(x, &h, e);
	close_hf_rows(&h);
	return rc;
}

static const struct export_limit hf_limits[] = {
	{ "norm_place", "post", "MarianMT normalises after each residual sum" },
	{ "norm", "layer", "MarianMT has layer normalisation" },
	{ "norm_epsilon", "1e-5", "MarianMT's norms have 1e-5" },
	{ "embedding_norm", "no", "MarianMT does not normalise embeddings" },
	{ "positions", "sinusoid|sinusoid-2k|sinusoid-pairs|learned",
	  "MarianMT adds a table of positions to the embeddings" },
	{ "gated_ffn", "no", "MarianMT's feed-forward layers have no gate" },
	{ "decoder_self", "attention", "MarianMT does not have the recurrent unit" },
	{ "decoder_start", "zero|start", "MarianMT's decoder starts from <pad>" },
	{ "source_end", "yes", "MarianMT's encoder reads </s> after the source" },
	{ NULL, NULL, NULL },
};

const struct export_format export_huggingface = { .name = "huggingface",
						  .title = "Hugging Face's MarianMT",
						  .limits = hf_limits,
						  .check = check_hugging_face,
						  .write = write_hugging_face };
