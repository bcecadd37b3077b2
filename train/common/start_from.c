/* start_from.c - see start_from.h */
#include "train/common/start_from.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "share/base/file.h"
#include "share/base/hash.h"
#include "share/base/util.h"
#include "share/conf/arch.h"
#include "share/conf/text_sides.h"
#include "share/format/json.h"
#include "share/workspace/model_files.h"

#define ORIGIN	  "start_from"
#define MAX_STATE (1u << 20) /* bytes of state.json */

/* state.json of the model, owned by the caller, and its shape; NULL: failure. */
static struct json *start_from_read_state(const char *folder, struct model_shape *shape,
					  struct err *e)
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
		} else if (arch_read_shape(shape, root, path, e)) {
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
	struct model_shape shape;
	struct json *state = start_from_read_state(folder, &shape, e);
	const struct arch_row *row;
	int rc = state ? 0 : e->code;

	for (size_t i = 0; !rc && (row = arch_at(i)) != NULL; i++) {
		char value[ARCH_TEXT_MAX];

		if (!row->is_option || !arch_is_written(&shape, row) ||
		    strcmp(conf_origin(c, "size"), "default") != 0 ||
		    strcmp(conf_origin(c, row->name), "default") != 0)
			continue;
		rc = conf_set(c, row->name, arch_text(&shape, row, value), ORIGIN, e);
	}
	json_free(state);
	return rc;
}

static int start_from_check_sizes(const char *folder, const struct model_shape *was,
				  const struct conf *c, struct err *e)
{
	struct model_shape now = *was; /* what no option sets is compared elsewhere */
	const struct arch_row *row;
	char old[ARCH_TEXT_MAX], given[ARCH_TEXT_MAX];

	arch_set_options(&now, c);
	row = arch_difference(was, &now);
	if (row)
		return err_set(e, ERR_DATA,
			       "start_from: %s has %s %s, but the recipe has %s: leave out size "
			       "and %s to use those of the model, or train with its recipe, "
			       "%s/recipe.ini",
			       folder, row->name, arch_text(was, row, old),
			       arch_text(&now, row, given), row->name, folder);
	return 0;
}

static int check_vocabularies(const char *folder, const char *corpus, const struct conf *c,
			      const struct json *state, struct err *e)
{
	const char *was = json_text(json_get(state, "vocabulary_sha256"), "");
	char id[TEXT_VOCABULARY_ID];
	int rc = text_vocabulary_id(c, corpus, id, e);

	if (!rc && strcmp(id, was) != 0)
		rc = err_set(e, ERR_DATA,
			     "start_from: %s/%s differs from the file of %s (SHA-256 %.12s, "
			     "not %.12s): prepare the corpus with pieces_from = %s",
			     corpus, text_vocabulary_file(c, 1), folder, id, was, folder);
	return rc;
}

/* Compare a file of the corpus with a SHA-256. */
static int check_corpus_hash(const char *corpus, const char *name, const char *sha256,
			     const char *folder, struct err *e)
{
	char hex[HASH_SHA256_HEX], *path = file_path(e, "%s/%s", corpus, name);
	int rc = path ? hash_file_within(path, HASH_PIECES_LIMIT, hex, e) : e->code;

	if (!rc && strcmp(hex, sha256) != 0)
		rc = err_set(e, ERR_DATA,
			     "start_from: %s differs from the file of %s (SHA-256 %.12s, "
			     "not %.12s): prepare the corpus with pieces_from = %s",
			     path, folder, hex, sha256, folder);
	free(path);
	return rc;
}

/* Compare the subword codes: model and corpus must have the same files. The vocabulary is compared already. */
static int check_subword_codes(const char *folder, const char *corpus, struct err *e)
{
	static const struct {
		const char *name;
		bool is_vocabulary;
	} files[] = { MODEL_FILE_KINDS };
	int rc = 0;

	for (size_t i = 0; !rc && i < ARRAY_LEN(files); i++) {
		char *there = file_path(e, "%s/%s", folder, files[i].name),
		     *here = there ? file_path(e, "%s/%s", corpus, files[i].name) : NULL;
		char hex[HASH_SHA256_HEX];

		if (!here)
			rc = e->code;
		else if (files[i].is_vocabulary)
			rc = 0;
		else if (file_exists(there) != file_exists(here))
			rc = err_set(e, ERR_DATA,
				     "start_from: there is %s, but no %s: the corpus has other "
				     "subwords; "
				     "prepare it with pieces_from = %s",
				     file_exists(here) ? here : there,
				     file_exists(here) ? there : here, folder);
		else if (file_exists(here) &&
			 !(rc = hash_file_within(there, HASH_PIECES_LIMIT, hex, e)))
			rc = check_corpus_hash(corpus, files[i].name, hex, folder, e);
		free(here);
		free(there);
	}
	return rc;
}

int start_from_check(const char *folder, const char *corpus, const struct conf *c, struct err *e)
{
	struct model_shape shape;
	struct json *state = start_from_read_state(folder, &shape, e);
	int rc = state ? check_vocabularies(folder, corpus, c, state, e) : e->code;

	if (!rc)
		rc = check_subword_codes(folder, corpus, e);
	if (!rc)
		rc = start_from_check_sizes(folder, &shape, c, e);
	json_free(state);
	return rc;
}
