/* eval.c - targets for weights and vocabularies of other programs; see fuzz.h */
#include <stdlib.h>
#include <string.h>

#include "eval/exchange/import_reader.h"
#include "eval/exchange/import_vocabulary.h"
#include "eval/exchange/npz.h"
#include "eval/exchange/weight_map.h"
#include "share/base/mem.h"
#include "tests/fuzz/fuzz.h"

#define MOST_FLOATS 100000

/* An accepted file may not fit a model, but every listed element can be read. */
static void take(struct import_reader *f)
{
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
	if (weight_map_open(&t, f, &e))
		return;
	property(t.shape.d_model > 0 && t.shape.encoder_layers > 0 && t.shape.decoder_layers > 0);
	if (!model_params(&t.shape, &params, &n, &floats, &e) && floats <= MOST_FLOATS) {
		float *arena = mem_alloc((size_t)floats, sizeof(*arena), &e);

		if (arena)
			weight_map_load(&t, &t.shape, NULL, arena, &e);
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
		take(&f);
	import_reader_close(&f);
	return 0;
}

FUZZ(npz)
{
	struct err e = { 0 };

	property(npz_explain("x", data, n, &e) == ERR_DATA);
	return 0;
}

/* A token list gives a vocabulary or an error, and each id has its own row. */
FUZZ(tokens)
{
	static const struct special_token_names special = { "</s>", "<s>", "<unk>" };
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
