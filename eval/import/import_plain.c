/*
 * import_plain.c - weights that come without text files of their own: CTranslate2, PyTorch's nn.Transformer and
 * Werkbank's own names. Options, a corpus, or files that an export wrote beside the weights give the vocabulary
 * and the subword model; see import_model.h
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "data/pipeline/pipeline.h"
#include "data/shard/token_batch.h"
#include "eval/import/import_format.h"
#include "share/base/mem.h"
#include "share/base/text.h"
#include "share/workspace/model_files.h"

/* ---- facts that the tensors lack --------------------------------------- */

/* Sets norm_epsilon to the choice of the option that is this number. */
static int set_epsilon(struct import_job *m, double epsilon, struct err *e)
{
	struct conf_row row;
	const char *choice = "";
	size_t n;

	conf_find_row("norm_epsilon", &row);
	for (int32_t i = 0; (choice = conf_choice(row.detail, i, &n)) != NULL; i++)
		if (fabs(strtod(choice, NULL) / epsilon - 1) < 1e-3) {
			m->t.shape.norm_epsilon = i;
			return 0;
		}
	return err_set(e, ERR_DATA,
		       "%s/config.json: layer_norm_epsilon is %g, which the option norm_epsilon "
		       "does not have",
		       m->folder, epsilon);
}

/*
 * Reads config.json of CTranslate2. Without layer_norm_epsilon CTranslate2 takes 1e-5, or 1e-6 for RMS norms; a
 * model.bin without config.json is taken for one that Werkbank has exported.
 */
static int read_config(struct import_job *m, struct err *e)
{
	char *path = file_path(e, "%s/config.json", m->folder);
	struct model_shape *s = &m->t.shape;
	struct buf text = { 0 };
	const char *start;
	double usual = 1e-6;
	int rc = path ? 0 : e->code;

	m->special = (struct special_token_names){ "</s>", "<s>", "<unk>", .may_lack = true };
	if (!rc && file_exists(path)) {
		rc = file_read_all(path, 1 << 20, &text, e);
		m->config = rc ? NULL : json_parse(buf_text(&text), text.len, e);
		if (!rc && !m->config)
			rc = err_prefix(e, "%s", path);
		usual = s->norm ? 1e-6 : 1e-5;
	}
	m->special.end = json_text(json_get(m->config, "eos_token"), m->special.end);
	m->special.start = json_text(json_get(m->config, "bos_token"), m->special.start);
	m->special.unknown = json_text(json_get(m->config, "unk_token"), m->special.unknown);
	start = json_text(json_get(m->config, "decoder_start_token"), m->special.start);
	if (s->decoder_start == DECODER_START && !strcmp(start, m->special.end))
		s->decoder_start = DECODER_END;
	else if (!rc && s->decoder_start == DECODER_START && strcmp(start, m->special.start) != 0)
		rc = err_set(e, ERR_DATA,
			     "%s: the decoder starts from \"%.60s\", but Werkbank's decoder starts "
			     "from \"%.60s\" or \"%.60s\"",
			     path, start, m->special.start, m->special.end);
	/* without the key CTranslate2 gives the encoder no </s> */
	if (m->config && !json_boolean(json_get(m->config, "add_source_eos"), false))
		s->source_end = ARCH_NO;
	if (!rc && json_boolean(json_get(m->config, "add_source_bos"), false))
		rc = err_set(e, ERR_DATA,
			     "%s: with add_source_bos the encoder reads <s> first, but Werkbank's "
			     "encoder does not",
			     path);
	if (!rc)
		rc = set_epsilon(m, json_number(json_get(m->config, "layer_norm_epsilon"), usual),
				 e);
	buf_free(&text);
	free(path);
	return rc;
}

static bool text_equals_word(const char *text, const char *word)
{
	return text && !strcasecmp(text, word);
}

static const char *file_metadata(const struct import_job *m, const char *key)
{
	return m->f.file ? safetensors_metadata(m->f.file, key) : NULL;
}

/*
 * Reads the metadata of a safetensors file. The tensor names of nn.Transformer are the same for
 * pre-norm and post-norm, so the metadata or --pre-norm must decide.
 */
static int read_metadata(struct import_job *m, struct err *e)
{
	const char *first = file_metadata(m, "norm_first"),
		   *activation = file_metadata(m, "activation"), *heads = file_metadata(m, "nhead");
	int64_t n = 0;

	if (!heads)
		heads = file_metadata(m, "heads");
	if (heads && (!text_to_int(heads, &n) || n < 1 || n > 128))
		return err_set(e, ERR_DATA,
			       "%s: the metadata \"heads\" is \"%.20s\": expected a number of "
			       "attention heads from 1 to 128",
			       m->file, heads);
	if (n)
		m->t.shape.heads = (int32_t)n;
	if (m->t.scheme != NAMING_pytorch)
		return 0;
	if (text_equals_word(first, "false"))
		return err_set(e, ERR_DATA,
			       "%s: norm_first is false, so the model is post-norm (each norm "
			       "follows its residual sum), but Werkbank's Transformer is pre-norm",
			       m->file);
	if (!text_equals_word(first, "true") && !m->c->pre_norm)
		return err_set(e, ERR_USAGE,
			       "%s: the tensors of nn.Transformer do not show whether the model is "
			       "pre-norm, as Werkbank's is; PyTorch's default is post-norm. If it "
			       "was made with norm_first=True, give --pre-norm",
			       m->file);
	if (activation && !text_equals_word(activation, "relu"))
		return err_set(e, ERR_DATA, "%s: the activation is %.40s, but Werkbank's is ReLU",
			       m->file, activation);
	return 0;
}

/* The number of heads: from the file, else --heads, else --size if its d_model fits. */
static int find_heads(struct import_job *m, struct err *e)
{
	const struct conf *c = m->c;
	const struct model_shape *s = &m->t.shape;
	const bool is_given = import_option_given(c, "heads") || import_option_given(c, "size");

	conf_apply_size(m->c);
	if (!m->t.shape.heads && is_given &&
	    (import_option_given(c, "heads") || c->d_model == s->d_model))
		m->t.shape.heads = (int32_t)c->heads;
	if (!m->t.shape.heads)
		return err_set(e, ERR_USAGE,
			       "%s: the tensors do not show the number of attention heads: give "
			       "--heads N",
			       m->file);
	if (s->d_model % s->heads || s->d_model / s->heads % 2 || s->d_model < 4)
		return err_set(e, ERR_DATA,
			       "%s: %d heads do not divide a d_model of %d into parts of even size",
			       m->file, s->heads, s->d_model);
	return 0;
}

/* ---- vocabulary and pieces --------------------------------------------- */

/*
 * Copies a file to the staging folder: given (the file that an option names), or if NULL the file
 * of this name in m->pieces. *is_found: there was a file.
 */
static int stage_model_file(const struct import_job *m, const char *given, const char *name,
			    bool *is_found, struct err *e)
{
	char *from = NULL, *to = file_path(e, "%s/%s", m->staging.temporary, name);
	int rc = to ? 0 : e->code;

	if (!rc)
		rc = given ? 0 : import_find_piece(m, name, &from, e);
	*is_found = given || from;
	if (!rc && *is_found)
		rc = file_copy(given ? given : from, to, e);
	free(from);
	free(to);
	return rc;
}

/* The tokens that came with the weights must be equal to those of vocab.tsv. */
static int check_words(const struct token_list *w, const struct vocab *v, const char *path,
		       struct err *e)
{
	for (size_t i = 0; i < w->n && i < (size_t)vocab_real_size(v); i++)
		if (strcmp(w->items[i], vocab_piece(v, (int32_t)i)) != 0)
			return err_set(
				e, ERR_DATA,
				"%s: token %zu is \"%.60s\", but vocab.tsv has \"%.60s\": the "
				"files are different vocabularies",
				path, i, w->items[i], vocab_piece(v, (int32_t)i));
	return 0;
}

/* A vocabulary of the import: one for both sides, or one for each. */
struct plain_side {
	const char *file;     /* text_vocabulary_file() */
	const char *lists[2]; /* of CTranslate2 */
	const struct import_tensor *table;
	int32_t **rows;
};

static struct plain_side side_of(struct import_job *m, int side)
{
	struct plain_side s = { text_vocabulary_file(m->c, side),
				{ "shared_vocabulary.json", "shared_vocabulary.txt" },
				m->t.table,
				&m->rows.target };

	if (text_vocabularies(m->c) > 1) {
		s.lists[0] = side ? "target_vocabulary.json" : "source_vocabulary.json";
		s.lists[1] = side ? "target_vocabulary.txt" : "source_vocabulary.txt";
	}
	if (text_vocabularies(m->c) > 1 && !side) {
		s.table = import_find_tensor(&m->f, "encoder/embeddings_0/weight");
		s.rows = &m->rows.source;
	}
	return s;
}

/* Makes vocab.tsv in the staging folder from a list of tokens, or compares the list with it. */
static int use_words(struct import_job *m, const struct plain_side *s, const char *path,
		     bool compare, struct err *e)
{
	struct token_list w;
	struct vocab *v = NULL;
	char *to = file_path(e, "%s/%s", m->staging.temporary, s->file);
	int32_t n;
	int rc = token_list_open(&w, path, e);

	if (!to)
		rc = e->code;
	else if (!rc && compare) {
		v = vocab_open(to, e);
		rc = v ? check_words(&w, v, path, e) : e->code;
	} else if (!rc) {
		rc = token_list_write(&w, &m->special, to, s->rows, &n, e);
		if (rc)
			rc = err_prefix(e, "%s", path);
		else if (!s->table || (int64_t)w.n != s->table->rows)
			rc = err_set(
				e, ERR_DATA,
				"%s has %zu tokens, but the embedding table \"%s\" has %lld rows",
				path, w.n, s->table ? s->table->name : "",
				s->table ? (long long)s->table->rows : 0);
		if (!rc && m->t.scheme == NAMING_ctranslate2)
			rc = import_protect_tags(m, &w, e);
	}
	vocab_close(v);
	token_list_close(&w);
	free(to);
	return rc;
}

/* Does the file begin like a vocab.tsv of Werkbank? */
static int check_vocab_tsv(const char *path, bool *is_own, struct err *e)
{
	static const char head[] = "<pad>\t";
	char first[sizeof(head)] = "";
	size_t n;
	int rc = file_read_head(path, first, sizeof(head) - 1, &n, e);

	*is_own = !rc && !strcmp(first, head);
	return rc;
}

static int find_vocabulary(struct import_job *m, int side, struct err *e)
{
	const struct plain_side s = side_of(m, side);
	const char *given = text_vocabularies(m->c) > 1 ? NULL : m->c->vocabulary;
	bool is_found = false, is_own;
	int rc = 0;

	if (given && check_vocab_tsv(given, &is_own, e))
		return e->code;
	if (given && !is_own)
		return use_words(m, &s, given, false, e);
	rc = stage_model_file(m, given, s.file, &is_found, e);
	for (size_t i = 0; i < ARRAY_LEN(s.lists) && !rc && !*s.rows; i++) {
		char *path = file_path(e, "%s/%s", m->folder, s.lists[i]);

		rc = !path ? e->code : file_exists(path) ? use_words(m, &s, path, is_found, e) : 0;
		is_found = is_found || *s.rows;
		free(path);
	}
	if (!rc && !is_found)
		rc = err_set(e, ERR_NOINPUT,
			     "%s: the token of each row is unknown: there is no %s in its "
			     "folder%s%s. Give --corpus NAME, or --vocabulary FILE with one token "
			     "per line",
			     m->file, s.file, m->t.scheme == NAMING_ctranslate2 ? " and no " : "",
			     m->t.scheme == NAMING_ctranslate2 ? s.lists[0] : "");
	return rc;
}

/* ERR_UNAVAILABLE: weights with one table are imported with one subword model and one vocabulary. */
static int refuse_two_sides(const struct conf *c, struct err *e)
{
	return text_subword_models(c) > 1
		       ? err_set(e, ERR_UNAVAILABLE,
				 "vocabularies is not joint: import reads models of this format "
				 "with "
				 "one subword model and one vocabulary for both sides")
		       : 0;
}

static int stage_codes(struct import_job *m, int side, struct err *e)
{
	const bool sentencepiece = text_segmentation(m->c, side) != SEGMENTATION_BPE;
	const char *name = text_codes_file(m->c, side);
	bool is_found;
	int rc = stage_model_file(m, sentencepiece ? NULL : m->c->codes, name, &is_found, e);

	if (!rc && !is_found)
		rc = err_set(e, ERR_NOINPUT, "%s has no %s, which splits words into pieces: %s",
			     m->pieces, name,
			     sentencepiece ? "give --corpus NAME"
					   : "give --codes FILE or --corpus NAME");
	return rc;
}

static int stage_pieces(struct import_job *m, struct err *e)
{
	int rc = text_sides_check(m->c, e);

	if (!rc && m->t.scheme != NAMING_ctranslate2)
		rc = refuse_two_sides(m->c, e);
	for (int side = text_vocabularies(m->c) > 1 ? 0 : 1; !rc && side < 2; side++)
		rc = find_vocabulary(m, side, e);
	for (int side = text_subword_models(m->c) > 1 ? 0 : 1; !rc && side < 2; side++)
		rc = stage_codes(m, side, e);
	return rc;
}

/* ---- text of CTranslate2 ----------------------------------------------- */

static bool has_piece_file(const struct import_job *m, const char *name)
{
	struct err ignored = { 0 };
	char *path = NULL;
	const bool has = !import_find_piece(m, name, &path, &ignored) && path;

	free(path);
	return has;
}

/*
 * A folder that another program made has no vocab.tsv. source.spm and target.spm, which converters copy, or
 * sentencepiece.model split its text.
 */
static int stage_foreign_text(struct import_job *m, struct err *e)
{
	const bool is_separate = has_piece_file(m, "source_vocabulary.json") ||
				 has_piece_file(m, "source_vocabulary.txt"),
		   is_joint = !is_separate && has_piece_file(m, SENTENCEPIECE_FILE);
	bool is_found;
	int rc;

	if (is_joint)
		rc = import_set_text_options(m, "joint", e) ||
				     stage_model_file(m, NULL, SENTENCEPIECE_FILE, &is_found, e)
			     ? e->code
			     : 0;
	else
		rc = import_stage_pair(m, is_separate, e);
	for (int side = is_separate ? 0 : 1; !rc && side < 2; side++)
		rc = find_vocabulary(m, side, e);
	return rc ? rc : import_find_segmentations(m, e);
}

static int stage_ct2(struct import_job *m, struct err *e)
{
	const bool is_known =
		m->c->vocabulary || m->c->codes ||
		has_piece_file(m, text_vocabulary_file(m->c, 1)) ||
		(!has_piece_file(m, "source.spm") && !has_piece_file(m, SENTENCEPIECE_FILE));
	int rc = is_known ? stage_pieces(m, e) : stage_foreign_text(m, e);

	import_silence_missing(m);
	return rc;
}

/* ---- the formats ------------------------------------------------------- */

static bool recognise_ct2(const struct import_source *s)
{
	return import_is_ct2(s->bytes, s->n);
}

static int open_ct2(struct import_job *m, struct err *e)
{
	int rc = import_open_ct2(&m->f, m->file, e);

	if (!rc)
		rc = weight_map_open(&m->t, &m->f, e);
	if (!rc)
		rc = read_config(m, e);
	return rc ? rc : find_heads(m, e);
}

/* The rest of opening, when the tensors are listed. */
static int map_plain(struct import_job *m, struct err *e)
{
	m->special = (struct special_token_names){ "</s>", "<s>", "<unk>", .may_lack = false };
	if (weight_map_open(&m->t, &m->f, e) || read_metadata(m, e))
		return e->code;
	return find_heads(m, e);
}

static bool recognise_safetensors(const struct import_source *s)
{
	return import_is_safetensors(s->bytes, s->n);
}

static int open_safetensors(struct import_job *m, struct err *e)
{
	return import_open_safetensors(&m->f, m->file, e) ? e->code : map_plain(m, e);
}

/* Any pickle: that of another program ends with a sentence about what it names. */
static bool recognise_torch(const struct import_source *s)
{
	return import_is_torch(s->bytes, s->n) ||
	       (s->n > 2 && s->bytes[0] == 0x80 && s->bytes[1] >= 2 && s->bytes[1] <= 5);
}

static int open_torch(struct import_job *m, struct err *e)
{
	return import_open_torch(&m->f, m->file, e) ? e->code : map_plain(m, e);
}

const struct import_format import_ctranslate2 = { "CTranslate2", recognise_ct2, open_ct2,
						  stage_ct2 };
const struct import_format import_safetensors = { "safetensors", recognise_safetensors,
						  open_safetensors, stage_pieces };
const struct import_format import_pickle = { "torch.save()", recognise_torch, open_torch,
					     stage_pieces };
