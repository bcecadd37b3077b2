/*
 * fuzz.h - fuzz targets: readers of foreign data get arbitrary bytes
 *
 * A target is FUZZ(name) { ... } in a file of this folder, a row in FUZZ_TARGETS, and a folder
 * corpus/NAME with inputs. It returns 0 for every input. Findings are crashes, reports of a
 * sanitizer, endless loops and a property() that does not hold. When the fault is repaired, the
 * input goes to the corpus.
 *
 * Most mutations of an input with checksums get the right ones (repair.c), or its reader would
 * refuse them at once.
 *
 *	make check	replay.c: all kept inputs and thousands of mutations of them
 *	make fuzz	libFuzzer (clang), each target for FUZZ_SECONDS, with the words of dictionary.sh
 */
#ifndef WERKBANK_TESTS_FUZZ_H
#define WERKBANK_TESTS_FUZZ_H

#include <stddef.h>
#include <stdint.h>

#define FUZZ(name) int fuzz_##name(const uint8_t *data, size_t n)

/* X(name, function that repairs the checksums of an input; NULL: none) */
#define FUZZ_TARGETS(X)                                                                            \
	X(lines, NULL)                                                                             \
	X(json, NULL)                                                                              \
	X(recipe, NULL)                                                                            \
	X(journal, NULL)                                                                           \
	X(tail, NULL)                                                                              \
	X(moses, NULL)                                                                             \
	X(manifest, NULL)                                                                          \
	X(sgm, NULL)                                                                               \
	X(bilingual, NULL)                                                                         \
	X(encoding, NULL)                                                                          \
	X(codes, NULL)                                                                             \
	X(vocabulary, NULL)                                                                        \
	X(shard, repair_shard)                                                                     \
	X(shortlist, repair_shortlist)                                                             \
	X(side, NULL)                                                                              \
	X(words, NULL)                                                                             \
	X(archive, repair_archive)                                                                 \
	X(sp, NULL)                                                                                \
	X(safetensors, NULL)                                                                       \
	X(weights, NULL)                                                                           \
	X(npz, NULL)                                                                               \
	X(argos, NULL)                                                                             \
	X(torch, NULL)                                                                             \
	X(bundle, repair_bundle)                                                                   \
	X(fairseq, NULL)                                                                           \
	X(import, NULL)                                                                            \
	X(pickle, NULL)                                                                            \
	X(yaml, NULL)                                                                              \
	X(tokens, NULL)                                                                            \
	X(nohup, NULL)                                                                             \
	X(host, NULL)                                                                              \
	X(pulse, NULL)                                                                             \
	X(answer, NULL)                                                                            \
	X(edit, NULL)                                                                              \
	X(state, NULL)                                                                             \
	X(checkpoint, repair_checkpoint)                                                           \
	X(links, NULL)                                                                             \
	X(receipt, NULL)                                                                           \
	X(part, NULL)                                                                              \
	X(http, NULL)                                                                              \
	X(record, NULL)                                                                            \
	X(hosts, NULL)                                                                             \
	X(aws, NULL)                                                                               \
	X(theme, NULL)                                                                             \
	X(keymap, NULL)                                                                            \
	X(serve, NULL)                                                                             \
	X(terms, NULL)                                                                             \
	X(document, repair_archive)                                                                \
	X(markup, NULL)                                                                            \
	X(request, NULL)                                                                           \
	X(form, NULL)                                                                              \
	X(multipart, NULL)                                                                         \
	X(history, NULL)                                                                           \
	X(follow, NULL)                                                                            \
	X(protect, NULL)

#define X(name, repair) FUZZ(name);
FUZZ_TARGETS(X)
#undef X

void repair_shard(uint8_t *bytes, size_t n);
void repair_shortlist(uint8_t *bytes, size_t n);
void repair_archive(uint8_t *bytes, size_t n);
void repair_checkpoint(uint8_t *bytes, size_t n);
void repair_bundle(uint8_t *bytes, size_t n);

struct fuzz_target {
	const char *name;
	int (*run)(const uint8_t *data, size_t n);
	void (*repair)(uint8_t *data, size_t n); /* NULL: the input has no checksums */
};

extern const struct fuzz_target fuzz_targets[];
extern const size_t n_fuzz_targets;

const struct fuzz_target *fuzz_find(const char *name); /* NULL: none of that name */

/*
 * The path of a file with these bytes, in memory only. There is one such file: the next call
 * overwrites it.
 */
const char *fuzz_file(const void *data, size_t n);

/* Make a folder for the files of a target, which removes it at exit. */
#define FUZZ_FOLDER_BYTES 60
void fuzz_make_folder(char path[FUZZ_FOLDER_BYTES]);

/* A condition that must hold for every input. */
#define property(cond) ((cond) ? (void)0 : fuzz_fail(__FILE__, __LINE__, #cond))
void fuzz_fail(const char *file, int line, const char *what) __attribute__((noreturn));

#endif
