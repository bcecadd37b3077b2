/*
 * import_openseq2seq.c - the Transformer of OpenSeq2Seq, from a checkpoint of its training
 *
 *	checkpoint, model.ckpt-N.index, .data-...	the weights, in a bundle of TensorFlow (tf_bundle.c)
 *	m_common.model					the SentencePiece model of both languages
 *	m_common.vocab					its pieces; optional, and compared
 *
 * Pre-norm, one table, no biases in attention, sinusoids of tensor2tensor. Both sides begin with <s>: the decoder reads a
 * zero vector and predicts <s>. The vocabulary is padded to a multiple of 8 with <$0$>, <$1$>, ... Beside the weights a
 * checkpoint has state of the optimizer, which is not read: names that begin with Loss_Optimization, or that continue the
 * name of a weight. With mixed precision the fp32 copy of a weight, .../FP32-master-copy/NAME, replaces it.
 *
 * The checkpoint shows neither the number of heads nor the epsilon of norms: they are those of the shipped
 * configurations, unless options give them. Source: encoders/transformer_encoder.py, decoders/transformer_decoder.py,
 * parts/transformer, optimizers/mp_wrapper.py, data/text2text of OpenSeq2Seq.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "eval/import/import_format.h"
#include "share/base/mem.h"
#include "share/base/text.h"
#include "share/workspace/model_files.h"

#define SCOPE	   "ForwardPass/"
#define MASTER	   "FP32-master-copy/"
#define SHARED	   "transformer_encoder/embedding_shared_weights/"
#define TABLE	   SCOPE SHARED "embedding_and_softmax/weights"
#define FILTER	   SCOPE "transformer_encoder/layer_0/ffn/feed_foward_network/filter_layer/kernel"
#define MODEL_FILE "m_common.model"

static bool recognise_openseq2seq(const struct import_source *s)
{
	return import_is_bundle(s->bytes, s->n);
}

/* ---- weights ----------------------------------------------------------- */

/* Is the tensor state that an optimizer keeps for another tensor, "NAME/Adam"? */
static bool is_slot(const struct import_reader *f, const char *name)
{
	const char *slash = strrchr(name, '/');
	char owner[256];

	snprintf(owner, sizeof(owner), "%.*s", slash ? (int)(slash - name) : 0, name);
	return import_find_tensor(f, owner) != NULL;
}

/* A weight in half precision gets the numbers of its fp32 copy, if there is one. */
static void use_master_copy(const struct import_reader *f, struct import_tensor *t)
{
	for (size_t i = 0; i < f->n && t->type == IMPORT_F16; i++) {
		const char *at = strstr(f->all[i].name, MASTER);

		if (at && !strcmp(at + strlen(MASTER), t->name) && f->all[i].rows == t->rows &&
		    f->all[i].cols == t->cols) {
			t->type = f->all[i].type;
			t->data = f->all[i].data;
		}
	}
}

/* Leaves only weights in the list. */
static void keep_weights(struct import_reader *f)
{
	size_t n = 0;

	for (size_t i = 0; i < f->n; i++)
		if (text_starts_with(f->all[i].name, SCOPE))
			use_master_copy(f, &f->all[i]);
	for (size_t i = 0; i < f->n; i++) {
		f->all[i].is_used =
			!text_starts_with(f->all[i].name, SCOPE) || is_slot(f, f->all[i].name);
	}
	for (size_t i = 0; i < f->n; i++)
		if (!f->all[i].is_used)
			f->all[n++] = f->all[i];
	f->n = n;
}

static bool is_trained_with_novograd(const struct import_reader *f)
{
	for (size_t i = 0; i < f->n; i++)
		if (strstr(f->all[i].name, "nvgrad2_ema"))
			return true;
	return false;
}

/* ---- architecture ------------------------------------------------------ */

static int32_t count_stack(const struct import_job *m, const char *pattern)
{
	char name[256];
	int32_t n = 0;

	while (n <= MODEL_MAX_LAYERS && weight_foreign_tensor(&m->t, pattern, n, name))
		n++;
	return n;
}

/* The number of heads: an option, or that of the configurations transformer-base and -big. */
static int find_openseq2seq_heads(struct import_job *m, int64_t d_model, int64_t *heads,
				  struct err *e)
{
	const struct conf *c = m->c;
	const bool has_heads = import_option_given(c, "heads"),
		   has_size = import_option_given(c, "size");

	conf_apply_size(m->c);
	if (has_heads || (has_size && c->d_model == d_model))
		*heads = c->heads;
	else if (d_model == 512 || d_model == 1024)
		*heads = d_model / 64;
	else
		return err_set(
			e, ERR_USAGE,
			"%s: the checkpoint does not show the number of attention heads: give "
			"--heads, num_heads of the configuration",
			m->file);
	return 0;
}

static int set_openseq2seq_sizes(struct import_job *m, struct err *e)
{
	const struct import_tensor *filter = import_find_tensor(&m->f, FILTER);
	int64_t heads = 0;
	char text[5][24];
	const char *const set[] = { "d_model", text[0],		 "d_ff",  text[1],	    "heads",
				    text[2],   "encoder_layers", text[3], "decoder_layers", text[4],
				    NULL };

	if (!filter || filter->n_dims != 2 || filter->cols > 65536 || m->t.table->cols > 8192)
		return err_set(e, ERR_DATA,
			       "%s has no tensor \"%s\": it is no Transformer of OpenSeq2Seq",
			       m->file, FILTER);
	if (find_openseq2seq_heads(m, m->t.table->cols, &heads, e))
		return e->code;
	snprintf(text[0], sizeof(text[0]), "%lld", (long long)m->t.table->cols);
	snprintf(text[1], sizeof(text[1]), "%lld", (long long)filter->cols);
	snprintf(text[2], sizeof(text[2]), "%lld", (long long)heads);
	snprintf(
		text[3], sizeof(text[3]), "%d",
		count_stack(m, SCOPE
			    "transformer_encoder/layer_%d/self_attention/self_attention/q/kernel"));
	snprintf(
		text[4], sizeof(text[4]), "%d",
		count_stack(m, SCOPE
			    "transformer_decoder/layer_%d/self_attention/self_attention/q/kernel"));
	return import_set_options(m, set, e);
}

static int read_openseq2seq(struct import_job *m, bool has_novograd, struct err *e)
{
	static const char *const facts[] = {
		"norm_place",
		"pre",
		"norm",
		"layer",
		"final_norm",
		"yes",
		"attention_bias",
		"no",
		"output_bias",
		"no",
		"ffn_bias",
		"yes",
		"positions",
		"sinusoid",
		"decoder_start",
		"zero",
		"embedding_scale",
		"sqrt",
		"tied_embeddings",
		"all",
		"activation",
		"relu",
		NULL,
	};
	static const char *const epsilon[] = { "norm_epsilon", "1e-6", NULL };
	const bool is_given = import_option_given(m->c, "norm_epsilon");

	if (has_novograd && !is_given)
		return err_set(
			e, ERR_USAGE,
			"%s was trained with NovoGrad, whose configuration transformer-nvgrad has "
			"another epsilon in its norms: give --norm-epsilon 1e-5, or 1e-6 if "
			"norm_params of the configuration has no epsilon",
			m->file);
	if (import_set_options(m, facts, e) || (!is_given && import_set_options(m, epsilon, e)) ||
	    set_openseq2seq_sizes(m, e))
		return e->code;
	return import_shape_of_options(m, e);
}

static int open_openseq2seq(struct import_job *m, struct err *e)
{
	static const char *const tables[] = { TABLE, NULL };
	bool has_novograd = false;
	int rc = import_open_bundle(&m->f, m->file, e);

	if (!rc) {
		has_novograd = is_trained_with_novograd(&m->f);
		keep_weights(&m->f);
		rc = weight_map_begin(&m->t, &m->f, NAMING_openseq2seq, tables, e);
	}
	return rc ? rc : read_openseq2seq(m, has_novograd, e);
}

/* ---- text -------------------------------------------------------------- */

/* *path: the file of the option --codes, m_common.model or sentencepiece.model; owned by the caller. */
static int find_sentencepiece_model(const struct import_job *m, char **path, struct err *e)
{
	static const char *const names[] = { MODEL_FILE, SENTENCEPIECE_FILE };
	int rc = 0;

	*path = m->c->codes ? mem_strdup(m->c->codes, e) : NULL;
	if (m->c->codes)
		return *path ? 0 : e->code;
	for (size_t i = 0; i < ARRAY_LEN(names) && !rc && !*path; i++)
		rc = import_find_piece(m, names[i], path, e);
	if (!rc && !*path)
		rc = err_set(
			e, ERR_NOINPUT,
			"%s/" MODEL_FILE " is missing, the SentencePiece model that OpenSeq2Seq's "
			"get_en_de.sh writes: the model's text cannot be split without it. Copy it "
			"there, or give --codes FILE",
			m->pieces);
	return rc;
}

/* The pieces must be those of m_common.vocab, by which the training numbered them. */
static int compare_with_vocabulary(const struct import_job *m, const struct token_list *w,
				   struct err *e)
{
	char *path = NULL;
	struct token_list other = { .n = 0 };
	int rc = 0;

	if (m->c->vocabulary)
		path = mem_strdup(m->c->vocabulary, e);
	else
		rc = import_find_piece(m, "m_common.vocab", &path, e);
	if (!rc && path)
		rc = token_list_open(&other, path, e);
	if (!rc && path && other.n != w->n)
		rc = err_set(e, ERR_DATA, "%s has %zu pieces, but the SentencePiece model has %zu",
			     path, other.n, w->n);
	for (size_t i = 0; i < other.n && !rc; i++)
		if (strcmp(other.items[i], w->items[i]) != 0)
			rc = err_set(e, ERR_DATA,
				     "%s: piece %zu is \"%.60s\", but that of the SentencePiece "
				     "model is "
				     "\"%.60s\"",
				     path, i, other.items[i], w->items[i]);
	token_list_close(&other);
	free(path);
	return rc;
}

/* The rows of the table: the pieces, and padding to a multiple of 8. */
static int write_openseq2seq_vocabulary(struct import_job *m, struct token_list *w, struct err *e)
{
	static const char *const padding[] = { "<$0$>", "<$1$>", "<$2$>", "<$3$>",
					       "<$4$>", "<$5$>", "<$6$>" };
	const size_t rows = (size_t)m->t.table->rows, n_pieces = w->n;

	if (rows < n_pieces || rows - n_pieces > ARRAY_LEN(padding))
		return err_set(
			e, ERR_DATA,
			"%s: the embedding table has %zu rows, but the SentencePiece model has %zu "
			"pieces: it is that of another model",
			m->file, rows, n_pieces);
	if (mem_grow(&w->items, &w->cap, rows, sizeof(*w->items), e))
		return e->code;
	while (w->n < rows) {
		w->items[w->n] = padding[w->n - n_pieces];
		w->n++;
	}
	return import_stage_vocabulary(m, w, VOCABULARY_FILE, &m->rows.target, e);
}

static int stage_openseq2seq(struct import_job *m, struct err *e)
{
	static const char *const first[] = { "source_first_token", "<s>", "target_first_token",
					     "<s>", NULL };
	char *from = NULL, *to = file_path(e, "%s/" SENTENCEPIECE_FILE, m->staging.temporary);
	struct token_list w = { .n = 0 };
	struct sp *s = NULL;
	int rc = to ? find_sentencepiece_model(m, &from, e) : e->code;

	m->special = (struct special_token_names){ "</s>", "<s>", "<unk>", .may_lack = false };
	if (!rc)
		rc = import_set_text_options(m, "joint", e);
	if (!rc)
		rc = import_set_options(m, first, e);
	if (!rc)
		s = sp_open(from, e);
	if (!rc)
		rc = s ? import_list_pieces(&w, s, e) : e->code;
	if (!rc)
		rc = compare_with_vocabulary(m, &w, e);
	if (!rc)
		rc = write_openseq2seq_vocabulary(m, &w, e);
	if (!rc)
		rc = file_copy(from, to, e);
	token_list_close(&w);
	sp_close(s);
	free(from);
	free(to);
	return rc ? rc : import_find_segmentations(m, e);
}

const struct import_format import_openseq2seq = { "OpenSeq2Seq", recognise_openseq2seq,
						  open_openseq2seq, stage_openseq2seq };
