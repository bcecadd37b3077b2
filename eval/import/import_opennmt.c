/*
 * import_opennmt.c - Transformers of OpenNMT-py 1, 2 and 3, and what eole has in common with them
 *
 *	X.pt			weights ("model", "generator"), options of the training ("opt"), vocabularies ("vocab")
 *	X.safetensors		the weights, if the options say save_format safetensors; X.pt has the rest
 *	src_subword_model, tgt_subword_model	files of the options, by their names without folders; else the usual names
 *
 * Pre-norm, epsilon 1e-6. The source has no </s>. Positions: sinusoids in pairs of 10000^(-2k/d), added to embeddings
 * that are multiplied by the root of d_model; or rotary, without that factor. Since version 3 products of attention have
 * biases only with add_qkvbias. Source: onmt/modules, onmt/encoders/transformer.py, onmt/decoders/transformer.py,
 * onmt/models/model_saver.py, onmt/inputters.
 */
#include "eval/import/import_opennmt.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "share/base/mem.h"
#include "share/base/text.h"

#define MARK_BYTES ((size_t)1 << 24) /* of the file, in which the options are */

int opennmt_refuse(const struct import_job *m, const char *key, const char *value,
		   const char *reason, struct err *e)
{
	return err_set(e, ERR_DATA,
		       "%s: the model has %s = \"%.60s\" of %s, which Werkbank's models cannot "
		       "follow: %s",
		       m->file, key, value, m->format->name, reason);
}

/* ---- architecture ------------------------------------------------------ */

static int set_opennmt_number(struct import_job *m, const char *option, int64_t v, struct err *e)
{
	char text[24];
	const char *const set[] = { option, text, NULL };

	if (v < 1 || v > 65536)
		return opennmt_refuse(m, option, "", "a number from 1 to 65536 is expected", e);
	snprintf(text, sizeof(text), "%lld", (long long)v);
	return import_set_options(m, set, e);
}

static int set_opennmt_sizes(struct import_job *m, const struct opennmt_facts *x, struct err *e)
{
	const struct {
		const char *option;
		int64_t n;
	} sizes[] = { { "d_model", m->t.table->cols },
		      { "d_ff", x->d_ff },
		      { "heads", x->heads },
		      { "encoder_layers", x->encoder_layers },
		      { "decoder_layers", x->decoder_layers } };

	for (size_t i = 0; i < ARRAY_LEN(sizes); i++)
		if (set_opennmt_number(m, sizes[i].option, sizes[i].n, e))
			return e->code;
	return 0;
}

static int set_opennmt_activation(struct import_job *m, const struct opennmt_facts *x,
				  struct err *e)
{
	static const char *const names[][3] = {
		{ "relu", "relu", "no" },
		{ "gelu", "gelu", "no" },
		{ "gelu-tanh", "gelu-tanh", "no" },
		{ "quick_gelu", "gelu-sigmoid", "no" },
		{ "silu", "silu", "no" },
		{ "gated-gelu", "gelu", "yes" },
		{ "gated-gelu-tanh", "gelu-tanh", "yes" },
		{ "gated-silu", "silu", "yes" },
	};

	for (size_t i = 0; i < ARRAY_LEN(names); i++)
		if (!strcmp(names[i][0], x->activation)) {
			const char *const set[] = { "activation", names[i][1], "gated_ffn",
						    names[i][2], NULL };

			return import_set_options(m, set, e);
		}
	return opennmt_refuse(m, "the activation", x->activation, "it is not known", e);
}

static int set_opennmt_norms(struct import_job *m, const struct opennmt_facts *x, struct err *e)
{
	const char *set[] = { "norm",	    "layer", "norm_epsilon",   NULL, "norm_place", "pre",
			      "final_norm", "yes",   "embedding_norm", "no", NULL };
	struct conf_row row;
	char text[16] = "";
	size_t n;

	if (!strcmp(x->norm, "rms"))
		set[1] = "rms";
	else if (strcmp(x->norm, "standard") != 0 && strcmp(x->norm, "standardFP32") != 0)
		return opennmt_refuse(m, "layer_norm", x->norm, "only standard and rms", e);
	conf_find_row("norm_epsilon", &row);
	for (int32_t i = 0; !set[3]; i++) {
		const char *choice = conf_choice(row.detail, i, &n);

		if (!choice) {
			snprintf(text, sizeof(text), "%g", x->epsilon);
			return opennmt_refuse(m, "norm_eps", text,
					      "the option norm_epsilon does not have this number",
					      e);
		}
		if (fabs(strtod(choice, NULL) / x->epsilon - 1) < 1e-3) {
			snprintf(text, sizeof(text), "%.*s", (int)n, choice);
			set[3] = text;
		}
	}
	return import_set_options(m, set, e);
}

/* Turns the rows of queries and keys of self attention to Werkbank's order of rotary positions. */
static int pair_rotary_columns(struct import_job *m, int64_t heads, struct err *e)
{
	const int64_t d = m->t.table->cols, w = heads > 0 ? d / heads : 0;

	if (w < 2 || w % 2 || d % heads)
		return opennmt_refuse(m, "heads", "", "rotary positions need heads of even width",
				      e);
	for (size_t i = 0; i < m->f.n; i++) {
		struct import_tensor *x = &m->f.all[i];

		if ((strstr(x->name, ".self_attn.linear_query.") ||
		     strstr(x->name, ".self_attn.linear_keys.")) &&
		    (x->n_dims == 1 ? x->cols : x->rows) == d)
			x->paired_columns = (int32_t)w;
	}
	return 0;
}

static int set_opennmt_positions(struct import_job *m, const struct opennmt_facts *x, struct err *e)
{
	static const char *const names[][2] = { { "SinusoidalInterleaved", "sinusoid-pairs" },
						{ "SinusoidalConcat", "sinusoid" },
						{ "Learned", "learned" },
						{ "Rotary", "rotary" },
						{ "none", "none" } };
	const struct import_tensor *table = import_find_tensor(&m->f, "src_emb.pe.weight");
	char rows[24];
	const char *set[] = { "embedding_scale",
			      x->is_scaled ? "sqrt" : "one",
			      "positions",
			      NULL,
			      "max_positions",
			      rows,
			      NULL };

	for (size_t i = 0; i < ARRAY_LEN(names); i++)
		if (!strcmp(names[i][0], x->positions))
			set[3] = names[i][1];
	if (!set[3])
		return opennmt_refuse(m, "position_encoding_type", x->positions,
				      "only sinusoids, learned and rotary positions", e);
	if (!strcmp(set[3], "learned") && (!table || table->rows > ARCH_MAX_POSITIONS))
		return opennmt_refuse(m, "position_encoding_type", x->positions,
				      "the table of positions is missing or too long", e);
	if (!strcmp(set[3], "rotary") && x->is_paired && pair_rotary_columns(m, x->heads, e))
		return e->code;
	snprintf(rows, sizeof(rows), "%lld", table ? (long long)table->rows : 0LL);
	if (strcmp(set[3], "learned") != 0)
		set[4] = NULL;
	return import_set_options(m, set, e);
}

/* The tensors show which products have biases, and whether the output has one. */
static int set_opennmt_biases(struct import_job *m, const struct opennmt_facts *x, struct err *e)
{
	bool attention = false, ffn = false;
	const char *tied = x->has_one_table	? x->has_tied_output ? "all" : "source"
			   : x->has_tied_output ? "output"
						: "none";

	for (size_t i = 0; i < m->f.n; i++) {
		const char *name = m->f.all[i].name;

		if (!text_ends_with(name, ".bias"))
			continue;
		attention = attention || strstr(name, "_attn.linear_") ||
			    text_ends_with(name, "_attn.final_linear.bias");
		ffn = ffn || strstr(name, ".feed_forward.w_") || strstr(name, "_proj.bias");
	}
	const char *const set[] = {
		"attention_bias",
		attention ? "yes" : "no",
		"ffn_bias",
		ffn ? "yes" : "no",
		"output_bias",
		import_find_tensor(&m->f, "generator.bias") ? "yes" : "no",
		"tied_embeddings",
		tied,
		"source_end",
		"no",
		"decoder_start",
		strcmp(x->start, "</s>") != 0 ? "start" : "end",
		NULL,
	};

	return import_set_options(m, set, e);
}

int opennmt_set_architecture(struct import_job *m, const struct opennmt_facts *x, struct err *e)
{
	if (strcmp(x->start, "<s>") != 0 && strcmp(x->start, "</s>") != 0)
		return opennmt_refuse(m, "decoder_start_token", x->start,
				      "the decoder starts from <s> or </s>", e);
	return set_opennmt_sizes(m, x, e) || set_opennmt_activation(m, x, e) ||
			       set_opennmt_norms(m, x, e) || set_opennmt_positions(m, x, e) ||
			       set_opennmt_biases(m, x, e) ||
			       import_set_search(m, "opennmt", 5, x->alpha, e)
		       ? e->code
		       : import_shape_of_options(m, e);
}

int opennmt_check_transform(const struct import_job *m, const char *name, struct err *e)
{
	static const char *const refused[][2] = {
		{ "onmt_tokenize", "its text has the joiners or spacers of pyonmttok" },
		{ "prefix", "each sentence begins with further tokens" },
		{ "suffix", "each sentence ends with further tokens" },
		{ "docify", "several sentences are one" },
		{ "inlinetags", "tags are tokens of its own" },
		{ "terminology", "terms are tokens of the source" },
		{ "fuzzymatch", "fuzzy matches are part of the source" },
		{ "huggingface_tokenize", "its text is split by a file tokenizer.json" },
	};

	for (size_t i = 0; i < ARRAY_LEN(refused); i++)
		if (!strcmp(name, refused[i][0]))
			return opennmt_refuse(m, "a transform", name, refused[i][1], e);
	return 0;
}

/* ---- options of OpenNMT-py --------------------------------------------- */

static bool recognise_opennmt(const struct import_source *s)
{
	static const char mark[] = "pos_ffn_activation_fn", old[] = "transformer_ff";
	const size_t n = MIN(s->n, MARK_BYTES);

	return import_is_torch(s->bytes, s->n) && memmem(s->bytes, n, "generator", 9) &&
	       (memmem(s->bytes, n, mark, sizeof(mark) - 1) ||
		memmem(s->bytes, n, old, sizeof(old) - 1));
}

static const struct pickle_node *opennmt_option(const struct import_job *m, const char *key)
{
	return pickle_get(pickle_get(m->f.pickle.root, "opt"), key);
}

static const char *opennmt_text(const struct import_job *m, const char *key, const char *usual)
{
	const struct pickle_node *x = opennmt_option(m, key);

	return x && x->kind == PICKLE_TEXT ? x->text : usual;
}

static double opennmt_number(const struct import_job *m, const char *key, double usual)
{
	const struct pickle_node *x = opennmt_option(m, key);

	return !x						 ? usual
	       : x->kind == PICKLE_REAL				 ? x->real
	       : x->kind == PICKLE_INT || x->kind == PICKLE_BOOL ? (double)x->number
								 : usual;
}

/* What an option must be, if the file has it. */
static int check_opennmt_texts(const struct import_job *m, struct err *e)
{
	static const char *const texts[][3] = {
		{ "model_type", "text", "only models of text" },
		{ "model_task", "seq2seq", "only models of source and target" },
		{ "encoder_type", "transformer", "only a Transformer" },
		{ "decoder_type", "transformer", "only a Transformer" },
		{ "generator_function", "softmax", "only softmax" },
		{ "quant_type", "", "the weights are quantised" },
	};
	const char *attention = opennmt_text(m, "self_attn_type", "scaled-dot");

	for (size_t i = 0; i < ARRAY_LEN(texts); i++) {
		const char *x = opennmt_text(m, texts[i][0], texts[i][1]);

		if (strcmp(x, texts[i][1]) != 0)
			return opennmt_refuse(m, texts[i][0], x, texts[i][2], e);
	}
	return text_starts_with(attention, "scaled-dot")
		       ? 0
		       : opennmt_refuse(m, "self_attn_type", attention,
					"only attention by scaled products", e);
}

static int check_opennmt_numbers(const struct import_job *m, struct err *e)
{
	static const char *const zero[][2] = {
		{ "copy_attn", "words are copied from the source" },
		{ "num_kv", "several heads have keys in common" },
		{ "multiquery", "all heads have keys in common" },
		{ "parallel_residual", "sublayers are computed side by side" },
		{ "sliding_window", "attention to the nearest tokens only" },
		{ "num_experts", "feed-forward layers are mixtures of experts" },
		{ "relative_positions_buckets", "positions are relative" },
		{ "n_src_feats", "tokens have features" },
		{ "lora_embedding", "weights are those of LoRA alone" },
	};
	char text[24];

	for (size_t i = 0; i < ARRAY_LEN(zero); i++) {
		const double x = opennmt_number(m, zero[i][0], 0);

		snprintf(text, sizeof(text), "%g", x);
		if (x != 0)
			return opennmt_refuse(m, zero[i][0], text, zero[i][1], e);
	}
	return 0;
}

static int check_opennmt_lists(const struct import_job *m, struct err *e)
{
	static const char *const empty[][2] = { { "lora_layers",
						  "weights are those of LoRA alone" },
						{ "quant_layers", "weights are quantised" } };
	const struct pickle_node *x = opennmt_option(m, "transforms");

	for (size_t i = 0; x && x->kind == PICKLE_LIST && i < x->n; i++)
		if (x->items[i]->kind == PICKLE_TEXT &&
		    opennmt_check_transform(m, x->items[i]->text, e))
			return e->code;
	for (size_t i = 0; i < ARRAY_LEN(empty); i++) {
		x = opennmt_option(m, empty[i][0]);
		if (x && x->kind == PICKLE_LIST && x->n)
			return opennmt_refuse(m, empty[i][0], "", empty[i][1], e);
	}
	return 0;
}

/* Positions: absolute ones, or rotary ones if max_relative_positions is -1. */
static int read_opennmt_positions(const struct import_job *m, struct opennmt_facts *x,
				  struct err *e)
{
	const bool is_absolute = opennmt_number(m, "position_encoding", 0) != 0;
	const double relative = opennmt_number(m, "max_relative_positions", 0),
		     theta = opennmt_number(m, "rotary_theta", 10000),
		     columns = opennmt_number(m, "rotary_dim", 0);
	char text[24];

	x->is_scaled = is_absolute;
	x->positions = is_absolute
			       ? opennmt_text(m, "position_encoding_type", "SinusoidalInterleaved")
		       : relative == -1 ? "Rotary"
					: "none";
	x->is_paired = opennmt_number(m, "rotary_interleave", 1) != 0;
	snprintf(text, sizeof(text), "%g", relative);
	if ((relative != 0 && relative != -1) || (relative != 0 && is_absolute))
		return opennmt_refuse(m, "max_relative_positions", text,
				      "only 0, or -1 without position_encoding", e);
	snprintf(text, sizeof(text), "%g", theta);
	if (relative == -1 && theta != 10000)
		return opennmt_refuse(m, "rotary_theta", text, "only 10000", e);
	if (relative == -1 && columns != 0 &&
	    columns * (double)x->heads != (double)m->t.table->cols)
		return opennmt_refuse(m, "rotary_dim", "", "all columns of a head must turn", e);
	return 0;
}

static int64_t opennmt_layers(const struct import_job *m, const char *key)
{
	const double n = opennmt_number(m, key, opennmt_number(m, "layers", 0));

	return n >= 0 && n < 1e6 ? (int64_t)n : 0;
}

static int read_opennmt_facts(const struct import_job *m, struct opennmt_facts *x, struct err *e)
{
	const struct pickle_node *vocabulary = pickle_get(m->f.pickle.root, "vocab"),
				 *start = pickle_get(vocabulary, "decoder_start_token"),
				 *list = pickle_get(vocabulary, "src");
	const char *activation = opennmt_text(m, "pos_ffn_activation_fn", "relu");
	char name[256];

	*x = (struct opennmt_facts){
		.encoder_layers = opennmt_layers(m, "enc_layers"),
		.decoder_layers = opennmt_layers(m, "dec_layers"),
		.heads = opennmt_layers(m, "heads"),
		.d_ff = opennmt_layers(m, "transformer_ff"),
		.activation = strcmp(activation, "silu") != 0 ? activation : "gated-silu",
		.norm = opennmt_text(m, "layer_norm", "standard"),
		.epsilon = opennmt_number(m, "norm_eps", 1e-6),
		.has_one_table = opennmt_number(m, "share_embeddings", 0) != 0,
		.has_tied_output = opennmt_number(m, "share_decoder_embeddings", 0) != 0,
		.start = start && start->kind == PICKLE_TEXT ? start->text : "<s>",
		/* since version 3, whose lists are not in fields of torchtext */
		.alpha = list && list->kind == PICKLE_LIST && list->n &&
			 list->items[0]->kind == PICKLE_TEXT,
	};
	if (!x->has_tied_output && !weight_foreign_tensor(&m->t, "generator.weight", 0, name))
		return err_set(e, ERR_DATA, "%s has no tensor \"%s\"", m->file, name);
	return read_opennmt_positions(m, x, e);
}

/* Very old files call the scale and the shift of a norm a_2 and b_2. */
static int rename_opennmt_norms(struct import_reader *f, struct err *e)
{
	const uintptr_t old = (uintptr_t)f->names.data;
	const size_t n_old = f->names.len;
	size_t bytes = n_old;

	for (size_t i = 0; i < f->n; i++)
		bytes += strlen(f->all[i].name) + sizeof("weight");
	if (!buf_reserve(&f->names, bytes))
		return buf_check(&f->names, e);
	for (size_t i = 0; i < f->n; i++) { /* some names are in the buffer, which may have moved */
		const uintptr_t at = (uintptr_t)f->all[i].name - old;

		if (at < n_old)
			f->all[i].name = buf_text(&f->names) + at;
	}
	for (size_t i = 0; i < f->n; i++) {
		const char *name = f->all[i].name;
		const size_t n = strlen(name), at = f->names.len;
		const bool is_scale = text_ends_with(name, ".a_2");

		if (!is_scale && !text_ends_with(name, ".b_2"))
			continue;
		buf_printf(&f->names, "%.*s%s", (int)(n - 3), name, is_scale ? "weight" : "bias");
		buf_add_char(&f->names, 0);
		f->all[i].name = buf_text(&f->names) + at;
	}
	return buf_check(&f->names, e);
}

/* With save_format safetensors the weights are beside the pickle. */
static int open_opennmt_weights(struct import_job *m, struct err *e)
{
	struct import_reader options = { 0 };
	char *path;
	int rc;

	if (import_open_pickle(&options, m->file, e)) {
		import_reader_close(&options);
		return e->code;
	}
	if (pickle_get(options.pickle.root, "model")) {
		import_reader_close(&options);
		return import_open_torch(&m->f, m->file, e);
	}
	path = file_path(e, "%.*s.safetensors",
			 (int)(strlen(m->file) - (text_ends_with(m->file, ".pt") ? 3 : 0)),
			 m->file);
	rc = path ? import_open_safetensors(&m->f, path, e) : e->code;
	free(path);
	m->f.path = m->file;
	m->f.pickle = options.pickle;
	options.pickle = (struct pickle){ .root = NULL };
	import_reader_close(&options);
	return rc;
}

static int open_opennmt(struct import_job *m, struct err *e)
{
	struct opennmt_facts facts;

	if (open_opennmt_weights(m, e) || check_opennmt_texts(m, e) ||
	    check_opennmt_numbers(m, e) || check_opennmt_lists(m, e) ||
	    rename_opennmt_norms(&m->f, e) ||
	    weight_map_begin(&m->t, &m->f, NAMING_opennmt, NULL, e) ||
	    read_opennmt_facts(m, &facts, e))
		return e->code;
	return opennmt_set_architecture(m, &facts, e);
}

/* ---- text -------------------------------------------------------------- */

/* The list of tokens of a side: in old files that of a vocabulary of torchtext, in one of its fields. */
static const struct pickle_node *opennmt_tokens(const struct import_job *m, const char *side)
{
	const struct pickle_node *all = pickle_get(m->f.pickle.root, "vocab"), *x = NULL;

	if (all && all->kind == PICKLE_LIST) /* (name, vocabulary) */
		for (size_t i = 0; i < all->n; i++) {
			const struct pickle_node *t = all->items[i];

			if (t->kind == PICKLE_TUPLE && t->n == 2 &&
			    t->items[0]->kind == PICKLE_TEXT && !strcmp(t->items[0]->text, side))
				x = t->items[1];
		}
	else
		x = pickle_get(all, side);
	if (x && x->kind == PICKLE_LIST && x->n && x->items[0]->kind == PICKLE_TUPLE)
		x = x->items[0]->n == 2 ? x->items[0]->items[1] : NULL; /* [(side, field)] */
	if (pickle_get(x, "fields")) {					/* of TextMultiField */
		x = pickle_get(x, "fields");
		x = x->kind == PICKLE_LIST && x->n == 1 && x->items[0]->kind == PICKLE_TUPLE &&
				    x->items[0]->n == 2
			    ? x->items[0]->items[1]
			    : NULL;
	}
	if (pickle_get(x, "vocab"))
		x = pickle_get(x, "vocab");
	if (pickle_get(x, "itos"))
		x = pickle_get(x, "itos");
	return x && x->kind == PICKLE_LIST ? x : NULL;
}

static int list_opennmt_tokens(const struct import_job *m, int side, void *arg,
			       struct token_list *w, struct err *e)
{
	static const char *const names[] = { "src", "tgt" };
	static const char *const tables[] = {
		"encoder.embeddings.make_embedding.emb_luts.0.weight",
		"decoder.embeddings.make_embedding.emb_luts.0.weight"
	};
	const struct pickle_node *x = opennmt_tokens(m, names[side]);
	const struct import_tensor *rows = import_find_tensor(&m->f, tables[side]);

	(void)arg;
	if (!x || !x->n)
		return err_set(e, ERR_DATA, "%s: \"vocab\" has no list of tokens of \"%s\"",
			       m->file, names[side]);
	if (rows && (size_t)rows->rows != x->n)
		return err_set(e, ERR_DATA,
			       "%s: \"%s\" has %lld rows, but the vocabulary has %zu tokens",
			       m->file, tables[side], (long long)rows->rows, x->n);
	w->items = mem_alloc(x->n, sizeof(*w->items), e);
	if (!w->items)
		return e->code;
	w->cap = x->n;
	for (size_t i = 0; i < x->n; i++) {
		if (x->items[i]->kind != PICKLE_TEXT)
			return err_set(e, ERR_DATA, "%s: token %zu of \"%s\" is not a text",
				       m->file, i, names[side]);
		w->items[w->n++] = x->items[i]->text;
	}
	return 0;
}

static int stage_opennmt(struct import_job *m, struct err *e)
{
	static const char *const keys[] = { "src_subword_model", "tgt_subword_model" };
	const char *names[2];

	for (int side = 0; side < 2; side++) {
		const char *path = opennmt_text(m, keys[side], ""), *slash = strrchr(path, '/');

		names[side] = slash ? slash + 1 : path;
	}
	/* up to version 2 the target's model is that of the source if it is not given */
	if (!*names[1])
		names[1] = names[0];
	m->special = (struct special_token_names){ "</s>", "<s>", "<unk>", .may_lack_end = true };
	return import_stage_lists(m, list_opennmt_tokens, NULL, names, e);
}

const struct import_format import_opennmt = { "OpenNMT-py", recognise_opennmt, open_opennmt,
					      stage_opennmt };
