/* model_export.c - makes a folder for CTranslate2; see model_export.h */
#include "eval/exchange/model_export.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "data/words/vocab.h"
#include "eval/exchange/ct2.h"
#include "eval/exchange/records.h"
#include "share/base/file.h"
#include "share/base/mem.h"
#include "share/format/json.h"
#include "share/workspace/model_files.h"
#include "train/ckpt/ckpt.h"

struct model_export {
	const char *folder;		/* borrowed: the model */
	const struct ckpt_source *from; /* borrowed: its weights */
	struct outfolder out;		/* the result */
	struct ckpt_state state;
	struct vocab *vocab; /* owned */
	bool int8;
};

static int write_ct2_config(const struct model_export *x, struct err *e)
{
	struct buf text = { 0 };
	struct json_writer w = { .out = &text };
	int rc;

	json_open(&w, '{');
	json_put_bool(&w, "add_source_bos", false);
	json_put_bool(&w, "add_source_eos", true);
	json_put_str(&w, "bos_token", vocab_piece(x->vocab, TOKEN_START));
	json_put_str(&w, "decoder_start_token", vocab_piece(x->vocab, TOKEN_START));
	json_put_str(&w, "eos_token", vocab_piece(x->vocab, TOKEN_END));
	json_key(&w, "layer_norm_epsilon");
	json_real(&w, 1e-6); /* NORM_EPSILON as a double: the float would print as 9.99999997e-07 */
	json_put_bool(&w, "multi_query_attention", false);
	json_put_str(&w, "unk_token", vocab_piece(x->vocab, TOKEN_UNKNOWN));
	json_close(&w, '}');
	buf_add_char(&text, '\n');
	rc = file_write_into(x->out.temporary, "config.json", &text, e);
	buf_free(&text);
	return rc;
}

static int write_ct2_vocabulary(const struct model_export *x, struct err *e)
{
	struct buf text = { 0 };
	struct json_writer w = { .out = &text };
	int rc;

	json_open(&w, '[');
	for (int32_t i = 0; i < x->state.shape.real_vocabulary; i++)
		json_str(&w, vocab_piece(x->vocab, i));
	json_close(&w, ']');
	buf_add_char(&text, '\n');
	rc = file_write_into(x->out.temporary, "shared_vocabulary.json", &text, e);
	buf_free(&text);
	return rc;
}

static int write_ct2_weights(const struct model_export *x, struct err *e)
{
	char *from = file_path(e, "%s/%s", x->folder, ckpt_weights_name(x->from));
	char *path = from ? file_path(e, "%s/model.bin", x->out.temporary) : NULL;
	struct safetensors *weights = path ? safetensors_open(from, e) : NULL;
	struct outfile out = { 0 };
	int rc = weights ? outfile_open(&out, path, e) : e->code;

	if (!rc)
		rc = ct2_write(out.stream, weights, &x->state.shape, x->int8, e);
	if (!rc)
		rc = outfile_commit(&out, e);
	else
		outfile_abandon(&out);
	safetensors_close(weights);
	free(path);
	free(from);
	return rc;
}

/* Copies the files that split text into pieces. */
static int copy_pipeline(const struct model_export *x, struct err *e)
{
	static const char *const names[] = { "recipe.ini", MODEL_FILE_NAMES };
	int rc = 0;

	for (size_t i = 0; i < ARRAY_LEN(names) && !rc; i++) {
		char *from = file_path(e, "%s/%s", x->folder, names[i]);
		char *to = from ? file_path(e, "%s/%s", x->out.temporary, names[i]) : NULL;

		rc = to ? 0 : e->code;
		if (!rc && file_exists(from))
			rc = file_copy(from, to, e);
		free(from);
		free(to);
	}
	return rc;
}

static int open_vocabulary(struct model_export *x, struct err *e)
{
	char *path = file_path(e, "%s/" VOCABULARY_FILE, x->folder);

	x->vocab = path ? vocab_open(path, e) : NULL;
	free(path);
	if (!x->vocab)
		return e->code;
	if (vocab_size(x->vocab) != x->state.shape.vocabulary ||
	    strcmp(vocab_sha256(x->vocab), x->state.vocabulary_sha256))
		return err_set(e, ERR_DATA,
			       "%s/vocab.tsv is not the vocabulary that the model was trained with",
			       x->folder);
	return 0;
}

/* The mapping of weights and the specification that is written are those of the usual model. */
static int refuse_unusual(const struct model_export *x, struct err *e)
{
	const struct arch_row *row = arch_unusual(&x->state.shape);
	char text[ARCH_TEXT_MAX];

	return row ? err_set(e, ERR_UNAVAILABLE,
			     "%s: the model has %s %s: export writes only models with the usual "
			     "architecture, pre-norm with ReLU and one table of embeddings",
			     x->folder, row->name, arch_text(&x->state.shape, row, text))
		   : 0;
}

static int make_ct2_folder(struct model_export *x, struct err *e)
{
	int rc = write_ct2_config(x, e);

	if (!rc)
		rc = write_ct2_vocabulary(x, e);
	if (!rc)
		rc = copy_pipeline(x, e);
	if (!rc)
		rc = write_ct2_weights(x, e);
	return rc ? rc : outfolder_commit(&x->out, e);
}

int model_export_ctranslate2(const struct ckpt_source *from, bool int8, const char *to,
			     struct err *e)
{
	const char *folder = from->folder;
	struct model_export x = { .folder = folder, .from = from, .int8 = int8 };
	struct ckpt_check *check = ckpt_check_start(from, e);
	int rc = check ? ckpt_check_finish(check, e) : e->code;

	if (!rc) /* false: the optimizer's moments may be missing */
		rc = ckpt_read_state(folder, false, &x.state, e);
	if (!rc)
		rc = refuse_unusual(&x, e);
	if (!rc)
		rc = open_vocabulary(&x, e);
	if (!rc)
		rc = outfolder_open(&x.out, to, NULL, e);
	if (!rc)
		rc = make_ct2_folder(&x, e);
	outfolder_abandon(&x.out);
	vocab_close(x.vocab);
	return rc;
}

int model_export_run(struct conf *c, struct err *e)
{
	struct ckpt_source from;
	char *folder;
	int rc;

	if (c->format && records_knows(c->format))
		return records_export(c, e);
	if (!c->format || strcmp(c->format, "ctranslate2"))
		return err_set(e, ERR_USAGE,
			       "export needs --format ctranslate2, tensorboard, csv, jsonl, "
			       "prometheus or svg%s%s",
			       c->format ? ", not " : "", c->format ? c->format : "");
	if (!c->output)
		return err_set(e, ERR_USAGE,
			       "export --format ctranslate2 makes a folder: give --output FOLDER");
	if (c->precision == PRECISION_BF16)
		return err_set(e, ERR_USAGE,
			       "export --format ctranslate2 supports --precision fp32 and int8; "
			       "CTranslate2 converts fp32 to other types when it loads a model");
	folder = ckpt_resolve(c, e);
	if (folder && !file_exists(folder)) {
		err_set(e, ERR_NOINPUT, "the model folder %s does not exist", folder);
		free(folder);
		return e->code;
	}
	from = (struct ckpt_source){ folder, c->unaveraged };
	rc = folder ? model_export_ctranslate2(&from, c->precision == PRECISION_INT8, c->output, e)
		    : e->code;
	free(folder);
	return rc;
}
