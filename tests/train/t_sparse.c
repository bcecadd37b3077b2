/*
 * t_sparse.c - sparse files of terabytes in the place of small ones: refused, or their holes are skipped,
 * without reading them. A reader that reads them uses up its processor time and is killed.
 */
#include <fcntl.h>
#include <sys/resource.h>

#include "tests/train/small_run.h"
#include "train/ckpt/ckpt_internal.h"

#define TERABYTE ((off_t)1 << 40)

static void limit_processor_time(void)
{
	const struct rlimit seconds = { 20, 20 };

	check(!setrlimit(RLIMIT_CPU, &seconds));
}

/* False: this file system has no files of that size. */
static bool enlarge(const char *path)
{
	const int fd = open(path, O_RDWR | O_CREAT, 0600);
	const bool done = fd >= 0 && !ftruncate(fd, TERABYTE);

	close(fd);
	if (!done)
		test_skip("no sparse files here");
	return done;
}

TEST(sparse_file_is_refused_by_its_size)
{
	struct buf b = { 0 };
	struct err e = { 0 };

	limit_processor_time();
	if (!enlarge(at("big")))
		return;
	check_err(file_read_all(at("big"), (size_t)1 << 30, &b, &e), ERR_DATA);
	check_int(b.len, 0);
	buf_free(&b);
}

TEST(sparse_hole_of_a_journal_is_skipped)
{
	static const char first[] = "{\"v\":1,\"kind\":\"train\",\"t\":1,\"step\":1}\n",
			  last[] = "\n{\"v\":1,\"kind\":\"train\",\"t\":2,\"step\":2}\n";
	const struct json *record;
	struct journal_reader *r;
	struct err e = { 0 };
	int fd, steps = 0;

	limit_processor_time();
	check_err(file_write_all(at("journal.jsonl"), first, strlen(first), &e), 0);
	if (!enlarge(at("journal.jsonl")))
		return;
	r = journal_reader_open(at("journal.jsonl"), &e);
	check_int(journal_next(r, &record, &e), 1);
	check_int(journal_next(r, &record, &e), 0);
	/* behind the hole it goes on */
	fd = open(at("journal.jsonl"), O_WRONLY | O_APPEND);
	check_int(write(fd, last, strlen(last)), (long long)strlen(last));
	close(fd);
	while (journal_next(r, &record, &e) > 0)
		steps += json_integer(json_get(record, "step"), -1) == 2;
	check_int(steps, 1);
	journal_reader_free(r);
}

/* The vocabulary of a run is copied from the corpus again; that of a corpus is no vocabulary of any model. */
TEST(sparse_vocabulary_is_not_hashed)
{
	static const struct trainer_signals never;
	struct err e = { 0 };
	char hex[HASH_SHA256_HEX];
	struct conf c;
	int64_t bytes;

	if (!make_corpus() || !make_conf(&c, "r"))
		return;
	set(&c, "steps", "10");
	if (!write_recipe(&c, "r") || !trains(&c))
		return;
	limit_processor_time();
	bytes = file_size(at("runs/r/vocab.tsv"));
	if (enlarge(at("runs/r/vocab.tsv"))) {
		set(&c, "steps", "20");
		trains(&c);
		check_int(file_size(at("runs/r/vocab.tsv")), bytes);
		check(enlarge(at("corpora/c/vocab.tsv")));
		set(&c, "steps", "30");
		check_err(train(&c, &never, &e), ERR_DATA);
		check_err(hash_file_within(at("corpora/c/vocab.tsv"), HASH_PIECES_LIMIT, hex, &e),
			  ERR_DATA);
	}
	conf_free(&c);
}

TEST(sparse_file_of_a_checkpoint_is_damage)
{
	static const char *const names[] = { "recipe.ini", "state.json", "vocab.tsv",
					     "model.safetensors" };
	struct err e = { 0 };
	struct conf c;
	char path[600];

	if (!make_corpus() || !make_conf(&c, "r"))
		return;
	set(&c, "steps", "10");
	if (!write_recipe(&c, "r") || !trains(&c))
		return;
	limit_processor_time();
	check_err(ckpt_verify(at("runs/r/checkpoints/10"), CKPT_WHOLE, &e), 0);
	for (size_t i = 0; i < ARRAY_LEN(names); i++) {
		int64_t bytes;

		snprintf(path, sizeof(path), "%s/%s", at("runs/r/checkpoints/10"), names[i]);
		bytes = file_size(path);
		if (!enlarge(path))
			break;
		check_err(ckpt_verify(at("runs/r/checkpoints/10"), CKPT_WHOLE, &e), ERR_DATA);
		check(strstr(e.text, names[i]) != NULL);
		check(bytes > 0 && !truncate(path, bytes));
		check_err(ckpt_verify(at("runs/r/checkpoints/10"), CKPT_WHOLE, &e), 0);
	}
	conf_free(&c);
}
