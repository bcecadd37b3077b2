/*
 * libfuzzer.c - the functions that libFuzzer calls; see fuzz.h
 *
 * WERKBANK_FUZZ names the target. Without it, the program's own name does: fuzz_TARGET. Such a
 * program finds share and the tests' model beside itself, unless the environment names them.
 */
#include <libgen.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/fuzz/fuzz.h"

int LLVMFuzzerInitialize(int *argc, char ***argv);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);
size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t n, size_t room, unsigned seed);
/* of libFuzzer; other engines lack it, and mutate by themselves */
size_t LLVMFuzzerMutate(uint8_t *data, size_t n, size_t room) __attribute__((weak));

static const struct fuzz_target *target;

static void find_files_beside(const char *program)
{
	char path[1000], share[1010];

	snprintf(path, sizeof(path), "%s", program);
	snprintf(share, sizeof(share), "%s/share", dirname(path));
	setenv("srcdir", path, 0);
	setenv("WERKBANK_SHARE", share, 0);
}

int LLVMFuzzerInitialize(int *argc, char ***argv)
{
	const char *program = (*argv)[0], *name = getenv("WERKBANK_FUZZ"), *own;

	(void)argc;
	own = strrchr(program, '/') ? strrchr(program, '/') + 1 : program;
	if (!name && !strncmp(own, "fuzz_", 5)) {
		find_files_beside(program);
		name = own + 5;
	}
	target = name ? fuzz_find(name) : NULL;
	if (!target) {
		fputs("neither WERKBANK_FUZZ nor the program's name names a target\n", stderr);
		exit(64);
	}
	return 0;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
	return target->run(data, n);
}

/* One mutation in eight keeps the checksums that it has. */
size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t n, size_t room, unsigned seed)
{
	if (LLVMFuzzerMutate)
		n = LLVMFuzzerMutate(data, n, room);
	if (target->repair && seed % 8)
		target->repair(data, n);
	return n;
}
