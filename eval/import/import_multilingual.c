/*
 * import_multilingual.c - folders of M2M100, NLLB-200 and mBART-50 (transformers)
 *
 *	config.json, generation_config.json	the architecture; the decoder's first tokens
 *	model.safetensors or pytorch_model.bin	the weights
 *	sentencepiece.bpe.model			the pieces of both sides
 *	vocab.json				the numbers of the pieces (M2M100); without it piece i has number i + 1
 *	tokenizer_config.json			the tokenizer, by which hf_languages.def knows the language tokens
 *	tokenizer.json, added_tokens.json	numbers of language tokens, if there are any
 *
 * The encoder reads LANGUAGE x1 ... xn </s>. The decoder starts with </s> and LANGUAGE, and predicts the rest. The imported
 * model translates from one language to one other: source_first_token and target_first_token are their tokens. Source:
 * modeling_m2m_100.py, modeling_mbart.py and the tokenizers.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "eval/import/import_hugging_face.h"
#include "share/base/mem.h"
#include "share/base/text.h"
#include "share/workspace/model_files.h"

#define PIECES_FILE "sentencepiece.bpe.model"

static bool recognise_m2m100(const struct import_source *s)
{
	return hf_recognise(s, "m2m_100");
}

static bool recognise_mbart(const struct import_source *s)
{
	return hf_recognise(s, "mbart");
}

/* ---- architecture ------------------------------------------------------ */

/* Old files have the computed positions, too. */
static void drop_computed_positions(struct import_reader *f)
{
	size_t n = 0;

	for (size_t i = 0; i < f->n; i++)
		if (!text_ends_with(f->all[i].name, ".embed_positions.weights"))
			f->all[n++] = f->all[i];
	f->n = n;
}

static int check_decoder_start(const struct import_job *m, struct err *e)
{
	int64_t start, end;

	if (hf_generation_number(m, "decoder_start_token_id", &start, e) ||
	    hf_generation_number(m, "eos_token_id", &end, e))
		return e->code;
	if (end != 2 || start != end)
		return err_set(e, ERR_DATA,
			       "%s/config.json: decoder_start_token_id is %lld and eos_token_id is "
			       "%lld: only models whose decoder starts with </s>, token 2, can be "
			       "imported, as M2M100, NLLB and mBART-50",
			       m->folder, (long long)start, (long long)end);
	return 0;
}

/* What both families have. */
static int open_multilingual(struct import_job *m, const char *activation, struct err *e)
{
	static const char *const facts[] = {
		"norm_place",	  "pre", "norm",     "layer", "norm_epsilon", "1e-5",
		"attention_bias", "yes", "ffn_bias", "yes",   "final_norm",   "yes",
		"decoder_start",  "end", NULL,
	};

	if (hf_read_json(m, "config.json", &m->config, e) || hf_open(m, e) ||
	    check_decoder_start(m, e) || hf_set_search(m, e))
		return e->code;
	return import_set_options(m, facts, e) || hf_set_common(m, activation, e) ? e->code : 0;
}

static int open_m2m100(struct import_job *m, struct err *e)
{
	static const char *const facts[] = { "positions", "sinusoid",	 "position_offset",
					     "2",	  "output_bias", "no",
					     NULL };

	if (open_multilingual(m, "relu", e) || import_set_options(m, facts, e))
		return e->code;
	drop_computed_positions(&m->f);
	return import_shape_of_options(m, e);
}

static int open_mbart(struct import_job *m, struct err *e)
{
	char rows[24], name[256];
	const char *const set[] = {
		"positions", "learned",	    "max_positions", rows, "embedding_norm",
		"yes",	     "output_bias", "yes",	     NULL
	};
	const struct import_tensor *x;

	if (open_multilingual(m, "gelu", e))
		return e->code;
	for (size_t i = 0; i < m->f.n; i++)
		import_skip_position_rows(&m->f.all[i]);
	x = weight_foreign_tensor(&m->t, "encoder.embed_positions.weight", 0, name);
	if (!x || x->rows > ARCH_MAX_POSITIONS)
		return err_set(e, ERR_DATA,
			       "%s: the table of positions \"%s\" is missing or has more than %d "
			       "rows",
			       m->file, name, ARCH_MAX_POSITIONS);
	snprintf(rows, sizeof(rows), "%lld", (long long)x->rows);
	return import_set_options(m, set, e) ? e->code : import_shape_of_options(m, e);
}

/* ---- tokens ------------------------------------------------------------ */

/* The tokens of a model: pieces, languages, and rows of the table without a token. */
struct multilingual {
	struct import_job *m;
	struct token_list
		w; /* its items are those below, and its text holds names that no file has */
	struct token_list pieces;  /* of the SentencePiece model */
	struct token_list numbers; /* of vocab.json; empty: the folder has none */
	struct json *tokenizer, *added,
		*config; /* owned: tokenizer.json, added_tokens.json, tokenizer_config.json; NULL: none */
	size_t n_pieces; /* numbers from here on are those of languages and the like */
};

static int set_number(struct multilingual *t, int64_t i, const char *token, struct err *e)
{
	if (i < 0 || (size_t)i >= t->w.n)
		return err_set(e, ERR_DATA,
			       "%s: the token \"%.60s\" has the number %lld, but the embedding "
			       "table has %zu rows",
			       t->m->folder, token, (long long)i, t->w.n);
	if (t->w.items[i] && strcmp(t->w.items[i], token) != 0)
		return err_set(e, ERR_DATA,
			       "%s: the tokens \"%.60s\" and \"%.60s\" have one number, %lld",
			       t->m->folder, t->w.items[i], token, (long long)i);
	t->w.items[i] = token;
	return 0;
}

/* Numbers of fairseq: special tokens first, then the pieces after the three special ones of SentencePiece. */
static int number_pieces(struct multilingual *t, struct err *e)
{
	static const char *const theirs[] = { "<unk>", "<s>", "</s>" }, *const special[] = {
		"<s>", "<pad>", "</s>", "<unk>"
	};
	int rc = 0;

	for (size_t i = 0; i < ARRAY_LEN(theirs); i++)
		if (i >= t->pieces.n || strcmp(t->pieces.items[i], theirs[i]) != 0)
			return err_set(e, ERR_DATA,
				       "%s/" PIECES_FILE
				       ": piece %zu is not %s: the numbers of its "
				       "pieces are unknown",
				       t->m->folder, i, theirs[i]);
	for (size_t i = 0; i < ARRAY_LEN(special) && !rc; i++)
		rc = set_number(t, (int64_t)i, special[i], e);
	for (size_t i = ARRAY_LEN(theirs); i < t->pieces.n && !rc; i++)
		rc = set_number(t, (int64_t)i + 1, t->pieces.items[i], e);
	t->n_pieces = t->pieces.n + 1;
	return rc;
}

static int number_listed(struct multilingual *t, struct err *e)
{
	int rc = 0;

	for (size_t i = 0; i < t->numbers.n && !rc; i++) {
		if (!t->numbers.items[i])
			rc = err_set(e, ERR_DATA, "%s/vocab.json: no token has the number %zu",
				     t->m->folder, i);
		else
			rc = set_number(t, (int64_t)i, t->numbers.items[i], e);
	}
	t->n_pieces = t->numbers.n;
	return rc;
}

/* Tokens after the pieces that files list with their numbers. *n: how many, without <mask>. */
static int number_added(struct multilingual *t, size_t *n, struct err *e)
{
	const struct json *const lists[] = { json_get(t->tokenizer, "added_tokens"),
					     json_get(t->config, "added_tokens_decoder"),
					     t->added };
	int rc = 0;

	*n = 0;
	for (size_t k = 0; k < ARRAY_LEN(lists); k++)
		for (const struct json *x = json_first(lists[k]); x && !rc;
		     x = json_next(lists[k], x)) {
			const char *key = json_child_key(x),
				   *token = json_text(json_get(x, "content"), NULL);
			int64_t i = json_integer(json_get(x, "id"), json_integer(x, -1));

			if (i < 0 && (!key || !text_to_int(key, &i)))
				continue;
			token = token ? token : key; /* of added_tokens.json */
			if (!token || i < (int64_t)t->n_pieces)
				continue;
			rc = set_number(t, i, token, e);
			*n += strcmp(token, "<mask>") != 0;
		}
	return rc;
}

static const char *tokenizer_class(const struct multilingual *t)
{
	const char *usual = text_starts_with(t->m->format->name, "mBART") ? "MBartTokenizer"
									  : "M2M100Tokenizer";

	return json_text(json_get(t->config, "tokenizer_class"),
			 json_text(json_get(t->m->config, "tokenizer_class"), usual));
}

/* Does the encoder read its language first? */
static int check_tokenizer(const struct multilingual *t, struct err *e)
{
	const char *class = tokenizer_class(t);

	if (text_starts_with(class, "MBartTokenizer") ||
	    json_boolean(json_get(t->config, "legacy_behaviour"), false))
		return err_set(e, ERR_DATA,
			       "%s: the encoder of a model with %.40s%s reads its language after "
			       "</s>, but that of Werkbank reads nothing after </s>",
			       t->m->folder, class,
			       text_starts_with(class, "Nllb") ? " and legacy_behaviour" : "");
	if (!text_starts_with(class, "M2M100Tokenizer") &&
	    !text_starts_with(class, "NllbTokenizer") &&
	    !text_starts_with(class, "MBart50Tokenizer"))
		return err_set(e, ERR_DATA, "%s: the tokenizer \"%.60s\" is not known",
			       t->m->folder, class);
	return 0;
}

/* The languages of the tokenizer, from number t->n_pieces on. Their texts need no more than the room of t->w.text. */
static int number_languages(struct multilingual *t, struct err *e)
{
	static const struct {
		const char *tokenizer, *codes, *marks, *languages;
	} rows[] = {
#define HF_LANGUAGES(tokenizer, codes, marks, languages) { tokenizer, codes, marks, languages },
#include "eval/import/hf_languages.def"
	};
	const char *codes = json_text(json_get(t->config, "language_codes"), "m2m100");
	int64_t number = (int64_t)t->n_pieces;

	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		if (!text_starts_with(tokenizer_class(t), rows[i].tokenizer) ||
		    (*rows[i].codes && strcmp(codes, rows[i].codes) != 0))
			continue;
		for (const char *at = rows[i].languages; *at; at += strspn(at, " ")) {
			const size_t n = strcspn(at, " "), begin = t->w.text.len;

			buf_printf(&t->w.text, "%s%.*s%s", rows[i].marks, (int)n, at,
				   rows[i].marks);
			buf_add_char(&t->w.text, 0);
			if (set_number(t, number++, buf_text(&t->w.text) + begin, e))
				return e->code;
			at += n;
		}
		return 0;
	}
	return err_set(e, ERR_DATA,
		       "%s/tokenizer_config.json: the language_codes \"%.60s\" are not known",
		       t->m->folder, codes);
}

/* Rows without a token take part in each prediction, so they get names like fairseq's. */
static void name_further_rows(struct multilingual *t)
{
	for (size_t i = 0; i < t->w.n; i++) {
		const size_t begin = t->w.text.len;

		if (t->w.items[i])
			continue;
		buf_printf(&t->w.text, "madeupword%04zu", i);
		buf_add_char(&t->w.text, 0);
		t->w.items[i] = buf_text(&t->w.text) + begin;
	}
}

/* Lists the token of each row of the table. The texts of t->w must not move: room for all of them comes first. */
static int list_tokens(struct multilingual *t, struct err *e)
{
	const size_t rows = (size_t)t->m->t.table->rows;
	size_t n_added = 0;
	int rc = 0;

	t->w.items = mem_alloc(rows, sizeof(*t->w.items), e);
	if (!t->w.items)
		return e->code;
	if (!buf_reserve(&t->w.text, 32 * rows + 8192))
		return buf_check(&t->w.text, e);
	t->w.n = t->w.cap = rows;
	rc = t->numbers.n ? number_listed(t, e) : number_pieces(t, e);
	if (!rc)
		rc = number_added(t, &n_added, e);
	if (!rc && !n_added)
		rc = number_languages(t, e);
	if (!rc)
		name_further_rows(t);
	return rc;
}

/* ---- languages --------------------------------------------------------- */

/* The language token of a code: de of __de__ or de_DE, deu of deu_Latn, or the token itself. NULL: none, or several. */
static const char *find_language(const struct multilingual *t, const char *code)
{
	const size_t n = strlen(code);
	const char *found = NULL;

	for (size_t i = t->n_pieces; i < t->w.n; i++) {
		const char *token = t->w.items[i],
			   *bare = token + 2 * text_starts_with(token, "__");

		if (!strcmp(token, code))
			return token;
		if (n && !strncmp(bare, code, n) && bare[n] == '_') {
			if (found)
				return NULL;
			found = token;
		}
	}
	return found;
}

static int refuse_language(const struct multilingual *t, int side, const char *code, struct err *e)
{
	static const char *const sides[] = { "source", "target" };
	struct buf some = { 0 };

	for (size_t i = t->n_pieces; i < t->w.n && some.len < 160; i++)
		if (!text_starts_with(t->w.items[i], "madeupword"))
			buf_printf(&some, " %s", t->w.items[i]);
	err_set(e, ERR_USAGE,
		"%s: %s%.30s%s the %s language: give --%s-language or --%s-first-token. Language "
		"tokens of the model:%.180s ...",
		t->m->folder, *code ? "\"" : "the files do not name", code,
		*code ? "\" is not one language token for" : "", sides[side], sides[side],
		sides[side], buf_text(&some));
	buf_free(&some);
	return e->code;
}

/* The code that a language token has: "de" of "__de__" and "de_DE". */
static void language_code(const char *token, char *code, size_t size)
{
	const char *bare = token + 2 * text_starts_with(token, "__");

	snprintf(code, size, "%.*s", (int)strcspn(bare, "_"), bare);
}

/*
 * Sets the first token and the language of a side: from the options of the user, else from the files; forced: of
 * generation_config.json, -1: none.
 */
static int choose_language(struct multilingual *t, int side, int64_t forced, struct err *e)
{
	static const char *const names[][3] = {
		{ "source_language", "source_first_token", "src_lang" },
		{ "target_language", "target_first_token", "tgt_lang" }
	};
	struct import_job *m = t->m;
	const char *const language = side ? m->c->target_language : m->c->source_language,
			  *const first = side ? m->c->target_first_token : m->c->source_first_token;
	const bool is_given = import_option_given(m->c, names[side][0]);
	const char *code = first && *first ? first
			   : is_given	   ? language
			   : forced >= (int64_t)t->n_pieces && (size_t)forced < t->w.n
				   ? t->w.items[forced]
				   : json_text(json_get(t->config, names[side][2]), "");
	const char *token = find_language(t, code);
	char text[32];
	const char *set[] = { names[side][1], token, names[side][0], text, NULL };

	if (!token)
		return refuse_language(t, side, code, e);
	language_code(token, text, sizeof(text));
	if (is_given)
		set[2] = NULL;
	return import_set_options(m, set, e);
}

static int choose_languages(struct multilingual *t, struct err *e)
{
	int64_t forced;

	if (hf_generation_number(t->m, "forced_bos_token_id", &forced, e) ||
	    choose_language(t, 0, -1, e))
		return e->code;
	return choose_language(t, 1, forced, e);
}

/* ---- staging ----------------------------------------------------------- */

static int read_text_files(struct multilingual *t, const struct sp *s, struct err *e)
{
	char *path = file_path(e, "%s/vocab.json", t->m->folder);
	int rc = path ? import_list_pieces(&t->pieces, s, e) : e->code;

	if (!rc && file_exists(path))
		rc = token_list_open(&t->numbers, path, e);
	free(path);
	if (!rc)
		rc = hf_read_json(t->m, "tokenizer_config.json", &t->config, e);
	if (!rc)
		rc = hf_read_json(t->m, "added_tokens.json", &t->added, e);
	return rc ? rc : hf_read_json(t->m, "tokenizer.json", &t->tokenizer, e);
}

static int stage_tokens(struct multilingual *t, const struct sp *s, struct err *e)
{
	if (read_text_files(t, s, e) || check_tokenizer(t, e) || list_tokens(t, e) ||
	    choose_languages(t, e))
		return e->code;
	return import_stage_vocabulary(t->m, &t->w, VOCABULARY_FILE, &t->m->rows.target, e);
}

static int stage_multilingual(struct import_job *m, struct err *e)
{
	struct multilingual t = { .m = m };
	char *path = file_path(e, "%s/" SENTENCEPIECE_FILE, m->staging.temporary);
	struct sp *s = NULL;
	int rc = path ? import_stage_file(m, PIECES_FILE, SENTENCEPIECE_FILE, e) : e->code;

	m->special = (struct special_token_names){ "</s>", "<s>", "<unk>", .may_lack = false };
	if (!rc)
		rc = import_set_text_options(m, "joint", e);
	if (!rc && !(s = sp_open(path, e)))
		rc = e->code;
	if (!rc)
		rc = stage_tokens(&t, s, e);
	sp_close(s);
	free(path);
	token_list_close(&t.w);
	token_list_close(&t.pieces);
	token_list_close(&t.numbers);
	json_free(t.tokenizer);
	json_free(t.added);
	json_free(t.config);
	return rc ? rc : import_find_segmentations(m, e);
}

const struct import_format import_m2m100 = { "M2M100 or NLLB of Hugging Face", recognise_m2m100,
					     open_m2m100, stage_multilingual };
const struct import_format import_mbart = { "mBART of Hugging Face", recognise_mbart, open_mbart,
					    stage_multilingual };
