/* t_import.c - weights of other programs: reading, mapping, refusing. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "eval/export/export_format.h"
#include "eval/export/model_export.h"
#include "eval/import/import.h"
#include "eval/import/import_vocabulary.h"
#include "eval/weights/ct2.h"
#include "eval/weights/import_reader.h"
#include "eval/weights/weight_map.h"
#include "share/format/json.h"
#include "tests/train/small_ckpt.h"

static const char codes[] = "#version: 0.2\n";

/* A checkpoint, its export (fp32 or int8) in FOLDER/ct2; NULL after a failed check. */
static const char *make_export(bool int8)
{
	struct ckpt_source from = { 0 };
	const char *folder;
	struct err e = { 0 };

	check_err(file_write_all(small_path("bpe.codes"), codes, sizeof(codes) - 1, &e), 0);
	folder = from.folder = small_checkpoint();
	if (folder &&
	    !check_err(model_export_write(&from, &export_ctranslate2, int8, small_path("ct2"), &e),
		       0)) {
		test_fail(__FILE__, __LINE__, "%s", e.text);
		return NULL;
	}
	return folder;
}

/* Runs "import" from `from` to `to` with one more option; e gets the message. */
static int import(const char *from, const char *to, const char *option, const char *value,
		  struct err *e)
{
	struct conf c;
	char *arguments[] = { (char *)from };
	int rc = conf_init(&c, e);

	c.arguments = arguments;
	c.n_arguments = 1;
	c.quiet = true;
	if (!rc)
		rc = conf_set(&c, "output", to, "command line", e);
	if (!rc && option)
		rc = conf_set(&c, option, value, "command line", e);
	if (!rc)
		rc = import_run(&c, e);
	conf_free(&c);
	return rc;
}

static struct safetensors *open_weights(const char *folder)
{
	struct err e = { 0 };
	char *path = file_path(&e, "%s/model.safetensors", folder);
	struct safetensors *s = path ? safetensors_open(path, &e) : NULL;

	if (!s)
		test_fail(__FILE__, __LINE__, "%s", e.text);
	free(path);
	return s;
}

/* The largest difference between the tensors of two folders, without rows that have no token. */
static double difference(const char *a, const char *b)
{
	struct safetensors *x = open_weights(a), *y = open_weights(b);
	double most = 0;

	if (!x || !y || !check_int(safetensors_count(x), safetensors_count(y)))
		most = INFINITY;
	for (size_t i = 0; isfinite(most) && i < safetensors_count(x); i++) {
		const struct safetensor *t = safetensors_at(x, i),
					*u = safetensors_find(y, t->name);
		size_t n = (size_t)(t->end - t->begin) / sizeof(float);

		if (!u || u->end - u->begin != t->end - t->begin)
			most = INFINITY;
		if (!strcmp(t->name, "embed"))
			n = 29 * 16;
		for (size_t k = 0; isfinite(most) && k < n; k++) {
			float p, q;

			memcpy(&p, t->data + k * sizeof(p), sizeof(p));
			memcpy(&q, u->data + k * sizeof(q), sizeof(q));
			most = fmax(most, fabs((double)(p - q)));
		}
	}
	safetensors_close(x);
	safetensors_close(y);
	return most;
}

TEST(import_round_trip)
{
	const char *folder = make_export(false);
	struct ckpt_state was, is;
	struct err e = { 0 };

	if (!folder || !check_err(import(small_path("ct2"), small_path("back"), NULL, NULL, &e), 0))
		return;
	check_near(difference(folder, small_path("back")), 0, 0);
	check_err(ckpt_read_state(folder, true, &was, &e), 0);
	check_err(ckpt_read_state(small_path("back"), true, &is, &e), 0);
	check_str(is.vocabulary_sha256, was.vocabulary_sha256);
	check(!memcmp(&is.shape, &was.shape, sizeof(is.shape)));
	check_int(is.step, 0);
	/* its own names again, from one file; what is there stays */
	check_err(import(small_path("back/model.safetensors"), small_path("own"), NULL, NULL, &e),
		  0);
	check_near(difference(folder, small_path("own")), 0, 0);
	check_err(import(small_path("ct2"), small_path("own"), NULL, NULL, &e), ERR_CANTCREAT);
}

TEST(import_int8)
{
	const char *folder = make_export(true);
	struct err e = { 0 };

	/* weights are k/64, |k| <= 50: half a step of 50/64/127 */
	if (folder && check_err(import(small_path("ct2"), small_path("back"), NULL, NULL, &e), 0))
		check_near(difference(folder, small_path("back")), 0, 0.5 * 50 / 64 / 127 + 1e-7);
}

TEST(import_as_run)
{
	struct conf c;
	struct err e = { 0 };
	char *arguments[1], *from;

	if (!make_export(false) || !check_err(conf_init(&c, &e), 0))
		return;
	from = file_path(&e, "%s", small_path("ct2"));
	arguments[0] = from;
	c.arguments = arguments;
	c.n_arguments = 1;
	c.quiet = true;
	check_err(import_run(&c, &e), ERR_USAGE);
	check(strstr(e.text, "either --run") != NULL);
	check_err(conf_set(&c, "workspace", test_folder(), "command line", &e), 0);
	check_err(conf_set(&c, "run", "taken", "command line", &e), 0);
	if (!check_err(import_run(&c, &e), 0))
		test_fail(__FILE__, __LINE__, "%s", e.text);
	check(file_exists(small_path("runs/taken/checkpoints/best/SHA256SUMS")));
	check(file_exists(small_path("runs/taken/checkpoints/last/bpe.codes")));
	check(file_exists(small_path("runs/taken/journal.jsonl")));
	check_err(import_run(&c, &e), ERR_CANTCREAT);
	conf_free(&c);
	free(from);
}

/* ---- other architectures ----------------------------------------------- */

/* Change byte n of a number of model.bin, by its name; false: there is none. */
static bool patch(const char *from, const char *to, const char *name, char value)
{
	struct buf b = { 0 };
	struct err e = { 0 };
	char *at = NULL;

	if (!file_read_all(from, 0, &b, &e))
		at = memmem(b.data, b.len, name, strlen(name) + 1);
	if (at) { /* NUL, u8 dimensions, u8 type, u32 bytes, data */
		at[strlen(name) + 1 + 1 + 1 + 4] = value;
		check_err(file_write_all(to, b.data, b.len, &e), 0);
	}
	buf_free(&b);
	return check(at != NULL);
}

TEST(import_refuses_another_architecture)
{
	static const struct {
		const char *name;
		char value;
		const char *says;
	} cases[] = {
		{ "decoder/pre_norm", 0, "encoder and decoder differ in pre_norm" },
		{ "encoder/activation", 2, "differ in pre_norm, activation" },
		{ "encoder/activation", 5, "does not have this activation" },
		{ "encoder/scale_embeddings", 0, "or scale_embeddings" },
		{ "decoder/scale_embeddings", 2, "another factor than 1" },
		{ "decoder/alibi", 1, "ALiBi" },
		{ "encoder/multi_query_attention", 1, "share their keys" },
		{ "encoder/num_heads", 0, "not in 1 to 128" },
	};
	char *file, *kept;
	struct err e = { 0 };

	if (!make_export(false))
		return;
	file = file_path(&e, "%s/ct2/model.bin", test_folder());
	kept = file_path(&e, "%s/model.kept", test_folder());
	check_err(file_copy(file, kept, &e), 0);
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		if (!patch(kept, file, cases[i].name, cases[i].value))
			continue;
		check_err(import(small_path("ct2"), small_path("none"), NULL, NULL, &e), ERR_DATA);
		if (!strstr(e.text, cases[i].says))
			test_fail(__FILE__, __LINE__, "%s: %s", cases[i].name, e.text);
		check(!file_exists(small_path("none")));
	}
	free(file);
	free(kept);
}

/* Every truncation and many flipped bytes: an error or an import, never a crash. */
TEST(import_damaged)
{
	struct buf b = { 0 };
	struct err e = { 0 };
	char *file;

	if (!make_export(true))
		return;
	file = file_path(&e, "%s/cut.bin", test_folder());
	check_err(file_read_all(small_path("ct2/model.bin"), 0, &b, &e), 0);
	for (size_t n = 0; n < b.len; n += n < 300 ? 1 : 977) {
		struct import_reader f;

		check_err(file_write_all(file, b.data, n, &e), 0);
		check_err(import_open_ct2(&f, file, &e), ERR_DATA);
		import_reader_close(&f);
	}
	buf_free(&b);
	free(file);
}

/* A name without its NUL at the end of a file of one page: the next byte is not mapped. */
TEST(import_ct2_name_at_the_end_of_a_page)
{
	struct buf b = { 0 };
	struct err e = { 0 };
	struct import_reader f;
	char *file;
	size_t n;

	if (!make_export(true))
		return;
	file = file_path(&e, "%s/page.bin", test_folder());
	check_err(file_read_all(small_path("ct2/model.bin"), 0, &b, &e), 0);
	n = 4 + 2 + (size_t)((unsigned char)b.data[4] | (unsigned char)b.data[5] << 8) + 4 + 4;
	buf_truncate(&b, n);
	buf_add(&b, "\0", 2); /* the length of the first tensor's name: up to the end */
	b.data[n] = (char)((4096 - n - 2) & 255);
	b.data[n + 1] = (char)((4096 - n - 2) >> 8);
	while (b.len < 4096)
		buf_add_char(&b, 'x');
	check_err(file_write_all(file, b.data, b.len, &e), 0);
	check_err(import_open_ct2(&f, file, &e), ERR_DATA);
	check(strstr(e.text, "the name of tensor 1") != NULL);
	import_reader_close(&f);
	buf_free(&b);
	free(file);
}

/* ---- PyTorch ----------------------------------------------------------- */

/* The state dict of an nn.Transformer: its names, and elements that follow from name and place. */
struct dictionary {
	struct safetensors_item items[100];
	size_t n;
	float *data;	    /* owned: of one tensor */
	const char *biased; /* the end of a name whose first element is 1; NULL: none */
	float other_table;  /* added to the table of targets */
};

static float value_of(const char *name, int64_t i)
{
	uint32_t h = 17;

	if (strstr(name, "proj.bias") || strstr(name, "proj_bias") || strstr(name, "generator"))
		return 0;
	for (; *name; name++)
		h = h * 31 + (unsigned char)*name;
	return (float)((int)((h + (uint32_t)i * 37) % 1013) - 500) / 256;
}

static void put(struct dictionary *d, const char *fmt, int layer, int64_t rows, int64_t cols)
{
	struct safetensors_item *x = &d->items[d->n++];
	const char *mark = strchr(fmt, '#');

	snprintf(x->name, sizeof(x->name), mark ? "%.*s%d%s" : "%.*s",
		 (int)(mark ? mark - fmt : (long)strlen(fmt)), fmt, layer, mark ? mark + 1 : "");
	x->rows = rows;
	x->cols = cols;
}

static void put_attention(struct dictionary *d, const char *name, int layer)
{
	char part[100];

	snprintf(part, sizeof(part), "%s.in_proj_weight", name);
	put(d, part, layer, 48, 16);
	snprintf(part, sizeof(part), "%s.in_proj_bias", name);
	put(d, part, layer, 1, 48);
	snprintf(part, sizeof(part), "%s.out_proj.weight", name);
	put(d, part, layer, 16, 16);
	snprintf(part, sizeof(part), "%s.out_proj.bias", name);
	put(d, part, layer, 1, 16);
}

static void put_layer(struct dictionary *d, const char *name, int layer, int norms)
{
	static const struct {
		const char *name;
		int rows, cols;
	} parts[] = {
		{ "linear1.weight", 24, 16 }, { "linear1.bias", 1, 24 },
		{ "linear2.weight", 16, 24 }, { "linear2.bias", 1, 16 },
		{ "norm1.weight", 1, 16 },    { "norm1.bias", 1, 16 },
		{ "norm2.weight", 1, 16 },    { "norm2.bias", 1, 16 },
		{ "norm3.weight", 1, 16 },    { "norm3.bias", 1, 16 },
	};
	char part[100];

	for (size_t i = 0; i < 4 + 2 * (size_t)norms; i++) {
		snprintf(part, sizeof(part), "%s.%s", name, parts[i].name);
		put(d, part, layer, parts[i].rows, parts[i].cols);
	}
	snprintf(part, sizeof(part), "%s.self_attn", name);
	put_attention(d, part, layer);
	snprintf(part, sizeof(part), "%s.multihead_attn", name);
	if (norms == 3)
		put_attention(d, part, layer);
}

static const float *fetch(void *arg, size_t i, struct err *e)
{
	struct dictionary *d = arg;
	const struct safetensors_item *x = &d->items[i];
	bool table = x->rows == 32;

	(void)e;
	for (int64_t k = 0; k < x->rows * x->cols; k++)
		d->data[k] =
			value_of(table ? "table" : x->name, k) + (i && table ? d->other_table : 0);
	if (d->biased && strstr(x->name, d->biased))
		d->data[0] = 1;
	if (strstr(x->name, "in_proj_bias"))
		d->data[16] = 5; /* a bias of keys: without effect */
	return d->data;
}

/* Write it and import it. */
static int import_dictionary(const char *biased, float other_table, struct err *e)
{
	struct dictionary d = { .biased = biased, .other_table = other_table };
	struct conf c;
	char *file = file_path(e, "%s/pt.safetensors", test_folder()), *arguments[] = { file };
	int rc;

	put(&d, "source.weight", 0, 32, 16);
	put(&d, "target.weight", 0, 32, 16);
	put(&d, "generator.bias", 0, 1, 32);
	for (int i = 0; i < 2; i++) {
		put_layer(&d, "net.encoder.layers.#", i, 2);
		put_layer(&d, "net.decoder.layers.#", i, 3);
	}
	put(&d, "net.encoder.norm.weight", 0, 1, 16);
	put(&d, "net.decoder.norm.weight", 0, 1, 16);
	d.data = mem_alloc(48 * 16, sizeof(*d.data), e);
	rc = d.data ? safetensors_write(file, d.items, d.n, fetch, &d, e) : e->code;
	if (!rc)
		rc = conf_init(&c, e);
	if (rc)
		return rc;
	c.arguments = arguments;
	c.n_arguments = 1;
	c.quiet = c.pre_norm = true;
	conf_set(&c, "heads", "4", "command line", e);
	conf_set(&c, "output", small_path("net"), "command line", e);
	rc = import_run(&c, e);
	conf_free(&c);
	free(d.data);
	free(file);
	return rc;
}

/* n elements of Werkbank's tensor are equal to those of the foreign tensor from `from` on. */
static void compare(const struct safetensors *s, const char *ours, int64_t first, int64_t n,
		    const char *theirs, int64_t from)
{
	const struct safetensor *t = safetensors_find(s, ours);

	for (int64_t i = 0; check(t != NULL) && i < n; i++) {
		float x;

		memcpy(&x, t->data + (first + i) * (int64_t)sizeof(x), sizeof(x));
		if (!check_near(x, value_of(theirs, from + i), 0))
			return;
	}
}

TEST(import_pytorch)
{
	struct err e = { 0 };
	struct safetensors *s;

	if (!make_export(false))
		return;
	if (!check_err(import_dictionary(NULL, 0, &e), 0)) {
		test_fail(__FILE__, __LINE__, "%s", e.text);
		return;
	}
	s = open_weights(small_path("net"));
	if (!s)
		return;
	compare(s, "embed", 0, 512, "table", 0);
	compare(s, "encoder.1.self.qkv", 0, 768, "net.encoder.layers.1.self_attn.in_proj_weight",
		0);
	compare(s, "encoder.0.ffn.in.bias", 0, 24, "net.encoder.layers.0.linear1.bias", 0);
	compare(s, "encoder.1.ffn.norm.shift", 0, 16, "net.encoder.layers.1.norm2.bias", 0);
	compare(s, "decoder.1.self.out", 0, 256, "net.decoder.layers.1.self_attn.out_proj.weight",
		0);
	compare(s, "decoder.1.cross.q", 0, 256,
		"net.decoder.layers.1.multihead_attn.in_proj_weight", 0);
	for (int i = 0; i < 2; i++)
		compare(s, "decoder.cross.kv", 512 * i, 512,
			i ? "net.decoder.layers.1.multihead_attn.in_proj_weight"
			  : "net.decoder.layers.0.multihead_attn.in_proj_weight",
			256);
	compare(s, "decoder.0.cross.norm.scale", 0, 16, "net.decoder.layers.0.norm2.weight", 0);
	compare(s, "decoder.0.ffn.norm.scale", 0, 16, "net.decoder.layers.0.norm3.weight", 0);
	compare(s, "decoder.norm.scale", 0, 16, "net.decoder.norm.weight", 0);
	compare(s, "decoder.norm.shift", 0, 16, "generator: zeros", 0);
	safetensors_close(s);
}

TEST(import_pytorch_refused)
{
	static const char *const biased[] = { "0.self_attn.in_proj_bias",
					      "1.self_attn.out_proj.bias",
					      "1.multihead_attn.out_proj.bias", "generator.bias" };
	struct err e = { 0 };

	if (!make_export(false))
		return;
	for (size_t i = 0; i < ARRAY_LEN(biased); i++) {
		check_err(import_dictionary(biased[i], 0, &e), ERR_DATA);
		check(strstr(e.text, biased[i]) && strstr(e.text, "is not zero"));
	}
	check_err(import_dictionary(NULL, 1, &e), ERR_DATA);
	check(strstr(e.text, "has one table for both") != NULL);
	check_err(import(small_path("pt.safetensors"), small_path("net"), "heads", "4", &e),
		  ERR_USAGE);
	check(strstr(e.text, "norm_first=True") != NULL);
	check_err(import(small_path("pt.safetensors"), small_path("net"), "pre_norm", "yes", &e),
		  ERR_USAGE);
	check(strstr(e.text, "--heads") != NULL);
	check(!file_exists(small_path("net")));
}

/* ---- vocabularies, numbers, archives ----------------------------------- */

TEST(import_words_in_order)
{
	static const char list[] = "[\"<unk>\",\"<s>\",\"</s>\",\"a b\",\"\\u00e4\",\"<blank>\"]";
	static const char lines[] = "<unk>\t5\n<s>\n</s>\r\na b\t1\n\xC3\xA4\n<blank>";
	static const char *const texts[] = { list, lines };
	static const int32_t expected[] = { 5, 2, 1, 0, 3, 4 };
	static const struct special_token_names special = { "</s>", "<s>", "<unk>",
							    .may_lack = false };

	for (size_t k = 0; k < ARRAY_LEN(texts); k++) {
		struct err e = { 0 };
		struct token_list w;
		struct buf b = { 0 };
		int32_t *rows = NULL, n = 0;

		check_err(file_write_all(small_path("list"), texts[k], strlen(texts[k]), &e), 0);
		if (check_err(token_list_open(&w, small_path("list"), &e), 0) &&
		    check_int(w.n, 6) &&
		    check_err(token_list_write(&w, &special, small_path("v"), &rows, &n, &e), 0) &&
		    check_int(n, 6))
			check(!memcmp(rows, expected, sizeof(expected)));
		check_err(file_read_all(small_path("v"), 0, &b, &e), 0);
		check_str(buf_text(&b), "<pad>\t0\n</s>\t0\n<s>\t0\n<unk>\t0\na b\t0\n\xC3\xA4\t0\n"
					"<unused0>\t0\n<unused1>\t0\n");
		buf_free(&b);
		free(rows);
		token_list_close(&w);
	}
}

TEST(import_words_refused)
{
	static const char
		*const bad[] = { "[1]",		"[\"a\"",	   "", "\xFF\n", "a\nb\n",
				 "[\"a\\nb\"]", "<pad>\na\nb\nc\n" /* one row for three tokens */ };
	static const struct special_token_names special = { "a", "a", "a", .may_lack = false };

	for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
		struct err e = { 0 };
		struct token_list w;
		int32_t *rows = NULL, n;
		int rc;

		check_err(file_write_all(small_path("bad"), bad[i], strlen(bad[i]), &e), 0);
		rc = token_list_open(&w, small_path("bad"), &e);
		if (!rc)
			rc = token_list_write(&w, &special, small_path("v"), &rows, &n, &e);
		check_int(rc, ERR_DATA);
		free(rows);
		token_list_close(&w);
	}
}

TEST(foreign_halves)
{
	static const char header[] =
		"{\"h\":{\"dtype\":\"F16\",\"shape\":[6],\"data_offsets\":[0,12]},"
		"\"b\":{\"dtype\":\"BF16\",\"shape\":[2],\"data_offsets\":[12,16]},"
		"\"d\":{\"dtype\":\"F64\",\"shape\":[],\"data_offsets\":[16,24]}} ";
	static const uint16_t data[] = { 0x3c00, 0xc000, 0x0001, 0x03ff,
					 0x7bff, 0x7c00, 0x3f80, 0xc049 };
	static const double expected[] = { 1, -2, 0x1p-24, 1023 * 0x1p-24, 65504 };
	const uint64_t n = sizeof(header) - 1;
	const double third = 1 / 3.0;
	struct buf b = { 0 };
	struct import_reader f;
	struct err e = { 0 };
	float x[6];

	buf_add(&b, (const char *)&n, sizeof(n));
	buf_add(&b, header, n);
	buf_add(&b, (const char *)data, sizeof(data));
	buf_add(&b, (const char *)&third, sizeof(third));
	check_err(file_write_all(small_path("halves"), b.data, b.len, &e), 0);
	buf_free(&b);
	if (check_err(import_open_safetensors(&f, small_path("halves"), &e), 0)) {
		check_err(import_read_floats(&f, import_find_tensor(&f, "h"), 0, 0, 5, x, &e), 0);
		for (int i = 0; i < 5; i++)
			check_near(x[i], expected[i], 0);
		check_err(import_read_floats(&f, import_find_tensor(&f, "h"), 0, 5, 1, x, &e),
			  ERR_DATA);
		check_err(import_read_floats(&f, import_find_tensor(&f, "b"), 0, 0, 2, x, &e), 0);
		check_near(x[1], -3.140625, 0);
		check_near(import_tensor_number(import_find_tensor(&f, "d")), 1 / 3.0, 1e-7);
	}
	import_reader_close(&f);
}
