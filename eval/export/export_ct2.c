/*
 * export_ct2.c - a folder for CTranslate2
 *
 *	model.bin                     the weights, see ct2.h; fp32, or int8 by --precision
 *	config.json                   special tokens, epsilon of the norms
 *	shared_vocabulary.json        the pieces, by id; or source_ and target_vocabulary.json
 *	recipe.ini vocab.tsv, and bpe.codes or sentencepiece.model ...
 *	                              for splitting text into pieces and joining them
 */
#include <stdlib.h>

#include "eval/export/export_format.h"
#include "eval/weights/ct2.h"
#include "share/base/file.h"
#include "share/format/json.h"

static void put_ct2_config(const struct export_job *x, struct buf *text)
{
	const struct vocab *v = x->vocabs.target;
	const int32_t start = x->shape->decoder_start == DECODER_START ? TOKEN_START : TOKEN_END;
	struct json_writer w = { .out = text };

	json_open(&w, '{');
	json_put_bool(&w, "add_source_bos", false);
	json_put_bool(&w, "add_source_eos", x->shape->source_end == ARCH_YES);
	json_put_str(&w, "bos_token", vocab_piece(v, TOKEN_START));
	json_put_str(&w, "decoder_start_token", vocab_piece(v, start));
	json_put_str(&w, "eos_token", vocab_piece(v, TOKEN_END));
	json_key(&w, "layer_norm_epsilon"); /* as a double: a float would print as 9.99999997e-07 */
	json_real(&w, arch_norm_epsilon(x->shape));
	json_put_bool(&w, "multi_query_attention", false);
	json_put_str(&w, "unk_token", vocab_piece(v, TOKEN_UNKNOWN));
	json_close(&w, '}');
	buf_add_char(text, '\n');
}

static void put_ct2_vocabulary(const struct vocab *v, struct buf *text)
{
	struct json_writer w = { .out = text };

	json_open(&w, '[');
	for (int32_t i = 0; i < vocab_real_size(v); i++)
		json_str(&w, vocab_piece(v, i));
	json_close(&w, ']');
	buf_add_char(text, '\n');
}

int export_ct2_texts(const struct export_job *x, export_put_text *put, void *arg, struct err *e)
{
	const bool is_separate = vocabs_are_separate(&x->vocabs);
	struct buf config = { 0 }, source = { 0 }, target = { 0 };
	int rc;

	put_ct2_config(x, &config);
	put_ct2_vocabulary(x->vocabs.target, &target);
	if (is_separate)
		put_ct2_vocabulary(x->vocabs.source, &source);
	rc = put(arg, "config.json", &config, e);
	if (!rc)
		rc = put(arg, is_separate ? "target_vocabulary.json" : "shared_vocabulary.json",
			 &target, e);
	if (!rc && is_separate)
		rc = put(arg, "source_vocabulary.json", &source, e);
	buf_free(&config);
	buf_free(&source);
	buf_free(&target);
	return rc;
}

int export_ct2_weights(const struct export_job *x, FILE *out, struct err *e)
{
	struct token_rows rows = { .target = NULL };
	struct weight_store weights = { .n = 0 };
	int rc = 0;

	if ((rows.n_target = export_all_rows(x, 1, &rows.target, e)) < 0 ||
	    (vocabs_are_separate(&x->vocabs) &&
	     (rows.n_source = export_all_rows(x, 0, &rows.source, e)) < 0))
		rc = e->code;
	if (!rc)
		rc = weight_store_open(&weights, NAMING_ctranslate2, x->shape, x->weights, &rows,
				       e);
	if (!rc && x->shape->positions != POSITIONS_LEARNED)
		rc = weight_store_add_positions(&weights, "decoder/position_encodings/encodings",
						CT2_POSITIONS_ROWS, e);
	if (!rc)
		rc = ct2_write(out, &weights, x->int8, e);
	weight_store_close(&weights);
	free(rows.target);
	free(rows.source);
	return rc;
}

static int write_ct2_text(void *arg, const char *name, const struct buf *text, struct err *e)
{
	return file_write_into(arg, name, text, e);
}

static int write_ctranslate2(const struct export_job *x, struct err *e)
{
	char *path = file_path(e, "%s/model.bin", x->out);
	struct outfile out = { 0 };
	int rc = path ? export_copy_pipeline(x, e) : e->code;

	if (!rc)
		rc = export_ct2_texts(x, write_ct2_text, (void *)x->out, e);
	if (!rc)
		rc = outfile_open(&out, path, e);
	if (!rc)
		rc = export_ct2_weights(x, out.stream, e);
	if (!rc)
		rc = outfile_commit(&out, e);
	outfile_abandon(&out);
	free(path);
	return rc;
}

const struct export_limit export_ct2_limits[] = {
	{ "positions", "sinusoid|sinusoid-2k|sinusoid-pairs|learned",
	  "CTranslate2 adds a table of positions to the embeddings" },
	{ "decoder_self", "attention", "CTranslate2 does not have the recurrent unit" },
	{ NULL, NULL, NULL },
};

const struct export_format export_ctranslate2 = { .name = "ctranslate2",
						  .title = "CTranslate2",
						  .has_int8 = true,
						  .limits = export_ct2_limits,
						  .write = write_ctranslate2 };
