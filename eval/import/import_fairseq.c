/*
 * import_fairseq.c - Transformers of fairseq, from a checkpoint of torch.save()
 *
 *	checkpoint_best.pt, model.pt, X.pt	weights ("model") and the options of the training ("args" or "cfg")
 *	dict.SOURCE.txt, dict.TARGET.txt	the vocabularies: a token and its count a line, without special tokens
 *	bpecodes, code				merges of subword-nmt; or
 *	sentencepiece.bpe.model, spm.model	a SentencePiece model
 *
 * Numbers 0 to 3 are <s> <pad> </s> <unk>, then line i of the dictionary. The decoder starts with </s>; positions begin
 * with number 2; epsilon 1e-5. Old names are those that fairseq's upgrade_state_dict() replaces. Layers of the encoder also
 * have copies of their weights for a fast path, which are not read. Source: models/transformer, data/dictionary.py.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "eval/import/import_format.h"
#include "share/base/mem.h"
#include "share/base/text.h"
#include "share/workspace/model_files.h"

#define MARK_BYTES ((size_t)1 << 20) /* of the file, in which the options are */

static bool recognise_fairseq(const struct import_source *s)
{
	static const char mark[] = "encoder_attention_heads";

	return import_is_torch(s->bytes, s->n) &&
	       memmem(s->bytes, MIN(s->n, MARK_BYTES), mark, sizeof(mark) - 1);
}

/* ---- options of the training ------------------------------------------- */

/* An option: of args, else of a part of cfg. */
static const struct pickle_node *fairseq_option(const struct import_job *m, const char *part,
						const char *key)
{
	const struct pickle_node *root = m->f.pickle.root, *args = pickle_get(root, "args");
	const struct pickle_node *x = pickle_get(args, key);

	return x ? x : pickle_get(pickle_get(pickle_get(root, "cfg"), part), key);
}

static bool has_fairseq_switch(const struct import_job *m, const char *key)
{
	const struct pickle_node *x = fairseq_option(m, "model", key);

	return x && x->kind != PICKLE_NONE && !(x->kind == PICKLE_TEXT && !*x->text) &&
	       !((x->kind == PICKLE_BOOL || x->kind == PICKLE_INT) && !x->number);
}

static const char *fairseq_text(const struct import_job *m, const char *part, const char *key,
				const char *usual)
{
	const struct pickle_node *x = fairseq_option(m, part, key);

	return x && x->kind == PICKLE_TEXT ? x->text : usual;
}

static int refuse_fairseq(const struct import_job *m, const char *key, const char *value,
			  const char *reason, struct err *e)
{
	return err_set(
		e, ERR_DATA,
		"%s: the model has the option %s = \"%.60s\" of fairseq, which Werkbank's models "
		"cannot follow: %s",
		m->file, key, value, reason);
}

static int check_fairseq_options(const struct import_job *m, struct err *e)
{
	static const char *const switches[][2] = {
		{ "adaptive_input", "embeddings of several widths" },
		{ "adaptive_softmax_cutoff", "an output layer in clusters" },
		{ "no_cross_attention", "a decoder without cross attention" },
		{ "cross_self_attention", "attention to source and target together" },
		{ "char_inputs", "inputs of characters" },
		{ "encoder_layers_to_keep", "pruned layers" },
		{ "decoder_layers_to_keep", "pruned layers" },
	};
	const char *arch = fairseq_text(m, "model", "arch",
					fairseq_text(m, "model", "_name", "transformer")),
		   *task = fairseq_text(m, "task", "task",
					fairseq_text(m, "task", "_name", "translation"));

	if (strcmp(arch, "transformer") != 0 && !text_starts_with(arch, "transformer_iwslt") &&
	    !text_starts_with(arch, "transformer_wmt") &&
	    !text_starts_with(arch, "transformer_vaswani"))
		return refuse_fairseq(
			m, "arch", arch,
			"only transformer, transformer_iwslt_..., _wmt_... and _vaswani_...", e);
	if (strcmp(task, "translation") != 0)
		return refuse_fairseq(m, "task", task, "only translation", e);
	for (size_t i = 0; i < ARRAY_LEN(switches); i++)
		if (has_fairseq_switch(m, switches[i][0]))
			return refuse_fairseq(m, switches[i][0], "on", switches[i][1], e);
	return 0;
}

/* ---- tensors ----------------------------------------------------------- */

/* A part of a tensor under a new name, which begins at byte `at` of f->names. */
struct new_tensor {
	struct import_tensor t;
	size_t at;
};

struct tensor_renames {
	struct new_tensor *all; /* owned */
	size_t n, cap;
};

/* Adds rows [from, from + rows) of t as HEAD, MIDDLE, TAIL; head: bytes of the name of t. */
static int add_renamed(struct import_job *m, struct tensor_renames *r, struct import_tensor t,
		       size_t head, const char *middle, const char *tail, struct err *e)
{
	if (mem_grow(&r->all, &r->cap, r->n + 1, sizeof(*r->all), e))
		return e->code;
	r->all[r->n++] = (struct new_tensor){ t, m->f.names.len };
	buf_add(&m->f.names, t.name, head);
	buf_printf(&m->f.names, "%s%s", middle, tail);
	buf_add_char(&m->f.names, 0);
	return buf_check(&m->f.names, e);
}

/* self_attn.in_proj_weight of old files: the products of queries, keys and values, one below the other. */
static int split_projection(struct import_job *m, struct tensor_renames *r,
			    const struct import_tensor *t, const char *at, struct err *e)
{
	static const char *const names[] = { "q_proj.", "k_proj.", "v_proj." };
	const bool is_bias = t->n_dims == 1;
	const int64_t n = (is_bias ? t->cols : t->rows) / 3;

	if ((is_bias ? t->cols : t->rows) % 3)
		return err_set(e, ERR_DATA, "%s: \"%s\" does not consist of three products",
			       m->file, t->name);
	for (int i = 0; i < 3; i++) {
		struct import_tensor part = *t;

		part.data += (size_t)(i * n * (is_bias ? 1 : t->cols)) * import_type_bytes(t->type);
		part.rows = is_bias ? 1 : n;
		part.cols = is_bias ? n : t->cols;
		if (add_renamed(m, r, part, (size_t)(at - t->name), names[i],
				is_bias ? "bias" : "weight", e))
			return e->code;
	}
	return 0;
}

/* Is it a copy for the fast path of the encoder, or no weight? */
static bool is_unread(const char *name)
{
	static const char *const copies[] = { "in_proj_weight", "in_proj_bias", "out_proj_weight",
					      "out_proj_bias",	"fc1_weight",	"fc1_bias",
					      "fc2_weight",	"fc2_bias" };
	static const char *const ends[] = { ".version", "._float_tensor",
					    ".embed_positions.weights" };
	const char *dot = strrchr(name, '.');

	for (size_t i = 0; i < ARRAY_LEN(ends); i++)
		if (text_ends_with(name, ends[i]))
			return true;
	for (size_t i = 0; dot && i < ARRAY_LEN(copies); i++)
		if (text_starts_with(name, "encoder.layers.") && !strcmp(dot + 1, copies[i]) &&
		    !strstr(name, "_attn."))
			return true;
	return false;
}

/* Gives a tensor its new name, if it has an old one. *is_old: it had. */
static int rename_tensor(struct import_job *m, struct tensor_renames *r, struct import_tensor *t,
			 bool *is_old, struct err *e)
{
	static const char *const norms[2][3] = {
		{ "self_attn_layer_norm", "final_layer_norm", NULL },
		{ "self_attn_layer_norm", "encoder_attn_layer_norm", "final_layer_norm" },
	};
	const char *projection = strstr(t->name, "_attn.in_proj_"),
		   *norm = strstr(t->name, ".layer_norms.");
	const char *const *names = norms[text_starts_with(t->name, "decoder.")];
	const int number = norm ? norm[strlen(".layer_norms.")] - '0' : -1;

	*is_old = true;
	if (projection && t->n_dims >= 1 && t->n_dims <= 2)
		return split_projection(m, r, t, projection + strlen("_attn."), e);
	if (number >= 0 && number < 3 && names[number])
		return add_renamed(m, r, *t, (size_t)(norm + 1 - t->name), names[number],
				   norm + strlen(".layer_norms.") + 1, e);
	*is_old = false;
	return 0;
}

static int bring_names_up_to_date(struct import_job *m, struct err *e)
{
	struct import_reader *f = &m->f;
	struct tensor_renames r = { .n = 0 };
	size_t n = 0;
	int rc = 0;

	for (size_t i = 0; i < f->n && !rc; i++) {
		bool is_old = false;

		if (is_unread(f->all[i].name))
			continue;
		import_skip_position_rows(&f->all[i]);
		rc = rename_tensor(m, &r, &f->all[i], &is_old, e);
		if (!is_old)
			f->all[n++] = f->all[i];
	}
	f->n = n;
	if (!rc)
		rc = mem_grow(&f->all, &f->cap, n + r.n + 1, sizeof(*f->all), e);
	for (size_t i = 0; i < r.n && !rc; i++) {
		r.all[i].t.name = buf_text(&f->names) + r.all[i].at;
		f->all[f->n++] = r.all[i].t;
	}
	free(r.all);
	return rc;
}

/* ---- architecture ------------------------------------------------------ */

/* A number of the options, with the default of transformer_wmt_en_de. */
static int set_fairseq_number(struct import_job *m, const char *option, const char *key,
			      int64_t usual, struct err *e)
{
	const struct pickle_node *x = fairseq_option(m, "model", key);
	const int64_t v = x && x->kind == PICKLE_INT ? x->number : usual;
	char text[24];
	const char *const set[] = { option, text, NULL };

	if (v < 1 || v > 65536)
		return refuse_fairseq(m, key, "", "a number from 1 to 65536 is expected", e);
	snprintf(text, sizeof(text), "%lld", (long long)v);
	return import_set_options(m, set, e);
}

static int set_fairseq_sizes(struct import_job *m, struct err *e)
{
	static const struct {
		const char *option, *key;
		int64_t usual;
	} sizes[] = {
		{ "d_model", "encoder_embed_dim", 512 },
		{ "d_ff", "encoder_ffn_embed_dim", 2048 },
		{ "decoder_ff", "decoder_ffn_embed_dim", 2048 },
		{ "heads", "encoder_attention_heads", 8 },
		{ "decoder_heads", "decoder_attention_heads", 8 },
		{ "encoder_layers", "encoder_layers", 6 },
		{ "decoder_layers", "decoder_layers", 6 },
	};
	static const char *const widths[] = { "decoder_embed_dim", "decoder_input_dim",
					      "decoder_output_dim" };
	const struct pickle_node *width = fairseq_option(m, "model", "encoder_embed_dim");

	for (size_t i = 0; i < ARRAY_LEN(widths); i++) {
		const struct pickle_node *x = fairseq_option(m, "model", widths[i]);

		if (width && x && x->kind == PICKLE_INT && x->number != width->number)
			return refuse_fairseq(m, widths[i], "",
					      "all widths must be encoder_embed_dim", e);
	}
	for (size_t i = 0; i < ARRAY_LEN(sizes); i++)
		if (set_fairseq_number(m, sizes[i].option, sizes[i].key, sizes[i].usual, e))
			return e->code;
	return 0;
}

static int set_fairseq_activation(struct import_job *m, struct err *e)
{
	static const char *const names[][2] = { { "relu", "relu" },
						{ "gelu", "gelu" },
						{ "gelu_accurate", "gelu-tanh" },
						{ "gelu_fast", "gelu-tanh" },
						{ "swish", "silu" } };
	const char *name = fairseq_text(m, "model", "activation_fn", "relu");

	for (size_t i = 0; i < ARRAY_LEN(names); i++)
		if (!strcmp(names[i][0], name)) {
			const char *const set[] = { "activation", names[i][1], NULL };

			return import_set_options(m, set, e);
		}
	return refuse_fairseq(m, "activation_fn", name, "only relu, gelu, gelu_accurate and swish",
			      e);
}

static int set_fairseq_norms(struct import_job *m, struct err *e)
{
	const bool is_pre = has_fairseq_switch(m, "encoder_normalize_before");
	char name[256];
	const bool has_final =
		weight_foreign_tensor(&m->t, "decoder.layer_norm.weight", 0, name) != NULL;
	const char *const set[] = { "norm_place",
				    is_pre ? "pre" : "post",
				    "final_norm",
				    is_pre && !has_final ? "no" : "yes",
				    "embedding_norm",
				    has_fairseq_switch(m, "layernorm_embedding") ? "yes" : "no",
				    NULL };

	if (is_pre != has_fairseq_switch(m, "decoder_normalize_before"))
		return refuse_fairseq(m, "encoder_normalize_before", is_pre ? "True" : "False",
				      "decoder_normalize_before must be the same", e);
	return import_set_options(m, set, e);
}

static int set_fairseq_positions(struct import_job *m, struct err *e)
{
	const bool is_learned = has_fairseq_switch(m, "encoder_learned_pos"),
		   is_none = has_fairseq_switch(m, "no_token_positional_embeddings");
	const struct import_tensor *x = import_find_tensor(&m->f, "encoder.embed_positions.weight");
	char rows[24];
	const char *set[] = { "positions", "sinusoid", "position_offset", "2", "max_positions",
			      rows,	   NULL };

	if (is_learned != has_fairseq_switch(m, "decoder_learned_pos"))
		return refuse_fairseq(m, "encoder_learned_pos", is_learned ? "True" : "False",
				      "decoder_learned_pos must be the same", e);
	if (is_learned && !is_none && (!x || x->rows > ARCH_MAX_POSITIONS))
		return refuse_fairseq(m, "encoder_learned_pos", "True",
				      "the table of positions is missing or too long", e);
	snprintf(rows, sizeof(rows), "%lld", x ? (long long)x->rows : 0LL);
	set[1] = is_none ? "none" : is_learned ? "learned" : "sinusoid";
	if (is_learned || is_none)
		set[3] = "0";
	if (!is_learned || is_none)
		set[4] = NULL;
	return import_set_options(m, set, e);
}

static int set_fairseq_tables(struct import_job *m, struct err *e)
{
	char name[256];
	const bool is_all = has_fairseq_switch(m, "share_all_embeddings"),
		   is_tied = is_all || has_fairseq_switch(m, "share_decoder_input_output_embed") ||
			     !weight_foreign_tensor(&m->t, "decoder.output_projection.weight", 0,
						    name);
	const char *const set[] = { "tied_embeddings",
				    is_all    ? "all"
				    : is_tied ? "output"
					      : "none",
				    "embedding_scale",
				    has_fairseq_switch(m, "no_scale_embedding") ? "one" : "sqrt",
				    NULL };

	return import_set_options(m, set, e);
}

static int open_fairseq(struct import_job *m, struct err *e)
{
	static const char *const tables[] = { "decoder.embed_tokens.weight",
					      "decoder.output_projection.weight", NULL };
	static const char *const facts[] = {
		"norm",	       "layer", "norm_epsilon", "1e-5", "attention_bias", "yes",
		"output_bias", "no",	"ffn_bias",	"yes",	"decoder_start",  "end",
		NULL
	};
	static const char *const languages[][2] = { { "source_language", "source_lang" },
						    { "target_language", "target_lang" } };

	if (import_open_torch(&m->f, m->file, e) || check_fairseq_options(m, e) ||
	    bring_names_up_to_date(m, e) ||
	    weight_map_begin(&m->t, &m->f, NAMING_layers, tables, e) ||
	    import_set_options(m, facts, e) || set_fairseq_sizes(m, e) ||
	    set_fairseq_activation(m, e) || set_fairseq_norms(m, e) ||
	    set_fairseq_positions(m, e) || set_fairseq_tables(m, e) ||
	    import_set_search(m, "fairseq", 5, 1, e)) /* the defaults of fairseq-generate */
		return e->code;
	for (size_t i = 0; i < ARRAY_LEN(languages); i++) {
		const char *const set[] = { languages[i][0],
					    fairseq_text(m, "task", languages[i][1], ""), NULL };

		if (strlen(set[1]) == 2 && !import_option_given(m->c, set[0]) &&
		    import_set_options(m, set, e))
			return e->code;
	}
	return import_shape_of_options(m, e);
}

/* ---- text -------------------------------------------------------------- */

/* Reads dict.LANGUAGE.txt: TOKEN, blank, count. The special tokens come first. */
static int read_dictionary(const struct import_job *m, const char *key, struct token_list *w,
			   struct err *e)
{
	static const char *const special[] = { "<s>", "<pad>", "</s>", "<unk>" };
	char *path = file_path(e, "%s/dict.%s.txt", m->folder, fairseq_text(m, "task", key, ""));
	char *at, *end;
	bool has_nul;
	int rc = path ? file_read_all(path, (size_t)1 << 28, &w->text, e) : e->code;

	for (size_t i = 0; i < ARRAY_LEN(special) && !rc; i++) {
		rc = mem_grow(&w->items, &w->cap, w->n + 1, sizeof(*w->items), e);
		if (!rc)
			w->items[w->n++] = special[i];
	}
	at = rc ? NULL : w->text.data;
	for (end = at ? at + w->text.len : at; at < end && !rc; at++) {
		char *lf = memchr(at, '\n', (size_t)(end - at)), *stop = lf ? lf : end, *blank;

		has_nul = memchr(at, 0, (size_t)(stop - at)) != NULL;
		*stop = '\0';
		if (text_ends_with(at, " #fairseq:overwrite"))
			at[strlen(at) - strlen(" #fairseq:overwrite")] = '\0';
		blank = strrchr(at, ' ');
		if (!blank || blank == at || !utf8_valid(at, strlen(at)) || has_nul)
			rc = err_set(e, ERR_DATA,
				     "%s: line %zu is not a token, a blank and a count", path,
				     w->n - 3);
		else
			*blank = '\0';
		if (!rc)
			rc = mem_grow(&w->items, &w->cap, w->n + 1, sizeof(*w->items), e);
		if (!rc)
			w->items[w->n++] = at;
		at = stop;
	}
	free(path);
	return rc;
}

/* The dictionary of a side, of which the table has a row for each token. */
static int list_fairseq_tokens(const struct import_job *m, int side, void *arg,
			       struct token_list *w, struct err *e)
{
	static const char *const keys[] = { "source_lang", "target_lang" };
	static const char *const tables[] = { "encoder.embed_tokens.weight",
					      "decoder.embed_tokens.weight" };
	const struct import_tensor *x = import_find_tensor(&m->f, tables[side]);

	(void)arg;
	if (read_dictionary(m, keys[side], w, e))
		return e->code;
	return x && (size_t)x->rows != w->n
		       ? err_set(e, ERR_DATA,
				 "%s: \"%s\" has %lld rows, but the dictionary and its special "
				 "tokens have %zu: it is that of another model",
				 m->file, tables[side], (long long)x->rows, w->n)
		       : 0;
}

static int stage_fairseq(struct import_job *m, struct err *e)
{
	static const char *const usual[2] = { NULL, NULL };

	m->special = (struct special_token_names){ "</s>", "<s>", "<unk>", .may_lack = false };
	return import_stage_lists(m, list_fairseq_tokens, NULL, usual, e);
}

const struct import_format import_fairseq = { "fairseq", recognise_fairseq, open_fairseq,
					      stage_fairseq };
