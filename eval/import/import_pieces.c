/* import_pieces.c - the files that split words, for formats whose folders do not name them surely; see import_format.h */
#include <stdlib.h>
#include <string.h>

#include "eval/import/import_format.h"
#include "share/base/mem.h"
#include "share/base/util.h"
#include "share/workspace/model_files.h"

/* A SentencePiece model begins with field 1 of a protobuf message, codes of subword-nmt with text. */
static int find_kind(const char *path, bool *is_bpe, struct err *e)
{
	char first[1] = "";
	size_t n;
	int rc = file_read_head(path, first, sizeof(first), &n, e);

	*is_bpe = !n || first[0] != '\n';
	return rc;
}

/* The first of the names, then of the usual ones, that the folder has; the caller frees it. */
static int find_pieces(const struct import_job *m, const char *name, char **path, struct err *e)
{
	static const char *const usual[] = { "bpecodes",  "code",
					     "bpe.codes", "sentencepiece.bpe.model",
					     "spm.model", SENTENCEPIECE_FILE };
	int rc = 0;

	*path = NULL;
	if (name && *name)
		rc = import_find_piece(m, name, path, e);
	for (size_t i = 0; i < ARRAY_LEN(usual) && !rc && !*path; i++)
		rc = import_find_piece(m, usual[i], path, e);
	if (!rc && !*path)
		rc = err_set(e, ERR_NOINPUT,
			     "%s has neither bpecodes or code of subword-nmt nor "
			     "sentencepiece.bpe.model%s%.60s: the model's text cannot be split "
			     "without it",
			     m->pieces, name && *name ? " nor " : "", name ? name : "");
	return rc;
}

/* Sets the options of text that both files split. */
static int set_pieces_options(struct import_job *m, bool is_bpe, const char *vocabularies,
			      struct err *e)
{
	const char *const set[] = {
		"vocabularies", vocabularies, "segmentation", "bpe", "source_segmentation",
		"same",		NULL
	};

	return is_bpe ? import_set_options(m, set, e) : import_set_text_options(m, vocabularies, e);
}

static int copy_pieces(struct import_job *m, const char *from, const char *name, struct err *e)
{
	char *to = file_path(e, "%s/%s", m->staging.temporary, name);
	int rc = to ? file_copy(from, to, e) : e->code;

	free(to);
	return rc;
}

int import_stage_pieces(struct import_job *m, bool is_joint, const char *const names[2],
			struct err *e)
{
	static const char *const files[2][3] = {
		{ SOURCE_SENTENCEPIECE_FILE, TARGET_SENTENCEPIECE_FILE, SENTENCEPIECE_FILE },
		{ SOURCE_BPE_CODES_FILE, TARGET_BPE_CODES_FILE, BPE_CODES_FILE },
	};
	char *from[2] = { NULL, NULL };
	bool is_bpe[2] = { false, false }, is_one = true;
	int rc = 0;

	for (int side = 0; side < 2 && !rc; side++) {
		rc = find_pieces(m, names[side], &from[side], e);
		if (!rc)
			rc = find_kind(from[side], &is_bpe[side], e);
	}
	if (!rc && is_bpe[0] != is_bpe[1])
		rc = err_set(e, ERR_DATA, "%s and %s: one is a SentencePiece model, and one is not",
			     from[0], from[1]);
	if (!rc) {
		is_one = is_joint && !strcmp(from[0], from[1]);
		rc = set_pieces_options(m, is_bpe[0],
					is_one	   ? "joint"
					: is_joint ? "merged"
						   : "separate",
					e);
	}
	if (!rc && is_one)
		rc = copy_pieces(m, from[0], files[is_bpe[0]][2], e);
	for (int side = 0; side < 2 && !rc && !is_one; side++)
		rc = copy_pieces(m, from[side], files[is_bpe[0]][side], e);
	free(from[0]);
	free(from[1]);
	return rc || is_bpe[0] ? rc : import_find_segmentations(m, e);
}

int import_stage_vocabulary(struct import_job *m, const struct token_list *w, const char *name,
			    int32_t **rows, struct err *e)
{
	char *path = file_path(e, "%s/%s", m->staging.temporary, name);
	int32_t n;
	int rc = path ? token_list_write(w, &m->special, path, rows, &n, e) : e->code;

	free(path);
	return rc;
}

static bool has_equal_lists(const struct token_list lists[2])
{
	bool are_equal = lists[0].n == lists[1].n;

	for (size_t i = 0; i < lists[0].n && are_equal; i++)
		are_equal = !strcmp(lists[0].items[i], lists[1].items[i]);
	return are_equal;
}

int import_stage_lists(struct import_job *m, import_list_side *list, void *arg,
		       const char *const names[2], struct err *e)
{
	static const char *const files[] = { SOURCE_VOCABULARY_FILE, TARGET_VOCABULARY_FILE };
	int32_t **const rows[] = { &m->rows.source, &m->rows.target };
	struct token_list lists[2] = { { .n = 0 }, { .n = 0 } };
	bool is_joint = false;
	int rc = 0;

	for (int side = 0; side < 2 && !rc; side++)
		rc = list(m, side, arg, &lists[side], e);
	if (!rc) {
		is_joint = has_equal_lists(lists);
		rc = import_stage_pieces(m, is_joint, names, e);
	}
	for (int side = is_joint; side < 2 && !rc; side++) {
		m->special.may_lack_end = m->special.may_lack_end && !side;
		rc = import_stage_vocabulary(
			m, &lists[side], is_joint ? VOCABULARY_FILE : files[side], rows[side], e);
	}
	token_list_close(&lists[0]);
	token_list_close(&lists[1]);
	return rc;
}
