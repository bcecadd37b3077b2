/*
 * fuzz.h - readers of things that come from outside, fed with anything.
 *
 * A target is FUZZ(name) { ... } in any file of this folder, a row in
 * FUZZ_TARGETS, and a folder corpus/NAME with inputs that are kept. It returns
 * 0 whatever it was given; a crash, a sanitizer's report, an endless loop or a
 * property() that does not hold is a finding, whose input goes to the corpus
 * when the fault is mended.
 *
 *	make check	replay.c: all kept inputs and thousands of mutations of them
 *	make fuzz	libFuzzer (clang), each target for FUZZ_SECONDS
 */
#ifndef WERKBANK_TESTS_FUZZ_H
#define WERKBANK_TESTS_FUZZ_H

#include <stddef.h>
#include <stdint.h>

#define FUZZ(name) int fuzz_##name(const uint8_t *data, size_t n)

#define FUZZ_TARGETS(X)                                                                            \
	X(lines)                                                                                   \
	X(json)                                                                                    \
	X(recipe)                                                                                  \
	X(journal)                                                                                 \
	X(moses)                                                                                   \
	X(manifest)                                                                                \
	X(sgm)                                                                                     \
	X(codes)                                                                                   \
	X(vocabulary)                                                                              \
	X(shard)                                                                                   \
	X(shortlist)                                                                               \
	X(side)                                                                                    \
	X(words)                                                                                   \
	X(archive)                                                                                 \
	X(sp)                                                                                      \
	X(safetensors)                                                                             \
	X(weights)                                                                                 \
	X(npz)                                                                                     \
	X(tokens)                                                                                  \
	X(nohup)                                                                                   \
	X(host)                                                                                    \
	X(pulse)                                                                                   \
	X(answer)                                                                                  \
	X(edit)                                                                                    \
	X(history)

#define X(name) FUZZ(name);
FUZZ_TARGETS(X)
#undef X

struct fuzz_target {
	const char *name;
	int (*run)(const uint8_t *data, size_t n);
};

extern const struct fuzz_target fuzz_targets[];
extern const size_t n_fuzz_targets;

const struct fuzz_target *fuzz_find(const char *name); /* NULL: none of that name */

/*
 * The path of a file that holds these bytes, in memory only. One at a time: the next call changes
 * it.
 */
const char *fuzz_file(const void *data, size_t n);

/* What must hold for every input. */
#define property(cond) ((cond) ? (void)0 : fuzz_fail(__FILE__, __LINE__, #cond))
void fuzz_fail(const char *file, int line, const char *what) __attribute__((noreturn));

#endif
