/*
 * checkpoint.c - a target for the folder of a checkpoint: sums, state and weights; see fuzz.h
 *
 * An input is the text of SHA256SUMS, then the files of the folder. Before each file there is a
 * line "== NAME"; its two line feeds belong to no file. The readers of state and weights run only
 * if the sums are right, so repair_checkpoint() writes the right ones.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "kernels/ops/ops.h"
#include "share/base/buf.h"
#include "share/base/hash.h"
#include "tests/fuzz/fuzz.h"
#include "train/ckpt/ckpt.h"

#define HEX (HASH_SHA256_HEX - 1)
/* Larger models are not made: that reads nothing more and takes time. */
#define MAX_FLOATS 20000

/* The first file has no line with its name. */
enum { SUMS, N_FILES = 6 };

static const char *const file_names[N_FILES] = { "SHA256SUMS",
						 "state.json",
						 "model.safetensors",
						 "training.safetensors",
						 "optimizer.safetensors",
						 "vocab.tsv" };

struct file_part {
	const uint8_t *at; /* borrowed; NULL: no such file */
	size_t n;
};

/* The index of the file whose name is all of these bytes; -1: none. */
static int index_of_file(const uint8_t *name, size_t n)
{
	for (int i = 0; i < N_FILES; i++)
		if (strlen(file_names[i]) == n && !memcmp(file_names[i], name, n))
			return i;
	return -1;
}

/* Is there a line "== NAME" after a line feed? Then *file is its index, *length that of both. */
static bool is_file_line(const uint8_t *at, size_t n, int *file, size_t *length)
{
	static const char mark[] = "\n== ";
	const size_t before = sizeof(mark) - 1;
	const uint8_t *end = n > before && !memcmp(at, mark, before)
				     ? memchr(at + before, '\n', n - before)
				     : NULL;

	if (!end)
		return false;
	*length = (size_t)(end - at) + 1;
	*file = index_of_file(at + before, *length - before - 1);
	return *file > SUMS;
}

/* Of two files with the same name the later one counts. */
static void split_files(const uint8_t *data, size_t n, struct file_part files[N_FILES])
{
	int file = SUMS, next = SUMS;
	size_t start = 0, length;

	memset(files, 0, N_FILES * sizeof(*files));
	for (size_t i = 0; i < n; i++) {
		if (!is_file_line(data + i, n - i, &next, &length))
			continue;
		files[file] = (struct file_part){ data + start, i - start };
		file = next;
		start = i + length;
		i = start - 1;
	}
	files[file] = (struct file_part){ data + start, n - start };
}

static void put_sum(uint8_t *to, const struct file_part *f)
{
	struct err e = { 0 };
	struct hash *h = hash_new(HASH_SHA256, &e);
	char hex[HASH_SHA256_HEX];

	property(h && !hash_add(h, f->at, f->n, &e) && !hash_hex(h, hex, &e));
	hash_free(h);
	memcpy(to, hex, HEX);
	memcpy(to + HEX, "  ", 2);
}

/* The lines of SHA256SUMS that name a file of the input get its sum. */
void repair_checkpoint(uint8_t *bytes, size_t n)
{
	struct file_part files[N_FILES];
	uint8_t *line = bytes, *all, *end;

	split_files(bytes, n, files);
	all = bytes + files[SUMS].n;
	for (; line < all; line = end + 1) {
		const size_t left = (size_t)(all - line);
		int file = -1;

		end = memchr(line, '\n', left);
		if (!end)
			end = all;
		if ((size_t)(end - line) > HEX + 2)
			file = index_of_file(line + HEX + 2, (size_t)(end - line) - HEX - 2);
		if (file > SUMS && files[file].at)
			put_sum(line, &files[file]);
	}
}

/* ---- the target ---- */

static char run_folder[FUZZ_FOLDER_BYTES], steps_folder[80], step_folder[90];

static const char *path_of_file(int i)
{
	static char path[130];

	snprintf(path, sizeof(path), "%s/%s", step_folder, file_names[i]);
	return path;
}

static void remove_step_folder(void)
{
	for (int i = 0; i < N_FILES; i++)
		unlink(path_of_file(i));
	rmdir(step_folder);
	rmdir(steps_folder);
	rmdir(run_folder);
}

static void write_step_folder(const uint8_t *data, size_t n)
{
	struct file_part files[N_FILES];

	if (!*run_folder) {
		fuzz_make_folder(run_folder);
		snprintf(steps_folder, sizeof(steps_folder), "%s/checkpoints", run_folder);
		snprintf(step_folder, sizeof(step_folder), "%s/12", steps_folder);
		property(!mkdir(steps_folder, 0700) && !mkdir(step_folder, 0700));
		atexit(remove_step_folder);
	}
	split_files(data, n, files);
	for (int i = 0; i < N_FILES; i++) {
		const struct file_part *f = &files[i];
		FILE *out;

		if (!f->at) {
			unlink(path_of_file(i));
			continue;
		}
		out = fopen(path_of_file(i), "we");
		property(out && fwrite(f->at, 1, f->n, out) == f->n);
		/* its last line ends where the line with the name of a file begins */
		if (i == SUMS && f->n < n)
			fputc('\n', out);
		property(!fclose(out));
	}
}

/* Open the weights for decoding, and load those for training, as far as the folder has them. */
static void load_all_weights(const struct ckpt_state *s)
{
	static const char *const backends[] = { "ref", "cpu" };
	const struct dev_options options = { .threads = 1 };
	const struct ckpt_source from = { step_folder, false };

	for (size_t i = 0; i < sizeof(backends) / sizeof(*backends); i++) {
		struct err e = { 0 };
		const struct ops *ops = ops_find(backends[i], &e);
		struct safetensors *weights = NULL;
		struct model *m = ckpt_open_model(&from, &s->shape, ops, &options, &weights, &e);
		bool average;

		property(m || (e.code && *e.text));
		if (m && model_param_arena(m)) {
			ckpt_load_training(step_folder, m, &average, &e);
			ckpt_load_moments(step_folder, m, model_param_arena(m),
					  model_param_arena(m), &e);
		}
		model_free(m);
		safetensors_close(weights);
	}
}

/*
 * Everyone who asks gets the same answer: intact, or damaged with a reason. What was accepted
 * describes a model whose parameters can be listed, or is refused there.
 */
FUZZ(checkpoint)
{
	struct ckpt_state s;
	struct err e = { 0 };
	struct buf faults = { 0 };
	struct model_param *params = NULL;
	int64_t floats = 0, n_files = 0;
	size_t n_params;
	char *last, sum[HASH_SHA256_HEX] = "";
	bool is_intact;

	write_step_folder(data, n);
	is_intact = !ckpt_read_state(step_folder, true, &s, &e);
	property(is_intact || (e.code && *e.text));
	ckpt_list_faults(step_folder, &faults, &n_files);
	property(is_intact == !faults.len);
	last = ckpt_find_last(run_folder, &e);
	property(is_intact == (last != NULL));
	ckpt_weights_sum(step_folder, sum, &e);
	property(strlen(sum) < sizeof(sum));
	if (is_intact) {
		property(strlen(s.vocabulary_sha256) < sizeof(s.vocabulary_sha256));
		property(s.step >= 0 && n_files >= 2 && *sum);
		if (s.shape.encoder_layers + s.shape.decoder_layers < 200 &&
		    !model_params(&s.shape, &params, &n_params, &floats, &e)) {
			property(floats >= 0);
			if (floats <= MAX_FLOATS)
				load_all_weights(&s);
		}
	}
	free(params);
	free(last);
	buf_free(&faults);
	return 0;
}
