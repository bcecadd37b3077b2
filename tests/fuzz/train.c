/* train.c - model files. See fuzz.h */
#include <string.h>

#include "tests/fuzz/fuzz.h"
#include "train/safetensors.h"

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
	return sum > UINT32_MAX;	/* never: the bytes were read */
}
