/*
 * small_ckpt.h - a model folder of the very small Transformer, for tests that read and write model
 * folders
 */
#ifndef WERKBANK_TESTS_TRAIN_SMALL_CKPT_H
#define WERKBANK_TESTS_TRAIN_SMALL_CKPT_H

#include <stdio.h>

#include "share/base/buf.h"
#include "share/base/file.h"
#include "share/base/hash.h"
#include "tests/train/small_model.h"
#include "train/ckpt/ckpt.h"

/* The path of a file in the test's folder; of the last eight calls. */
static inline const char *small_path(const char *name)
{
	static char paths[8][600];
	static int next;
	char *path = paths[next++ % 8];

	snprintf(path, sizeof(paths[0]), "%s/%s", test_folder(), name);
	return path;
}

static inline int small_vocabulary(const char *path, char sha256[HASH_SHA256_HEX], struct err *e)
{
	struct buf text = { 0 };
	int code;

	buf_add_str(&text, "<pad>\t0\n</s>\t0\n<s>\t0\n<unk>\t0\n");
	for (int i = 0; i < 25; i++)
		buf_printf(&text, "%s%d\t%d\n", i == 3 ? "\"\\ä" : "w", i, 100 - i);
	buf_add_str(&text, "<unused0>\t0\n<unused1>\t0\n<unused2>\t0\n");
	code = file_write_all(path, text.data, text.len, e);
	buf_free(&text);
	return code ? code : hash_file(path, sha256, e);
}

/* A checkpoint whose weights are exact in every number format; its folder, or NULL. */
static inline const char *small_checkpoint(void)
{
	struct ckpt_state state = { .step = 1, .best_bleu = -1, .best_step = -1 };
	struct model *m = small_model("ref", false);
	struct err e = { 0 };
	int64_t bytes, n = m ? model_floats(m) : 0;
	float *x = m ? model_param_arena(m) : NULL;
	bool good = m != NULL;

	for (int64_t i = 0; i < n; i++)
		x[i] = (float)(i * 37 % 101 - 50) / 64;
	state.shape = small_shape();
	good = good && !small_vocabulary(small_path("vocab.tsv"), state.vocabulary_sha256, &e) &&
	       !file_write_all(small_path("recipe.ini"), "[data]\n", 7, &e) &&
	       !ckpt_save(test_folder(), &state, m, x, x, 1, &bytes, &e);
	if (!good)
		test_fail(__FILE__, __LINE__, "%s", e.text);
	model_free(m);
	return good ? small_path("checkpoints/1") : NULL;
}

#endif
