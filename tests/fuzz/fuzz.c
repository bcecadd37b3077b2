/* fuzz.c - see fuzz.h */
#include "tests/fuzz/fuzz.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

const struct fuzz_target fuzz_targets[] = {
#define X(name, repair) { #name, fuzz_##name, repair },
	FUZZ_TARGETS(X)
#undef X
};
const size_t n_fuzz_targets = sizeof(fuzz_targets) / sizeof(fuzz_targets[0]);

const struct fuzz_target *fuzz_find(const char *name)
{
	for (size_t i = 0; i < n_fuzz_targets; i++)
		if (!strcmp(fuzz_targets[i].name, name))
			return &fuzz_targets[i];
	return NULL;
}

void fuzz_fail(const char *file, int line, const char *what)
{
	fprintf(stderr, "%s:%d: does not hold: %s\n", file, line, what);
	abort();
}

const char *fuzz_file(const void *data, size_t n)
{
	static char path[64];
	static int fd = -1;

	if (fd < 0) {
		fd = memfd_create("fuzz", MFD_CLOEXEC);
		snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	}
	if (fd < 0 || ftruncate(fd, 0) || pwrite(fd, data, n, 0) != (ssize_t)n) {
		perror("a file in memory");
		exit(1);
	}
	return path;
}

void fuzz_make_folder(char path[FUZZ_FOLDER_BYTES])
{
	/* /dev/shm is in memory: a synced file costs nothing there */
	snprintf(path, FUZZ_FOLDER_BYTES, "/dev/shm/werkbank-fuzz-XXXXXX");
	if (mkdtemp(path))
		return;
	snprintf(path, FUZZ_FOLDER_BYTES, "/tmp/werkbank-fuzz-XXXXXX");
	property(mkdtemp(path));
}
