/*
 * fuzz.h - fuzz targets: readers of foreign data get arbitrary bytes
 *
 * A target is FUZZ(name) { ... } in a file of this folder, a row in FUZZ_TARGETS, and a folder
 * corpus/NAME with inputs. It returns 0 for every input. Findings are crashes, reports of a
 * sanitizer, endless loops and a property() that does not hold. When the fault is repaired, the
 * input goes to the corpus.
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
	X(state)                                                                                   \
	X(checkpoint)                                                                              \
	X(links)                                                                                   \
	X(receipt)                                                                                 \
	X(hosts)                                                                                   \
	X(aws)                                                                                     \
	X(theme)                                                                                   \
	X(keymap)                                                                                  \
	X(serve)                                                                                   \
	X(terms)                                                                                   \
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
 * The path of a file with these bytes, in memory only. There is one such file: the next call
 * overwrites it.
 */
const char *fuzz_file(const void *data, size_t n);

/* A condition that must hold for every input. */
#define property(cond) ((cond) ? (void)0 : fuzz_fail(__FILE__, __LINE__, #cond))
void fuzz_fail(const char *file, int line, const char *what) __attribute__((noreturn));

#endif
