/* eval.c - targets for weights and vocabularies of other programs; see fuzz.h */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "eval/import/import_format.h"
#include "eval/import/import_vocabulary.h"
#include "eval/weights/import_reader.h"
#include "eval/weights/weight_map.h"
#include "share/base/file.h"
#include "share/base/mem.h"
#include "share/base/util.h"
#include "tests/fuzz/fuzz.h"

#define MOST_FLOATS 100000

/* An accepted file may not fit a model, but every listed element can be read. */
static void take(struct import_reader *f, enum tensor_naming scheme)
{
	static const char *const tables[] = {
		"Wemb", "shared.weight",
		"ForwardPass/transformer_encoder/embedding_shared_weights/embedding_and_softmax/"
		"weights",
		NULL
	};
	const struct weight_rows rows = { .target = NULL };

	struct model_param *params = NULL;
	struct err e = { 0 };
	struct weight_map t;
	int64_t floats = 0;
	size_t n;
	float x;

	for (size_t i = 0; i < f->n; i++) {
		property(f->all[i].rows > 0 && f->all[i].cols > 0);
		import_read_floats(f, &f->all[i], f->all[i].rows - 1, f->all[i].cols - 1, 1, &x,
				   &e);
	}
	if (scheme == NAMING_own ? weight_map_open(&t, f, &e)
				 : weight_map_begin(&t, f, scheme, tables, &e))
		return;
	if (scheme !=
	    NAMING_own) { /* a small model of this kind; the format's own files say its sizes */
		t.shape = (struct model_shape){ .d_model = 4,
						.d_ff = 6,
						.heads = 2,
						.encoder_layers = 1,
						.decoder_layers = 1,
						.vocabulary = 8,
						.real_vocabulary = 8,
						.norm_place = NORM_POST,
						.attention_bias = 1,
						.output_bias = 1 };
		if (scheme == NAMING_openseq2seq)
			t.shape.norm_place = t.shape.attention_bias = t.shape.output_bias = 0;
	}
	property(t.shape.d_model > 0 && t.shape.encoder_layers > 0 && t.shape.decoder_layers > 0);
	if (!model_params(&t.shape, &params, &n, &floats, &e) && floats <= MOST_FLOATS) {
		float *arena = mem_alloc((size_t)floats, sizeof(*arena), &e);

		if (arena)
			weight_map_load(&t, &t.shape, &rows, arena, &e);
		free(arena);
	}
	free(params);
}

FUZZ(weights)
{
	struct err e = { 0 };
	struct import_reader f;
	int rc = import_is_safetensors(data, n)
			 ? import_open_safetensors(&f, fuzz_file(data, n), &e)
			 : import_open_ct2(&f, fuzz_file(data, n), &e);

	if (!rc)
		take(&f, NAMING_own);
	import_reader_close(&f);
	return 0;
}

/* A model of Marian: its options and arrays. */
FUZZ(npz)
{
	struct err e = { 0 };
	struct import_reader f;
	struct yaml config;

	if (!import_open_npz(&f, fuzz_file(data, n), &config, &e))
		take(&f, NAMING_marian);
	yaml_close(&config);
	import_reader_close(&f);
	return 0;
}

/* A package of Argos Translate: what is unpacked is a model of CTranslate2, or an error. */
FUZZ(argos)
{
	struct err e = { 0 };
	struct import_reader f;
	char folder[] = "/tmp/werkbank-fuzz-argos-XXXXXX";
	char *path;

	if (!mkdtemp(folder))
		return 0;
	path = file_path(&e, "%s/model.bin", folder);
	if (!import_unpack_argos(fuzz_file(data, n), folder, &e) && path) {
		if (!import_open_ct2(&f, path, &e))
			take(&f, NAMING_own);
		import_reader_close(&f);
	}
	free(path);
	property(!file_remove_tree(folder, &e));
	return 0;
}

/* A file of torch.save(), in both of its forms. */
FUZZ(torch)
{
	struct err e = { 0 };
	struct import_reader f;

	if (!import_open_torch(&f, fuzz_file(data, n), &e))
		take(&f, NAMING_layers);
	import_reader_close(&f);
	return 0;
}

/*
 * A checkpoint of TensorFlow: an input is the two files, first the index, and before them the bytes of the index in 16
 * bits.
 */
FUZZ(bundle)
{
	char folder[FUZZ_FOLDER_BYTES], path[FUZZ_FOLDER_BYTES + 32];
	static const char *const names[] = { "x.index", "x.data-00000-of-00001" };
	struct err e = { 0 };
	struct import_reader f;
	const size_t n_index = n > 2 ? MIN((size_t)(data[0] | data[1] << 8), n - 2) : 0;

	fuzz_make_folder(folder);
	for (int i = 0; i < 2 && n > 2; i++) {
		snprintf(path, sizeof(path), "%s/%s", folder, names[i]);
		property(!file_write_all(path, data + 2 + (i ? n_index : 0),
					 i ? n - 2 - n_index : n_index, &e));
	}
	snprintf(path, sizeof(path), "%s/%s", folder, names[0]);
	if (!import_open_bundle(&f, path, &e))
		take(&f, NAMING_openseq2seq);
	import_reader_close(&f);
	property(!file_remove_tree(folder, &e));
	return 0;
}

/* A checkpoint of fairseq: its options, old names of tensors, and the weights of a small model. */
FUZZ(fairseq)
{
	const struct weight_rows rows = { .target = NULL };
	struct err e = { 0 };
	struct conf c;
	struct import_job m = { .c = &c, .format = &import_fairseq, .folder = "/nonexistent" };
	struct model_param *params = NULL;
	int64_t floats = 0;
	size_t n_params;

	property(!conf_init(&c, &e));
	m.file = fuzz_file(data, n);
	if (!import_fairseq.open(&m, &e) &&
	    !model_params(&m.t.shape, &params, &n_params, &floats, &e) && floats <= MOST_FLOATS) {
		float *arena = mem_alloc((size_t)floats, sizeof(*arena), &e);

		if (arena)
			weight_map_load(&m.t, &m.t.shape, &rows, arena, &e);
		free(arena);
	}
	free(params);
	import_reader_close(&m.f);
	conf_free(&c);
	return 0;
}

/* The values of a pickle: each accepted tree can be walked where a format walks. */
FUZZ(pickle)
{
	struct err e = { 0 };
	struct pickle p;
	int rc = pickle_read(&p, "x", data, n, &e);

	property(!rc == !!p.root && p.bytes <= n);
	pickle_get(p.root, "model");
	pickle_close(&p);
	return 0;
}

FUZZ(yaml)
{
	struct err e = { 0 };
	struct yaml y;

	if (!yaml_read(&y, "x", (const char *)data, n, &e))
		for (size_t i = 0; i < y.n; i++)
			property(yaml_get(&y, yaml_key(&y, i), NULL) != NULL &&
				 strlen(yaml_value(&y, i)) <= n + 1);
	yaml_close(&y);
	return 0;
}

/* A token list gives a vocabulary or an error, and each id has its own row. */
FUZZ(tokens)
{
	static const struct special_token_names special = { "</s>", "<s>", "<unk>",
							    .may_lack = false };
	struct err e = { 0 };
	struct token_list w;
	int32_t *rows = NULL, n_rows;

	if (!token_list_open(&w, fuzz_file(data, n), &e) &&
	    !token_list_write(&w, &special, "/dev/null", &rows, &n_rows, &e)) {
		int64_t sum = 0;

		property((size_t)n_rows <= w.n && n_rows >= 4);
		for (int32_t i = 0; i < n_rows; i++) {
			property(rows[i] >= 0 && (size_t)rows[i] < w.n);
			sum += rows[i];
		}
		property((size_t)n_rows < w.n || sum == (int64_t)n_rows * (n_rows - 1) / 2);
	}
	free(rows);
	token_list_close(&w);
	return 0;
}
