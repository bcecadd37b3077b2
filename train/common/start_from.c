/* start_from.c - see start_from.h */
#include "train/common/start_from.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "share/base/file.h"
#include "share/base/hash.h"
#include "share/base/json.h"
#include "share/base/util.h"

#define ORIGIN	  "start_from"
#define MAX_STATE (1u << 20) /* bytes of state.json */

static const char *const sizes[] = { "d_model", "d_ff", "heads", "encoder_layers",
				     "decoder_layers" };

/* state.json of the model, owned by the caller; NULL: failure. */
static struct json *start_from_read_state(const char *folder, struct err *e)
{
	char *path = file_path(e, "%s/state.json", folder);
	struct buf text = { 0 };
	struct json *root = NULL;

	if (path && !file_exists(path))
		err_set(e, ERR_NOINPUT, "%s is not the folder of a model: it has no state.json",
			folder);
	else if (path && !file_read_all(path, MAX_STATE, &text, e)) {
		root = json_parse(buf_text(&text), text.len, e);
		if (!root)
			err_prefix(e, "%s", path);
		else if (!json_get(root, "shape") || !json_get(root, "vocabulary_sha256")) {
			err_set(e, ERR_DATA,
				"%s: not the state of a model (no shape or vocabulary_sha256)",
				path);
			json_free(root);
			root = NULL;
		}
	}
	buf_free(&text);
	free(path);
	return root;
}

int start_from_adopt(const char *folder, struct conf *c, struct err *e)
{
	struct json *state = start_from_read_state(folder, e);
	int rc = state ? 0 : e->code;

	for (size_t i = 0; !rc && i < ARRAY_LEN(sizes); i++) {
		char value[32];

		if (strcmp(conf_origin(c, "size"), "default") != 0 ||
		    strcmp(conf_origin(c, sizes[i]), "default") != 0)
			continue;
		snprintf(value, sizeof(value), "%lld",
			 (long long)json_integer(json_get(json_get(state, "shape"), sizes[i]), 0));
		rc = conf_set(c, sizes[i], value, ORIGIN, e);
	}
	json_free(state);
	return rc;
}

static int start_from_check_sizes(const char *folder, const struct json *state,
				  const struct conf *c, struct err *e)
{
	const int64_t now[] = { c->d_model, c->d_ff, c->heads, c->encoder_layers,
				c->decoder_layers };

	for (size_t i = 0; i < ARRAY_LEN(sizes); i++) {
		const int64_t was = json_integer(json_get(json_get(state, "shape"), sizes[i]), -1);

		if (was != now[i])
			return err_set(
				e, ERR_DATA,
				"start_from: %s has %s %lld, but the recipe has %lld: remove "
				"the sizes from [model] to use those of the model",
				folder, sizes[i], (long long)was, (long long)now[i]);
	}
	return 0;
}

/* Compare a file of the corpus with a SHA-256. */
static int check_corpus_hash(const char *corpus, const char *name, const char *sha256,
			     const char *folder, struct err *e)
{
	char hex[HASH_SHA256_HEX], *path = file_path(e, "%s/%s", corpus, name);
	int rc = path ? hash_file(path, hex, e) : e->code;

	if (!rc && strcmp(hex, sha256) != 0)
		rc = err_set(e, ERR_DATA,
			     "start_from: %s differs from the file of %s (SHA-256 %.12s, "
			     "not %.12s): prepare the corpus with pieces_from = %s",
			     path, folder, hex, sha256, folder);
	free(path);
	return rc;
}

/* Compare the subword codes: model and corpus must have the same files. */
static int check_subword_codes(const char *folder, const char *corpus, struct err *e)
{
	static const char *const names[] = { "bpe.codes", "sentencepiece.model" };
	int rc = 0;

	for (size_t i = 0; !rc && i < ARRAY_LEN(names); i++) {
		char *there = file_path(e, "%s/%s", folder, names[i]),
		     *here = there ? file_path(e, "%s/%s", corpus, names[i]) : NULL;
		char hex[HASH_SHA256_HEX];

		if (!here)
			rc = e->code;
		else if (file_exists(there) != file_exists(here))
			rc = err_set(e, ERR_DATA,
				     "start_from: there is %s, but no %s: the corpus has other "
				     "subwords; "
				     "prepare it with pieces_from = %s",
				     file_exists(here) ? here : there,
				     file_exists(here) ? there : here, folder);
		else if (file_exists(here) && !(rc = hash_file(there, hex, e)))
			rc = check_corpus_hash(corpus, names[i], hex, folder, e);
		free(here);
		free(there);
	}
	return rc;
}

int start_from_check(const char *folder, const char *corpus, const struct conf *c, struct err *e)
{
	struct json *state = start_from_read_state(folder, e);
	int rc = state ? check_corpus_hash(corpus, "vocab.tsv",
					   json_text(json_get(state, "vocabulary_sha256"), ""),
					   folder, e)
		       : e->code;

	if (!rc)
		rc = check_subword_codes(folder, corpus, e);
	if (!rc)
		rc = start_from_check_sizes(folder, state, c, e);
	json_free(state);
	return rc;
}
