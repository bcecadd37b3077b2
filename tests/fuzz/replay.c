/*
 * replay.c - runs the targets on the inputs of the corpus and on mutations of them
 *
 *	replay				all targets: kept inputs of $srcdir/tests/fuzz/corpus, then mutations
 *	replay TARGET [FILE...]		one target, these files
 *
 * FUZZ_ROUNDS: mutations a target. They are the same in every run. An input that
 * ends the program is left in the file fuzz-TARGET.input. See fuzz.h.
 */
#include <dirent.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "share/base/file.h"
#include "share/base/mem.h"
#include "share/base/rng.h"
#include "share/base/text.h"
#include "tests/fuzz/fuzz.h"

#define ROUNDS	   4000
#define MAX_BYTES  (256u << 10) /* of a kept input */
#define MAX_EDITS  8
#define PATIENCE_S 30 /* for one input */

struct corpus {
	struct buf *inputs; /* owned */
	size_t n, cap;
};

static const struct fuzz_target *current;
static const uint8_t *current_data;
static size_t current_n;

/* Signal handler: save the input and print its name, with async-signal-safe calls only. */
static void leave_input(int number)
{
	FILE *f;
	char path[100];

	signal(number, SIG_DFL);
	snprintf(path, sizeof(path), "fuzz-%s.input", current ? current->name : "none");
	f = fopen(path, "we");
	if (f) {
		fwrite(current_data, 1, current_n, f);
		fclose(f);
	}
	printf("FAILED   fuzz %s: signal %d; the input is in %s\n", current ? current->name : "?",
	       number, path);
	fflush(stdout);
	raise(number);
}

static void run(const struct fuzz_target *target, const void *data, size_t n)
{
	/* a copy of exactly this size, so that sanitizers notice a read beyond its end */
	uint8_t *copy = malloc(n ? n : 1);

	if (!copy)
		abort();
	if (n)
		memcpy(copy, data, n);
	current = target;
	current_data = copy;
	current_n = n;
	alarm(PATIENCE_S);
	target->run(copy, n);
	alarm(0);
	free(copy);
}

/* An input as it is, then with the right checksums. */
static void run_input(const struct fuzz_target *t, struct buf *input)
{
	run(t, buf_text(input), input->len);
	if (!t->repair || !input->len)
		return;
	t->repair((uint8_t *)input->data, input->len);
	run(t, buf_text(input), input->len);
}

static int add_file(struct corpus *c, const char *path, struct err *e)
{
	if (mem_grow(&c->inputs, &c->cap, c->n + 1, sizeof(*c->inputs), e))
		return e->code;
	c->inputs[c->n] = (struct buf){ 0 };
	return file_read_all(path, MAX_BYTES, &c->inputs[c->n++], e);
}

static int compare_names(const void *a, const void *b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

/* In the order of their names, so that mutations are the same everywhere. */
static int add_folder(struct corpus *c, const char *folder, struct err *e)
{
	struct dirent **found = NULL;
	int n = scandir(folder, &found, NULL, NULL), rc = 0;
	char **names = n > 0 ? mem_alloc((size_t)n, sizeof(*names), e) : NULL;

	if (n < 0)
		return err_set_errno(e, ERR_NOINPUT, "%s: cannot be read", folder);
	for (int i = 0; names && i < n; i++)
		names[i] = found[i]->d_name;
	if (names)
		qsort(names, (size_t)n, sizeof(*names), compare_names);
	for (int i = 0; names && !rc && i < n; i++) {
		char *path;

		if (names[i][0] == '.')
			continue;
		path = file_path(e, "%s/%s", folder, names[i]);
		rc = path ? add_file(c, path, e) : e->code;
		free(path);
	}
	for (int i = 0; i < n; i++)
		free(found[i]);
	free(found);
	free(names);
	return rc;
}

static void free_corpus(struct corpus *c)
{
	for (size_t i = 0; i < c->n; i++)
		buf_free(&c->inputs[i]);
	free(c->inputs);
	*c = (struct corpus){ 0 };
}

/* ---- mutations ---- */

struct dice {
	struct rng_key key;
	uint64_t thrown;
};

static size_t below(struct dice *d, size_t n)
{
	return n ? rng_u32(d->key, d->thrown++) % n : 0;
}

/* Replace the tail of b by the tail of another input. */
static void splice(struct dice *d, struct buf *b, const struct buf *other)
{
	size_t from = below(d, other->len + 1);

	buf_truncate(b, below(d, b->len + 1));
	if (other->len)
		buf_add(b, other->data + from, other->len - from);
}

/* Remove or repeat some bytes. */
static void move_bytes(struct dice *d, struct buf *b, struct buf *scratch)
{
	size_t at = below(d, b->len), n = 1 + below(d, MIN(b->len - at, 64));
	size_t from =
		below(d, 2) ? at + n : at; /* continue after them (remove), or at them (repeat) */

	buf_clear(scratch);
	buf_add(scratch, b->data + from, b->len - from);
	buf_truncate(b, from == at ? at + n : at);
	buf_add(b, buf_text(scratch), scratch->len);
}

static void mutate(struct dice *d, const struct corpus *c, struct buf *b, struct buf *scratch)
{
	static const char bytes[] = "\0\xFF\x7F\x80\n\r \t\"\\/.,:;#<>&[]{}=-+019eE\xC2\xE2\xF4";

	for (size_t edits = 1 + below(d, MAX_EDITS); edits; edits--) {
		if (!b->len) {
			buf_add_char(b, bytes[below(d, sizeof(bytes))]);
			continue;
		}
		switch (below(d, 6)) {
		case 0:
			b->data[below(d, b->len)] ^= (char)(1 << below(d, 8));
			break;
		case 1:
			b->data[below(d, b->len)] = bytes[below(d, sizeof(bytes))];
			break;
		case 2:
			b->data[below(d, b->len)] = (char)below(d, 256);
			break;
		case 3:
			buf_truncate(b, below(d, b->len));
			break;
		case 4:
			splice(d, b, &c->inputs[below(d, c->n)]);
			break;
		case 5:
			move_bytes(d, b, scratch);
			break;
		}
	}
	buf_truncate(b, MAX_BYTES);
}

static void run_mutations(const struct fuzz_target *t, const struct corpus *c, int64_t rounds)
{
	struct dice d = { rng_key_make(1, RNG_TEST, (uint32_t)(t - fuzz_targets), 0), 0 };
	struct buf b = { 0 }, scratch = { 0 };
	const struct buf *from;

	for (int64_t i = 0; i < rounds; i++) {
		from = &c->inputs[below(&d, c->n)];
		buf_clear(&b);
		buf_add(&b, buf_text(from), from->len);
		mutate(&d, c, &b, &scratch);
		if (b.failed || scratch.failed)
			abort();
		if (t->repair && b.len && below(&d, 8))
			t->repair((uint8_t *)b.data, b.len);
		run(t, buf_text(&b), b.len);
	}
	buf_free(&b);
	buf_free(&scratch);
}

/* ---- all targets, or one ---- */

static int run_target(const struct fuzz_target *t, int64_t rounds, struct err *e)
{
	const char *top = getenv("srcdir");
	char *folder = file_path(e, "%s/tests/fuzz/corpus/%s", top ? top : ".", t->name);
	struct corpus c = { 0 };
	int rc = folder ? add_folder(&c, folder, e) : e->code;

	if (!rc && !c.n)
		rc = err_set(e, ERR_NOINPUT, "%s: holds no input", folder);
	for (size_t i = 0; !rc && i < c.n; i++)
		run_input(t, &c.inputs[i]);
	if (!rc)
		run_mutations(t, &c, rounds);
	if (rc)
		printf("FAILED   fuzz %s: %s\n", t->name, e->text);
	else
		printf("ok       fuzz %s: %zu inputs, %lld mutations\n", t->name, c.n,
		       (long long)rounds);
	fflush(stdout);
	free_corpus(&c);
	free(folder);
	return rc;
}

static int run_files(const char *name, char **files, int n)
{
	const struct fuzz_target *t = fuzz_find(name);
	struct corpus c = { 0 };
	struct err e = { 0 };

	if (!t) {
		fprintf(stderr, "%s: is no target\n", name);
		return 64;
	}
	for (int i = 0; i < n && !e.code; i++)
		if (!add_file(&c, files[i], &e))
			run_input(t, &c.inputs[c.n - 1]);
	if (e.code)
		fprintf(stderr, "%s\n", e.text);
	free_corpus(&c);
	return err_exit_status(e.code);
}

int main(int argc, char **argv)
{
	static const int fatal[] = { SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT, SIGALRM };
	const char *asked = getenv("FUZZ_ROUNDS");
	int64_t rounds = ROUNDS;
	int passed = 0, failed = 0;

	if (asked && !text_to_int(asked, &rounds))
		return 64;
	for (size_t i = 0; i < ARRAY_LEN(fatal); i++)
		signal(fatal[i], leave_input);
	if (argc > 1)
		return run_files(argv[1], argv + 2, argc - 2);
	for (size_t i = 0; i < n_fuzz_targets; i++) {
		struct err e = { 0 };

		if (run_target(&fuzz_targets[i], rounds, &e))
			failed++;
		else
			passed++;
	}
	printf("%d passed, %d failed, 0 skipped\n", passed, failed);
	return failed ? 1 : 0;
}
