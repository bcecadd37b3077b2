/* t_average.c - averages of checkpoints, compared with means computed here */
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include "share/base/file.h"
#include "tests/train/small_model.h"
#include "train/ckpt/ckpt.h"
#include "train/ckpt/ckpt_average.h"

static const char *in_folder(const char *name)
{
	static char paths[64][600];
	static int next;
	char *path = paths[next++ % 64];

	snprintf(path, sizeof(paths[0]), "%s/%s", test_folder(), name);
	return path;
}

static struct model *model_of(uint64_t seed)
{
	struct model *m = small_model("cpu", false);
	struct err e = { 0 };

	if (m)
		check_err(model_init(m, seed, &e), 0);
	return m;
}

static bool save(struct model *m, int64_t step, char vocabulary)
{
	struct ckpt_state s = { .step = step, .best_bleu = -1, .best_step = -1 };
	struct err e = { 0 };
	float *zero = mem_alloc((size_t)model_floats(m), sizeof(*zero), &e);
	int64_t bytes;
	int rc = zero ? 0 : e.code;

	s.shape = small_shape();
	memset(s.vocabulary_sha256, vocabulary, 64);
	if (!rc)
		rc = file_write_all(in_folder("recipe.ini"), "[model]\n", 8, &e);
	if (!rc)
		rc = ckpt_save(test_folder(), &s, m, zero, zero, 10, &bytes, &e);
	free(zero);
	return check_err(rc, 0);
}

/* The weights of a model folder, read through ckpt.h; owned by the caller. */
static float *load(const char *folder)
{
	struct model *m = small_model("cpu", false);
	struct ckpt_state s;
	struct err e = { 0 };
	float *w = NULL;

	if (m && check_err(ckpt_read_state(folder, true, &s, &e), 0) &&
	    check_err(ckpt_load_weights(folder, m, &e), 0))
		w = small_copy(m, model_param_arena(m));
	model_free(m);
	return w;
}

TEST(average_is_the_mean)
{
	struct model *m[3] = { model_of(1), model_of(2), model_of(3) };
	const struct ckpt_source folders[3] = { { in_folder("checkpoints/1"), false },
						{ in_folder("checkpoints/2"), false },
						{ in_folder("checkpoints/3"), false } };
	const char *to = in_folder("mean");
	struct ckpt_state s;
	struct err e = { 0 };
	float *w = NULL;

	for (int i = 0; i < 3; i++)
		save(m[i], i + 1, 'a');
	if (check_err(ckpt_average(folders, 3, to, &e), 0))
		w = load(to);
	for (int64_t i = 0; w && i < model_floats(m[0]); i++) {
		double sum = 0;

		for (int k = 0; k < 3; k++)
			sum += (double)model_param_arena(m[k])[i];
		if (!check_near(w[i], (float)(sum / 3), 0))
			break;
	}
	check(w && w[0] != model_param_arena(m[0])[0]);
	check_err(ckpt_read_state(to, true, &s, &e), 0);
	check_int(s.step, 3);
	check(file_exists(in_folder("mean/recipe.ini")));
	check(file_exists(in_folder("mean/average.json")));
	check(!file_exists(in_folder("mean/optimizer.safetensors")));
	check_err(ckpt_average(folders, 3, to, &e), ERR_CANTCREAT);
	free(w);
	for (int i = 0; i < 3; i++)
		model_free(m[i]);
}

TEST(average_of_equal_models_is_the_model)
{
	struct model *m = model_of(7);
	const char *folder = in_folder("checkpoints/5");
	struct ckpt_source same[7];
	struct err e = { 0 };
	float *w = NULL;

	for (size_t i = 0; i < ARRAY_LEN(same); i++)
		same[i] = (struct ckpt_source){ folder, false };
	save(m, 5, 'a');
	if (check_err(ckpt_average(same, 7, in_folder("mean/"), &e), 0))
		w = load(in_folder("mean"));
	check(w && !memcmp(w, model_param_arena(m), (size_t)model_floats(m) * sizeof(*w)));
	free(w);
	model_free(m);
}

TEST(average_refuses_unequal_models)
{
	struct model *m = model_of(7);
	const struct ckpt_source folders[2] = { { in_folder("checkpoints/1"), false },
						{ in_folder("checkpoints/2"), false } };
	struct err e = { 0 };
	FILE *f;

	save(m, 1, 'a');
	save(m, 2, 'b');
	check_err(ckpt_average(folders, 2, in_folder("mean"), &e), ERR_DATA);
	check(strstr(e.text, "vocabularies differ") != NULL);
	check(!file_exists(in_folder("mean")));
	check_err(ckpt_average(folders, 0, in_folder("mean"), &e), ERR_USAGE);
	save(m, 2, 'a');
	f = fopen(in_folder("checkpoints/2/model.safetensors"), "r+b");
	if (check(f != NULL)) {
		fseek(f, -1, SEEK_END);
		fputc(1, f);
		fclose(f);
	}
	check_err(ckpt_average(folders, 2, in_folder("mean"), &e), ERR_DATA);
	check(strstr(e.text, "is damaged") != NULL);
	check(!file_exists(in_folder("mean")));
	model_free(m);
}
