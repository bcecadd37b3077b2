/*
 * t_ckpt.c - safetensors and checkpoints: reading gives the written values, damage is refused
 */
#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "share/base/clock.h"
#include "share/base/file.h"
#include "tests/train/small_model.h"
#include "train/ckpt/ckpt.h"
#include "train/ckpt/ckpt_internal.h"
#include "train/ckpt/safetensors.h"

/* ---- safetensors ------------------------------------------------------- */

static const float *fetch_ramp(void *arg, size_t i, struct err *e)
{
	static float x[12];

	(void)e;
	for (int k = 0; k < 12; k++)
		x[k] = (float)(100 * (int)i + k) + *(float *)arg;
	return x;
}

/* A path in the test's folder; one of a few static buffers. */
static const char *in_folder(const char *name)
{
	static char paths[4][500];
	static int next;
	char *path = paths[next++ % 4];

	snprintf(path, sizeof(paths[0]), "%s/%s", test_folder(), name);
	return path;
}

static const struct safetensors_item two_items[] = { { .name = "a", .rows = 3, .cols = 4 },
						     { .name = "b", .rows = 1, .cols = 5 } };

TEST(safetensors_read_as_written)
{
	struct err e = { 0 };
	const char *path = in_folder("x.safetensors");
	float half = 0.5f, x;
	struct safetensors *s;
	const unsigned char *data;

	check_err(safetensors_write(path, two_items, 2, fetch_ramp, &half, &e), 0);
	s = safetensors_open(path, &e);
	if (check(s)) {
		check_int(safetensors_count(s), 2);
		check_str(safetensors_at(s, 0)->dtype, "F32");
		check_int(safetensors_at(s, 0)->n_dims, 2);
		check_int(safetensors_at(s, 1)->n_dims, 1);
		data = safetensors_get(s, "b", 1, 5, &e);
		if (check(data)) {
			memcpy(&x, data + 8, sizeof(x));
			check_near(x, 102.5, 0);
		}
		check(safetensors_get(s, "b", 5, 1, &e) == NULL);
		check_int(e.code, ERR_DATA);
		check(safetensors_get(s, "c", 1, 5, &e) == NULL);
		check_int(e.code, ERR_DATA);
	}
	safetensors_close(s);
}

/* Write a file with this header and data_bytes bytes of data; can it be opened? */
static bool opens(const char *header, size_t data_bytes)
{
	struct err e = { 0 };
	struct buf b = { 0 };
	const char *path = in_folder("y.safetensors");
	uint64_t n = strlen(header);
	struct safetensors *s;

	buf_add(&b, &n, 8);
	buf_add_str(&b, header);
	for (size_t i = 0; i < data_bytes; i++)
		buf_add_char(&b, (char)i);
	check_err(file_write_all(path, b.data, b.len, &e), 0);
	s = safetensors_open(path, &e);
	if (!s)
		check_int(e.code, ERR_DATA);
	safetensors_close(s);
	buf_free(&b);
	return s != NULL;
}

#define TENSOR(name, dtype, shape, offsets)                                                        \
	"\"" name "\":{\"dtype\":\"" dtype "\",\"shape\":[" shape "],\"data_offsets\":[" offsets   \
	"]}"

TEST(safetensors_foreign_headers)
{
	check(opens("{}", 0));
	check(opens("{\"__metadata__\":{\"made\":\"elsewhere\"}," TENSOR("a", "BF16", "2,3",
									 "0,12") "}",
		    12));
	check(opens("{" TENSOR("a", "F32", "", "0,4") "}", 4));
	check(opens("{" TENSOR("b", "U8", "2", "4,6") "," TENSOR("a", "F32", "1", "0,4") "}", 6));
	check(!opens("", 0));
	check(!opens("[]x", 0));
	check(!opens("{}", 4));
	check(!opens("{" TENSOR("a", "F32", "2", "0,8") "}", 4));
	check(!opens("{" TENSOR("a", "F32", "2", "0,8") "}", 12));
	check(!opens("{" TENSOR("a", "F32", "3", "0,8") "}", 8));
	check(!opens("{" TENSOR("a", "F99", "2", "0,8") "}", 8));
	check(!opens("{" TENSOR("a", "F32", "-2", "0,8") "}", 8));
	check(!opens("{" TENSOR("a", "F32", "2", "8,0") "}", 8));
	check(!opens("{" TENSOR("a", "F32", "2", "0") "}", 8));
	check(!opens("{" TENSOR("a", "F32", "2", "4,12") "}", 12));
	check(!opens("{" TENSOR("a", "F32", "4611686018427387904,4", "0,0") "}", 0));
	check(!opens("{" TENSOR("a", "F32", "1", "0,4") "," TENSOR("b", "F32", "1", "0,4") "}", 4));
	check(!opens("{" TENSOR("a", "F32", "1", "0,4") "," TENSOR("a", "F32", "1", "4,8") "}", 8));
	check(opens("{" TENSOR("a", "U8", "9,0,2", "0,0") "}", 0));
	check(!opens("{" TENSOR("a", "U8", "4611686018427387904,2,0", "0,0") "}", 0));
	check(!opens("{" TENSOR("a", "U8", "0,4611686018427387904,2", "0,0") "}", 0));
	check(!opens("{\"a\":7}", 0));
	check(!opens("{\"a\":{\"dtype\":\"F32\",\"data_offsets\":[0,4]}}",
		     4)); /* without a shape */
	check(!opens("{\"a\":{\"dtype\":\"F32\",\"shape\":{\"x\":1},\"data_offsets\":[0,4]}}", 4));
	check(!opens("{" TENSOR("a", "F32", "1,1,1,1,1,1,1,1,1", "0,4") "}", 4));
}

TEST(safetensors_cut_anywhere)
{
	struct err e = { 0 };
	struct buf b = { 0 };
	const char *path = in_folder("z.safetensors");
	float zero = 0;

	check_err(safetensors_write(path, two_items, 2, fetch_ramp, &zero, &e), 0);
	check_err(file_read_all(path, 0, &b, &e), 0);
	for (size_t n = 0; n < b.len; n += n < 300 ? 1 : 7) {
		struct safetensors *s;

		check_err(file_write_all(path, b.data, n, &e), 0);
		s = safetensors_open(path, &e);
		check(s == NULL);
		check_int(e.code, ERR_DATA);
		safetensors_close(s);
	}
	b.data[6] = 1; /* a header of 2^48 bytes */
	check_err(file_write_all(path, b.data, b.len, &e), 0);
	check(safetensors_open(path, &e) == NULL);
	buf_free(&b);
}

/* ---- checkpoints ------------------------------------------------------- */

#define FLOATS 20000 /* more than the small model has */

static float moments[2][FLOATS];

static struct ckpt_state some_state(int64_t step)
{
	struct ckpt_state s = { .step = step,
				.held_steps = step / 2,
				.loader_position = 77,
				.seed = 5,
				.seconds = 12.25,
				.best_bleu = -1,
				.best_step = -1,
				.shape = small_shape() };

	memset(s.vocabulary_sha256, 'a', 64);
	return s;
}

/* A saved checkpoint of the small model in the test's folder. */
static bool save_one(struct model *m, int64_t step, int keep)
{
	struct ckpt_state s = some_state(step);
	struct err e = { 0 };
	int64_t bytes = 0;

	for (int i = 0; i < FLOATS; i++) {
		moments[0][i] = (float)i + (float)step;
		moments[1][i] = (float)i * 0.5f;
	}
	if (ckpt_save(test_folder(), &s, m, moments[0], moments[1], keep, &bytes, &e)) {
		test_fail(__FILE__, __LINE__, "%s", e.text);
		return false;
	}
	return check(bytes > 3 * 4 * model_floats(m));
}

TEST(ckpt_reads_as_written)
{
	struct model *m = small_model("cpu", false), *other = small_model("cpu", false);
	static float first[FLOATS], second[FLOATS];
	struct ckpt_state s;
	struct err e = { 0 };
	char *folder;

	if (!m || !other || !check(model_floats(m) <= FLOATS))
		return;
	check(ckpt_find_last(test_folder(), &e) == NULL);
	check_int(e.code, 0);
	check_err(file_write_all(in_folder("recipe.ini"), "[model]\n", 8, &e), 0);
	check_err(model_init(m, 9, &e), 0);
	save_one(m, 40, 3);
	folder = ckpt_find_last(test_folder(), &e);
	if (check(folder)) {
		check_err(ckpt_read_state(folder, true, &s, &e), 0);
		check_int(s.step, 40);
		check_int(s.held_steps, 20);
		check_int(s.loader_position, 77);
		check_int(s.seed, 5);
		check_near(s.seconds, 12.25, 0);
		check_int(s.shape.decoder_layers, 2);
		check_int(s.shape.real_vocabulary, 29);
		check_int(strlen(s.vocabulary_sha256), 64);
		check_err(ckpt_load_weights(folder, other, &e), 0);
		check_err(ckpt_load_moments(folder, other, first, second, &e), 0);
		check(!memcmp(model_param_arena(m), model_param_arena(other),
			      (size_t)model_floats(m) * 4));
		check(!memcmp(first, moments[0], (size_t)model_floats(m) * 4));
		check(!memcmp(second, moments[1], (size_t)model_floats(m) * 4));
	}
	free(folder);
	check(file_exists(in_folder("checkpoints/40/recipe.ini")));
	model_free(m);
	model_free(other);
}

static int feedback_of_rank(void *arg, int which, struct ckpt_arena *found, struct err *e)
{
	(void)arg, (void)e;
	*found = (struct ckpt_arena){ .x = moments[which % 2], .on_host = true };
	return 0;
}

/* Replace the first occurrence of a word in a file. */
static void replace_in_file(const char *path, const char *from, const char *to)
{
	struct buf text = { 0 }, out = { 0 };
	struct err e = { 0 };
	const char *at;

	check_err(file_read_all(path, 1 << 20, &text, &e), 0);
	at = strstr(buf_text(&text), from);
	if (check(at)) {
		buf_add(&out, text.data, (size_t)(at - text.data));
		buf_add_str(&out, to);
		buf_add_str(&out, at + strlen(from));
		check_err(file_write_all(path, out.data, out.len, &e), 0);
	}
	buf_free(&text);
	buf_free(&out);
}

/* Checkpoints of version 0.1 call error feedback "residual". */
TEST(ckpt_reads_former_names_of_error_feedback)
{
	static float back[FLOATS];
	struct ckpt_state s = { .step = 7, .feedback_wire = 2, .feedback_bucket = 512 };
	const struct ckpt_arenas from = { feedback_of_rank, NULL, CKPT_FEEDBACK + 2, NULL };
	struct model *m = small_model("cpu", false);
	const char *folder;
	struct err e = { 0 };
	int64_t bytes;

	if (!m || !check(model_floats(m) <= FLOATS))
		return;
	for (int i = 0; i < FLOATS; i++)
		moments[1][i] = (float)i;
	s.shape = small_shape();
	memset(s.vocabulary_sha256, 'a', 64);
	check_err(ckpt_save_arenas(test_folder(), &s, m, &from, 1, &bytes, &e), 0);
	check_int(rename(in_folder("checkpoints/7/error_feedback.safetensors"),
			 in_folder("checkpoints/7/residual.safetensors")),
		  0);
	replace_in_file(in_folder("checkpoints/7/state.json"), "error_feedback_ranks",
			"residual_ranks");
	replace_in_file(in_folder("checkpoints/7/state.json"), "error_feedback_wire",
			"residual_wire");
	replace_in_file(in_folder("checkpoints/7/state.json"), "error_feedback_bucket",
			"residual_bucket");
	memset(&s, 0, sizeof(s));
	folder = in_folder("checkpoints/7");
	check_err(ckpt_read_state(folder, false, &s, &e), 0);
	check_int(s.feedback_ranks, 2);
	check_int(s.feedback_wire, 2);
	check_int(s.feedback_bucket, 512);
	check_err(ckpt_load_arena(folder, m, CKPT_FEEDBACK + 1, back, &e), 0);
	check(!memcmp(back, moments[1], (size_t)model_floats(m) * 4));
	model_free(m);
}

static int64_t link_of(const char *name)
{
	char target[32] = "";

	if (readlink(in_folder(name), target, sizeof(target) - 1) < 0)
		return -1;
	return strtoll(target, NULL, 10);
}

TEST(ckpt_keeps_best_and_newest)
{
	struct model *m = small_model("cpu", false);
	struct err e = { 0 };

	if (!m)
		return;
	for (int step = 10; step <= 50; step += 10) {
		save_one(m, step, 2);
		if (step == 20)
			check_err(ckpt_set_best(test_folder(), 20, &e), 0);
	}
	check(!file_exists(in_folder("checkpoints/10")));
	check(file_exists(in_folder("checkpoints/20/model.safetensors")));
	check(!file_exists(in_folder("checkpoints/30")));
	check(file_exists(in_folder("checkpoints/40")) && file_exists(in_folder("checkpoints/50")));
	check_int(link_of("checkpoints/best"), 20);
	check_int(link_of("checkpoints/last"), 50);
	save_one(m, 50, 2); /* over itself */
	check_int(link_of("checkpoints/last"), 50);
	model_free(m);
}

static void damage_file(const char *name, long offset)
{
	const char *path = in_folder(name);
	FILE *f = fopen(path, "r+b");
	int c;

	if (check(f)) {
		fseek(f, offset, SEEK_SET);
		c = fgetc(f);
		fseek(f, offset, SEEK_SET);
		fputc(c ^ 1, f);
		fclose(f);
	}
}

static int64_t newest_good(struct err *e)
{
	struct ckpt_state s = { .step = -1 };
	char *folder = ckpt_find_last(test_folder(), e);

	if (!folder)
		return -1;
	check_err(ckpt_read_state(folder, false, &s, e), 0);
	free(folder);
	return s.step;
}

TEST(ckpt_falls_back_to_the_one_before)
{
	struct model *m = small_model("cpu", false);
	struct err e = { 0 };

	if (!m)
		return;
	for (int step = 1; step <= 5; step++)
		save_one(m, step, 9);
	check_int(newest_good(&e), 5);
	damage_file("checkpoints/5/model.safetensors", 30000);
	check_int(newest_good(&e), 4);
	check_err(unlink(in_folder("checkpoints/4/optimizer.safetensors")), 0);
	check_int(newest_good(&e), 3);
	check_err(truncate(in_folder("checkpoints/3/SHA256SUMS"), 100), 0);
	check_int(newest_good(&e), 2);
	check_err(unlink(in_folder("checkpoints/2/SHA256SUMS")), 0);
	check_int(newest_good(&e), 1);
	damage_file("checkpoints/1/state.json", 10);
	check(ckpt_find_last(test_folder(), &e) == NULL);
	check_int(e.code, ERR_DATA);
	check(strstr(e.text, "checkpoints/5/model.safetensors") != NULL);
	model_free(m);
}

TEST(ckpt_sets_damage_aside)
{
	struct model *m = small_model("cpu", false);
	struct buf damage = { 0 };
	struct err e = { 0 };
	int64_t linked;
	char *folder;

	if (!m)
		return;
	for (int step = 1; step <= 5; step++)
		save_one(m, step, 9);
	check_err(ckpt_set_best(test_folder(), 5, &e), 0);
	for (int step = 5; step >= 2; step--) { /* one damage after the other */
		char name[60];

		snprintf(name, sizeof(name), "checkpoints/%d/model.safetensors", step);
		damage_file(name, 30000);
		buf_clear(&damage);
		folder = ckpt_take_last(test_folder(), &damage, &e);
		if (check(folder))
			check_int(strtol(strrchr(folder, '/') + 1, NULL, 10), step - 1);
		free(folder);
		check(strstr(buf_text(&damage), name) && strstr(buf_text(&damage), "is damaged"));
		check(!ckpt_link_step(test_folder(), "last", &linked, &e));
		check_int(linked, step - 1);
	}
	check(!ckpt_link_step(test_folder(), "best", &linked, &e));
	check_int(linked, -1); /* it led to 5 */
	/* the newest two are kept, and no saving removes them */
	check(file_exists(in_folder("checkpoints/5.damaged/model.safetensors")));
	check(file_exists(in_folder("checkpoints/4.damaged")));
	check(!file_exists(in_folder("checkpoints/3.damaged")));
	save_one(m, 4, 1);
	save_one(m, 5, 1);
	check(file_exists(in_folder("checkpoints/5.damaged")) && newest_good(&e) == 5);
	/* all are damaged: nothing is renamed */
	damage_file("checkpoints/5/model.safetensors", 30000);
	check(ckpt_take_last(test_folder(), &damage, &e) == NULL);
	check_int(e.code, ERR_DATA);
	check(file_exists(in_folder("checkpoints/5")));
	buf_free(&damage);
	model_free(m);
}

/* Saves checkpoints of later and later steps, each instead of the one before, and writes a byte after each. */
static pid_t start_saving(struct model *m, int64_t step, int *pipe_from)
{
	int ends[2];
	pid_t pid;

	if (!check_err(pipe(ends), 0))
		return -1;
	pid = fork();
	if (pid == 0)
		for (;; step++)
			if (!save_one(m, step, 1) || write(ends[1], "", 1) != 1)
				_exit(1);
	close(ends[1]);
	*pipe_from = ends[0];
	return pid;
}

/* Wait until n checkpoints more are saved. Returns the seconds that one took. */
static double wait_for_saved(int pipe_from, int n)
{
	const double began = clock_mono_s();
	char byte;

	for (int i = 0; i < n; i++)
		if (!check_int(read(pipe_from, &byte, 1), 1))
			return 0;
	return (clock_mono_s() - began) / n;
}

/*
 * A process that saves and removes checkpoints is killed at any moment: all that remain are whole. The moments are
 * parts of the time that one saving takes, so that a slow disk does not move all of them before the first checkpoint.
 */
TEST(ckpt_killed_while_it_removes)
{
	enum { KILLS = 20 };
	struct model *m = small_model("cpu", false);
	struct err e = { 0 };
	int64_t *steps = NULL;
	size_t n = 0;

	if (!m || !test_folder()) /* made before the first child would make one of its own */
		return;
	for (int i = 0; i < KILLS; i++) {
		int pipe_from = -1;
		pid_t pid = start_saving(m, 1000 * i, &pipe_from);

		if (pid < 0)
			return;
		usleep((useconds_t)(wait_for_saved(pipe_from, 2) * 1e6 * i / KILLS));
		test_kill(pid, SIGKILL);
		waitpid(pid, NULL, 0);
		close(pipe_from);
		check_err(ckpt_list(test_folder(), &steps, &n, &e), 0);
		check(n > 0);
		for (size_t k = 0; k < n; k++) {
			char name[60];

			snprintf(name, sizeof(name), "checkpoints/%lld", (long long)steps[k]);
			check_err(ckpt_verify(in_folder(name), CKPT_WHOLE, &e), 0);
		}
		free(steps);
	}
	model_free(m);
}

TEST(ckpt_removes_files_of_a_killed_writer)
{
	struct model *m = small_model("cpu", false);
	struct err e = { 0 };

	if (!m)
		return;
	check_err(file_make_folders(in_folder("checkpoints/7.tmp"), &e), 0);
	check_err(file_make_folders(in_folder("checkpoints/6.old.tmp"), &e), 0);
	check_err(file_write_all(in_folder("checkpoints/7.tmp/model.safetensors"), "half", 4, &e),
		  0);
	check_int(newest_good(&e), -1);
	check_int(e.code, 0);
	save_one(m, 8, 2);
	check_int(newest_good(&e), 8);
	check(!file_exists(in_folder("checkpoints/7.tmp")));
	check(!file_exists(in_folder("checkpoints/6.old.tmp")));
	model_free(m);
}

/* On a full disk the previous checkpoint stays, and no incomplete file remains. */
TEST(ckpt_on_a_full_disk)
{
	struct model *m = small_model("cpu", false);
	struct ckpt_state s = some_state(2);
	struct rlimit limit, small;
	struct err e = { 0 };
	int64_t bytes;

	if (!m || !save_one(m, 1, 3) || !check_err(getrlimit(RLIMIT_FSIZE, &limit), 0))
		return;
	small = limit;
	small.rlim_cur = 20000;
	signal(SIGXFSZ, SIG_IGN);
	check_err(setrlimit(RLIMIT_FSIZE, &small), 0);
	check_err(ckpt_save(test_folder(), &s, m, moments[0], moments[1], 3, &bytes, &e), ERR_IO);
	check_err(setrlimit(RLIMIT_FSIZE, &limit), 0);
	signal(SIGXFSZ, SIG_DFL);
	check(strstr(e.text, "model.safetensors") != NULL);
	check(!file_exists(in_folder("checkpoints/2")) &&
	      !file_exists(in_folder("checkpoints/2.tmp")));
	check_int(newest_good(&e), 1);
	model_free(m);
}

TEST(ckpt_of_another_model)
{
	struct model_shape shape = small_shape();
	struct dev_options options = { .threads = 1 };
	struct err e = { 0 };
	struct model *m = small_model("cpu", false), *wider, *deeper;
	struct ckpt_state s;

	shape.d_ff = 32;
	wider = model_new(&shape, ops_cpu(), &options, &e);
	shape = small_shape();
	shape.decoder_layers = 1;
	deeper = model_new(&shape, ops_cpu(), &options, &e);
	if (!m || !check(wider) || !check(deeper) || !save_one(m, 1, 1))
		return;
	check_err(ckpt_load_weights(in_folder("checkpoints/1"), wider, &e), ERR_DATA);
	check(strstr(e.text, "encoder.0.ffn.in") != NULL);
	check_err(ckpt_load_weights(in_folder("checkpoints/1"), deeper, &e), ERR_DATA);
	check_err(ckpt_load_weights(in_folder("nowhere"), m, &e), ERR_NOINPUT);
	check_err(file_write_all(in_folder("checkpoints/1/model.safetensors"), "PK\3\4 a zip file",
				 15, &e),
		  0);
	check_err(ckpt_load_weights(in_folder("checkpoints/1"), m, &e), ERR_DATA);
	check_err(file_write_all(in_folder("checkpoints/1/state.json"), "{\"step\":3}", 10, &e), 0);
	check_err(ckpt_read_state(in_folder("checkpoints/1"), false, &s, &e), ERR_DATA);
	check_err(ckpt_read_state(in_folder("checkpoints/1"), true, &s, &e), ERR_DATA);
	model_free(m);
	model_free(wider);
	model_free(deeper);
}

static int resolve(const char *run, const char *checkpoint, const char *model, const char *want)
{
	struct conf c;
	struct err e = { 0 };
	char *folder;

	check_err(conf_init(&c, &e), 0);
	check_err(conf_set(&c, "workspace", test_folder(), "test", &e), 0);
	if (run)
		check_err(conf_set(&c, "run", run, "test", &e), 0);
	check_err(conf_set(&c, "checkpoint", checkpoint, "test", &e), 0);
	free(c.model);
	c.model = model ? mem_strdup(model, &e) : NULL;
	folder = ckpt_resolve(&c, &e);
	if (folder && want) {
		const char *path = in_folder(want);

		check_str(folder, path);
	}
	conf_free(&c);
	if (!folder)
		return e.code;
	free(folder);
	return 0;
}

TEST(ckpt_resolves_names)
{
	struct err e;

	check_err(file_make_folders(in_folder("runs/r/checkpoints/5"), &e), 0);
	check_err(file_make_folders(in_folder("runs/r/checkpoints/12"), &e), 0);
	check_err(file_make_folders(in_folder("runs/empty"), &e), 0);
	check_err(symlink("12", in_folder("runs/r/checkpoints/last")), 0);
	check_err(resolve("r", "last", NULL, "runs/r/checkpoints/12"), 0);
	check_err(resolve("r", "best", NULL, "runs/r/checkpoints/12"), 0); /* not evaluated yet */
	check_err(symlink("5", in_folder("runs/r/checkpoints/best")), 0);
	check_err(resolve("r", "best", NULL, "runs/r/checkpoints/5"), 0);
	check_err(resolve("r", "12", NULL, "runs/r/checkpoints/12"), 0);
	check_err(resolve("r", "13", NULL, NULL), ERR_NOINPUT);
	check_err(resolve("r", "../12", NULL, NULL), ERR_NOINPUT);
	check_err(resolve("empty", "last", NULL, NULL), ERR_NOINPUT);
	check_err(resolve("none", "last", NULL, NULL), ERR_NOINPUT);
	check_err(resolve("../r", "last", NULL, NULL), ERR_USAGE);
	check_err(resolve(NULL, "last", NULL, NULL), ERR_USAGE);
	check_err(resolve("r", "last", "/m", NULL), ERR_USAGE);
	check_err(resolve(NULL, "best", "/m", NULL), 0);
}

/* The negative log-likelihood of the small batch with packed weights; NAN: failure. */
static double packed_nll(struct model *m, enum dtype precision)
{
	struct batch b = { 0 };
	struct model_sums sums = { 0 };
	struct err e = { 0 };
	bool good = small_batch(&b) &&
		    check_err(model_reserve_forward(m, SMALL_TOKENS, SMALL_SENTENCES, &e), 0) &&
		    check_err(model_pack(m, precision, &e), 0) &&
		    check_err(model_evaluate(m, &b, 0, &sums, &e), 0);

	batch_free(&b);
	return good ? sums.nll : NAN;
}

/* The weights of checkpoints/1 give the same numbers mapped (when they can be) and loaded. */
static void compare_mapped(const char *backend, enum dtype precision, bool is_mapped)
{
	struct model_shape shape = small_shape();
	struct dev_options options = { .threads = 2 };
	struct err e = { 0 };
	const struct ops *ops = ops_find(backend, &e);
	const struct ckpt_source from = { in_folder("checkpoints/1"), false };
	struct safetensors *weights = NULL;
	struct model *loaded = model_new(&shape, ops, &options, &e);
	struct model *mapped = ckpt_open_model(&from, &shape, ops, &options, &weights, &e);

	if (check(loaded) && check(mapped)) {
		check_err(ckpt_load_weights(in_folder("checkpoints/1"), loaded, &e), 0);
		check((weights != NULL) == is_mapped);
		check((model_param_arena(mapped) == NULL) == is_mapped);
		check_near(packed_nll(mapped, precision), packed_nll(loaded, precision), 0);
	}
	model_free(loaded);
	model_free(mapped);
	safetensors_close(weights);
}

/* Add a blank to the header, so that the data begins at an odd address. */
static void misalign(const char *path)
{
	struct buf b = { 0 }, moved = { 0 };
	struct err e = { 0 };
	uint64_t n;

	check_err(file_read_all(path, 0, &b, &e), 0);
	memcpy(&n, b.data, sizeof(n));
	buf_add(&moved, b.data, 8 + n);
	buf_add_char(&moved, ' ');
	buf_add(&moved, b.data + 8 + n, b.len - 8 - n);
	n++;
	memcpy(moved.data, &n, sizeof(n));
	check_err(file_write_all(path, moved.data, moved.len, &e), 0);
	buf_free(&b);
	buf_free(&moved);
}

static struct model *open_small(const struct model_shape *shape, struct safetensors **weights,
				struct err *e)
{
	const struct dev_options options = { .threads = 1 };

	return ckpt_open_model(&(struct ckpt_source){ in_folder("checkpoints/1"), false }, shape,
			       ops_cpu(), &options, weights, e);
}

TEST(ckpt_is_mapped)
{
	struct model *m = small_model("cpu", false);
	struct model_shape shape = small_shape();
	struct safetensors *weights;
	struct err e = { 0 };

	if (!m || !check_err(model_init(m, 3, &e), 0) || !save_one(m, 1, 1))
		return;
	compare_mapped("cpu", DTYPE_PACKED_F32, true);
	compare_mapped("cpu", DTYPE_PACKED_INT8, true);
	compare_mapped("ref", DTYPE_PACKED_BF16, true);
	misalign(in_folder("checkpoints/1/model.safetensors"));
	compare_mapped("cpu", DTYPE_PACKED_F32, false);
	shape.d_ff = 32;
	check(!open_small(&shape, &weights, &e));
	check_int(e.code, ERR_DATA);
	check(weights == NULL);
	shape = small_shape();
	shape.decoder_layers = 1;
	check(!open_small(&shape, &weights, &e));
	check_int(e.code, ERR_DATA);
	model_free(m);
}

static int check_folder(struct err *e)
{
	const struct ckpt_source from = { in_folder("checkpoints/1"), false };
	struct ckpt_check *c = ckpt_check_start(&from, e);

	return c ? ckpt_check_finish(c, e) : e->code;
}

TEST(ckpt_is_checked_in_the_background)
{
	struct model *m = small_model("cpu", false);
	struct err e = { 0 };

	check_err(ckpt_check_finish(NULL, &e), 0);
	check_err(check_folder(&e), ERR_DATA); /* there is none */
	if (!m || !check_err(model_init(m, 3, &e), 0) || !save_one(m, 1, 1))
		return;
	check_err(check_folder(&e), 0);
	damage_file("checkpoints/1/optimizer.safetensors", 2000);
	check_err(check_folder(&e), 0); /* a file that is not read is not checked */
	damage_file("checkpoints/1/model.safetensors", 2000);
	check_err(check_folder(&e), ERR_DATA);
	check(strstr(e.text, "model.safetensors") != NULL);
	model_free(m);
}
