/* libfuzzer.c - the function that libFuzzer calls; WERKBANK_FUZZ names the target; see fuzz.h */
#include <stdio.h>
#include <stdlib.h>

#include "tests/fuzz/fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
	static const struct fuzz_target *target;

	if (!target) {
		const char *name = getenv("WERKBANK_FUZZ");

		target = name ? fuzz_find(name) : NULL;
	}
	if (!target) {
		fputs("WERKBANK_FUZZ does not name a target\n", stderr);
		exit(64);
	}
	return target->run(data, n);
}
