/* t_synced.c - what a power failure must not take from a run: its folder's name, its journal at a checkpoint */
#include <sys/syscall.h>

#include "tests/train/small_run.h"
#include "train/launch/run/rundir.h"

static char synced[64][300]; /* paths, in the order of the calls */
static size_t n_synced;

/* Takes the place of libc's in this program. */
int fsync(int fd)
{
	char link[40];
	ssize_t n;

	if (n_synced < ARRAY_LEN(synced)) {
		snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
		n = readlink(link, synced[n_synced], sizeof(synced[0]) - 1);
		if (n > 0)
			synced[n_synced++][n] = 0;
	}
	return (int)syscall(SYS_fsync, fd);
}

static bool was_synced(const char *path)
{
	for (size_t i = 0; i < n_synced; i++)
		if (!strcmp(synced[i], path))
			return true;
	test_fail(__FILE__, __LINE__, "no fsync of %s", path);
	return false;
}

TEST(synced_folder_of_a_new_run)
{
	struct rundir r;
	struct err e = { 0 };

	check_err(rundir_open(&r, at("w"), "new", &e), 0);
	check(was_synced(at("w/runs")));
	check(was_synced(at("w")));
	rundir_close(&r);
}

TEST(synced_journal_at_a_checkpoint)
{
	struct conf c;

	if (!make_corpus() || !make_conf(&c, "r"))
		return;
	set(&c, "steps", "10");
	check(write_recipe(&c, "r") && trains(&c));
	check(was_synced(at("runs/r/journal.jsonl")));
	conf_free(&c);
}
