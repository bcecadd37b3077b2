/* t_export.c - exported models, read back by an independent reader in this file. */
#include <glob.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "eval/export/export_format.h"
#include "eval/export/model_export.h"
#include "eval/weights/ct2.h"
#include "share/base/file.h"
#include "share/base/hash.h"
#include "share/format/json.h"
#include "tests/train/small_ckpt.h"
#include "train/ckpt/ckpt.h"

/* ---- a reader -------------------------------------------------------------------------- */

struct item {
	char name[100];
	uint32_t n_dims, dims[2], type, bytes;
	const unsigned char *data;
};

struct reader {
	struct map map;
	size_t at;
	bool good;
	struct item items[200];
	uint32_t n;
	char aliases[8][2][100];
	uint32_t n_aliases;
};

static uint32_t get(struct reader *r, size_t bytes)
{
	uint32_t v = 0;

	r->good = r->good && r->at + bytes <= r->map.len;
	for (size_t i = 0; r->good && i < bytes; i++)
		v |= (uint32_t)r->map.data[r->at++] << 8 * i;
	return v;
}

static void get_text(struct reader *r, char to[100])
{
	size_t n = get(r, 2);

	*to = 0;
	r->good = r->good && n > 1 && n <= 100 && r->at + n <= r->map.len &&
		  !r->map.data[r->at + n - 1];
	if (r->good)
		memcpy(to, r->map.data + r->at, n);
	r->at += n;
}

static void get_item(struct reader *r, struct item *x)
{
	get_text(r, x->name);
	x->n_dims = get(r, 1);
	r->good = r->good && x->n_dims <= 2;
	for (uint32_t i = 0; r->good && i < x->n_dims; i++)
		x->dims[i] = get(r, 4);
	x->type = get(r, 1);
	x->bytes = get(r, 4);
	x->data = r->map.data + r->at;
	r->at += x->bytes;
}

static bool read_model(struct reader *r, const char *path)
{
	struct err e = { 0 };
	char kind[100];

	memset(r, 0, sizeof(*r));
	r->good = !map_open(&r->map, path, &e);
	check_int(get(r, 4), 6);
	get_text(r, kind);
	check_str(kind, "TransformerSpec");
	check_int(get(r, 4), 7);
	r->n = get(r, 4);
	r->good = r->good && r->n <= 200;
	for (uint32_t i = 0; r->good && i < r->n; i++)
		get_item(r, &r->items[i]);
	r->n_aliases = get(r, 4);
	r->good = r->good && r->n_aliases <= 8;
	for (uint32_t i = 0; r->good && i < r->n_aliases; i++) {
		get_text(r, r->aliases[i][0]);
		get_text(r, r->aliases[i][1]);
	}
	return check(r->good) && check_int(r->at, r->map.len);
}

static const struct item *find(const struct reader *r, const char *name)
{
	for (uint32_t i = 0; i < r->n; i++)
		if (!strcmp(r->items[i].name, name))
			return &r->items[i];
	test_fail(__FILE__, __LINE__, "there is no %s", name);
	return NULL;
}

static float float_at(const unsigned char *bytes, int64_t i)
{
	float x;

	memcpy(&x, bytes + i * 4, 4);
	return x;
}

/* The foreign tensor must be equal to the rows first ... of Werkbank's tensor. */
struct same {
	const char *theirs, *ours;
	int64_t ours_rows, cols, first, rows;
};

static const struct same sames[] = {
	{ "decoder/embeddings/weight", "embed", 32, 16, 0, 29 },
	{ "encoder/layer_1/self_attention/linear_0/weight", "encoder.1.self.qkv", 48, 16, 0, 48 },
	{ "encoder/layer_0/ffn/linear_1/weight", "encoder.0.ffn.out", 16, 24, 0, 16 },
	{ "encoder/layer_1/ffn/linear_0/bias", "encoder.1.ffn.in.bias", 1, 24, 0, 1 },
	{ "encoder/layer_norm/beta", "encoder.norm.shift", 1, 16, 0, 1 },
	{ "decoder/layer_0/attention/linear_1/weight", "decoder.cross.kv", 64, 16, 0, 32 },
	{ "decoder/layer_1/attention/linear_1/weight", "decoder.cross.kv", 64, 16, 32, 32 },
	{ "decoder/layer_1/attention/layer_norm/gamma", "decoder.1.cross.norm.scale", 1, 16, 0, 1 },
	{ "decoder/layer_0/attention/linear_2/weight", "decoder.0.cross.out", 16, 16, 0, 16 },
	{ "decoder/layer_norm/gamma", "decoder.norm.scale", 1, 16, 0, 1 },
};

static struct safetensors *open_weights(const char *folder)
{
	struct err e = { 0 };
	char path[700];

	snprintf(path, sizeof(path), "%s/model.safetensors", folder);
	return safetensors_open(path, &e);
}

static void compare_floats(const struct reader *r, struct safetensors *weights)
{
	struct err e = { 0 };

	for (size_t i = 0; i < sizeof(sames) / sizeof(*sames); i++) {
		const struct same *s = &sames[i];
		const struct item *x = find(r, s->theirs);
		const unsigned char *ours =
			safetensors_get(weights, s->ours, s->ours_rows, s->cols, &e);

		if (!x || !check(ours != NULL))
			continue;
		check_int(x->type, 0);
		check_int(x->dims[0], x->n_dims == 2 ? s->rows : s->cols);
		if (check_int(x->bytes, s->rows * s->cols * 4))
			check(!memcmp(x->data, ours + s->first * s->cols * 4, x->bytes));
	}
}

static void compare_integers(const struct reader *r, struct safetensors *weights)
{
	struct err e = { 0 };

	for (size_t i = 0; i < sizeof(sames) / sizeof(*sames); i++) {
		const struct same *s = &sames[i];
		const struct item *x = find(r, s->theirs), *scale;
		const unsigned char *ours =
			safetensors_get(weights, s->ours, s->ours_rows, s->cols, &e);
		char name[120];

		if (!x || s->ours_rows == 1)
			continue;
		snprintf(name, sizeof(name), "%s_scale", s->theirs);
		scale = find(r, name);
		check_int(x->type, 1);
		if (!scale || !check_int(x->bytes, s->rows * s->cols) ||
		    !check_int(scale->bytes, s->rows * 4))
			continue;
		for (int64_t k = 0; k < s->rows * s->cols; k++) {
			float w = float_at(ours, s->first * s->cols + k);
			float factor = float_at(scale->data, k / s->cols);

			if (!check(fabsf((float)(int8_t)x->data[k] - w * factor) <= 0.5001f))
				break;
		}
	}
}

static void check_numbers(const struct reader *r)
{
	const struct item *x = find(r, "decoder/num_heads");

	if (x)
		check(x->type == 2 && x->n_dims == 0 && x->bytes == 2 && x->data[0] == 4);
	x = find(r, "decoder/position_encodings/encodings");
	if (x) {
		check_int(x->dims[0], CT2_POSITIONS_ROWS);
		check_near(float_at(x->data, 0), 0, 0);
		check_near(float_at(x->data, 8), 1, 0);
		check_near(float_at(x->data, 16 * 5), sin(5), 1e-7);
		check_near(float_at(x->data, 16 * 5 + 15), cos(5e-4), 1e-7);
	}
	for (uint32_t i = 1; i < r->n; i++)
		check(strcmp(r->items[i - 1].name, r->items[i].name) < 0);
	check_int(r->n_aliases, 3);
	for (uint32_t i = 0; i < r->n_aliases; i++)
		find(r, r->aliases[i][1]);
}

static void check_texts(const char *folder)
{
	struct buf text = { 0 };
	struct err e = { 0 };
	struct json *root;
	char path[700];

	snprintf(path, sizeof(path), "%s/shared_vocabulary.json", folder);
	check_err(file_read_all(path, 0, &text, &e), 0);
	root = json_parse(buf_text(&text), text.len, &e);
	check_int(json_len(root), 29);
	check_str(json_text(json_at(root, 2), ""), "<s>");
	check_str(json_text(json_at(root, 7), ""), "\"\\ä3");
	json_free(root);
	buf_clear(&text);
	snprintf(path, sizeof(path), "%s/config.json", folder);
	check_err(file_read_all(path, 0, &text, &e), 0);
	check_str(buf_text(&text),
		  "{\"add_source_bos\":false,\"add_source_eos\":true,\"bos_token\":\"<s>\","
		  "\"decoder_start_token\":\"<s>\",\"eos_token\":\"</s>\","
		  "\"layer_norm_epsilon\":1e-06,\"multi_query_attention\":false,"
		  "\"unk_token\":\"<unk>\"}\n");
	buf_free(&text);
}

static int export_to(const char *folder, bool int8, const char *to, struct err *e)
{
	const struct ckpt_source from = { folder, false };

	return model_export_write(&from, &export_ctranslate2, int8, to, e);
}

TEST(export_writes_all_tensors)
{
	/* the weights are exact in every format: only a change of the format changes the checksums */
	static const char *const sums[] = {
		"254ab8df1c2e6a9f6018cbd28f905445d0608c0c28d85590a2172b55c2303aba",
		"d09433391c7c3dee4996b5def1aa12b151debf2055f386b9ae6981e581630f7a"
	};
	const char *folder = small_checkpoint();
	struct safetensors *weights = folder ? open_weights(folder) : NULL;

	for (int int8 = 0; int8 < 2 && weights; int8++) {
		const char *to = small_path(int8 ? "int8" : "fp32");
		char path[700], hex[HASH_SHA256_HEX];
		struct reader r;
		struct err e = { 0 };

		if (!check_err(export_to(folder, int8, to, &e), 0))
			test_fail(__FILE__, __LINE__, "%s", e.text);
		snprintf(path, sizeof(path), "%s/model.bin", to);
		if (read_model(&r, path)) {
			if (int8)
				compare_integers(&r, weights);
			else
				compare_floats(&r, weights);
			check_numbers(&r);
		}
		map_close(&r.map);
		check_err(hash_file(path, hex, &e), 0);
		check_str(hex, sums[int8]);
		check_texts(to);
		snprintf(path, sizeof(path), "%s/vocab.tsv", to);
		check(file_exists(path));
	}
	safetensors_close(weights);
}

TEST(export_leaves_what_is_there)
{
	const char *folder = small_checkpoint(), *to = small_path("taken");
	char path[700];
	glob_t left = { 0 };
	struct err e = { 0 };

	if (!folder)
		return;
	check(mkdir(to, 0777) == 0);
	check_err(export_to(folder, false, to, &e), 0); /* empty: used */
	/* without the moments of the optimizer, which no translation needs */
	check(unlink(small_path("checkpoints/1/optimizer.safetensors")) == 0);
	check_err(export_to(folder, true, to, &e), ERR_CANTCREAT);
	check(strstr(e.text, "taken already exists") != NULL);
	check_int(glob(strcat(strcpy(path, to), ".*.tmp"), 0, NULL, &left), GLOB_NOMATCH);
	check_err(export_to(test_folder(), true, small_path("none"), &e), ERR_DATA);
	check(!file_exists(small_path("none")));
}
