/* train.c - targets for model files and logs of other programs; see fuzz.h */
#include <string.h>

#include "share/format/json.h"
#include "tests/fuzz/fuzz.h"
#include "train/ckpt/safetensors.h"
#include "train/record/openseq2seq.h"

FUZZ(safetensors)
{
	struct err e = { 0 };
	struct safetensors *s = safetensors_open(fuzz_file(data, n), &e);
	unsigned sum = 0;

	if (!s)
		return 0;
	for (size_t i = 0; i < safetensors_count(s); i++) {
		const struct safetensor *t = safetensors_at(s, i);

		property(t && t->name && t->dtype && t->n_dims <= SAFETENSORS_MAX_DIMS);
		property(t->begin <= t->end && t->end <= n);
		for (uint64_t k = 0; k < t->end - t->begin; k++)
			sum += t->data[k];
		property(safetensors_find(s, t->name) == t);
		safetensors_get(s, t->name, 2, 3, &e);
	}
	safetensors_close(s);
	return sum > UINT32_MAX; /* never: the bytes were read */
}

/* Every line that comes out is a record with a kind, a time and a step. */
FUZZ(nohup)
{
	struct err e = { 0 };
	struct buf journal = { 0 };
	struct openseq2seq seen;
	const char *line, *end;
	int64_t lines = 0;
	bool good = !openseq2seq_read((const char *)data, n, "r", 1e9, &journal, &seen, &e);

	line = buf_text(&journal);
	for (; good && (end = strchr(line, '\n')) != NULL; line = end + 1) {
		struct json *record = json_parse(line, (size_t)(end - line), &e);

		property(json_text(json_get(record, "kind"), NULL) != NULL);
		property(json_get(record, "t") != NULL);
		property(json_integer(json_get(record, "step"), -1) >= 0);
		json_free(record);
		lines++;
	}
	property(!good || lines == seen.trains + seen.evals + seen.starts + 1 + seen.finished);
	buf_free(&journal);
	return 0;
}
