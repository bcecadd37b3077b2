/* t_file.c - tests of file.h: what other users plant in a folder, permissions, leftovers */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <unistd.h>

#include "share/base/file.h"
#include "share/base/lines.h"
#include "share/format/json.h"
#include "share/workspace/journal.h"

#include "tests/test.h"

enum { OTHER_USER = 65534 };

/* A path in the folder of the test; four buffers in turn. */
static const char *file_at(const char *name)
{
	static char paths[4][300];
	static int next;
	char *path = paths[next++ % 4];

	snprintf(path, sizeof(paths[0]), "%s/%s", test_folder(), name);
	return path;
}

static void put_file(const char *name, const char *text, mode_t mode)
{
	struct err e = { 0 };

	check_int(file_write_all(file_at(name), text, strlen(text), &e), 0);
	check_int(chmod(file_at(name), mode), 0);
}

static void holds_text(const char *name, const char *text)
{
	struct buf b = { 0 };
	struct err e = { 0 };

	check_int(file_read_all(file_at(name), 0, &b, &e), 0);
	check_str(buf_text(&b), text);
	buf_free(&b);
}

static mode_t mode_of(const char *name)
{
	struct stat s;

	return lstat(file_at(name), &s) ? 0 : s.st_mode;
}

static int write_new(const char *name, struct err *e)
{
	*e = (struct err){ 0 };
	return file_write_all(file_at(name), "new", 3, e);
}

static int count_entries(void)
{
	char command[400], text[20] = "";
	FILE *f;

	snprintf(command, sizeof(command), "ls -A '%s' | wc -l", test_folder());
	f = popen(command, "r");
	if (!f || !fgets(text, sizeof(text), f))
		text[0] = 0;
	if (f)
		pclose(f);
	return (int)strtol(text, NULL, 10);
}

TEST(outfile_keeps_permissions)
{
	struct err e = { 0 };
	struct buf script = { 0 };
	const mode_t before = umask(022);

	put_file("secret", "old", 0600);
	check_int(write_new("secret", &e), 0);
	check_int(mode_of("secret") & 07777, 0600);
	put_file("team", "old", 0664);
	check_int(write_new("team", &e), 0);
	check_int(mode_of("team") & 07777, 0664);
	put_file("root", "old", 04755);
	check_int(write_new("root", &e), 0);
	check_int(mode_of("root") & 07777, 0755); /* new bytes are not setuid */
	check_int(write_new("fresh", &e), 0);
	check_int(mode_of("fresh") & 07777, 0644);
	umask(077);
	check_int(write_new("private", &e), 0);
	check_int(mode_of("private") & 07777, 0600);
	buf_add_str(&script, "#!/bin/sh\n");
	check_int(file_write_script(file_at("job"), &script, &e), 0);
	check_int(mode_of("job") & 07777, 0700);
	check_int(file_write_script(file_at("team"), &script, &e), 0);
	check_int(mode_of("team") & 07777, 0775);
	buf_free(&script);
	umask(before);
	check_int(count_entries(), 6); /* no temporary is left */
}

TEST(outfile_takes_no_permission_of_others)
{
	const mode_t before = umask(022);
	struct err e;

	if (geteuid()) {
		test_skip("only root can make files of another user");
		umask(before);
		return;
	}
	put_file("theirs", "old", 0666);
	check_int(chown(file_at("theirs"), OTHER_USER, OTHER_USER), 0);
	check_int(write_new("theirs", &e), 0);
	check_int(mode_of("theirs") & 07777, 0644);
	put_file("closed", "old", 0);
	check_int(chown(file_at("closed"), OTHER_USER, OTHER_USER), 0);
	check_int(write_new("closed", &e), 0);
	check_int(mode_of("closed") & 07777, 0600);
	umask(before);
}

TEST(outfile_follows_own_links)
{
	struct err e;

	put_file("target", "old", 0600);
	check_int(symlink("target", file_at("link")), 0);
	check_int(symlink(file_at("link"), file_at("second")), 0);
	check_int(write_new("second", &e), 0);
	holds_text("target", "new");
	check_int(mode_of("target") & 07777, 0600);
	check(S_ISLNK(mode_of("link")) && S_ISLNK(mode_of("second")));
	/* a link to a file that is still missing, in another folder */
	check_int(mkdir(file_at("folder"), 0777), 0);
	check_int(symlink("folder/later", file_at("ahead")), 0);
	check_int(write_new("ahead", &e), 0);
	holds_text("folder/later", "new");
	check_int(symlink("loop", file_at("loop")), 0);
	check_err(write_new("loop", &e), ERR_CANTCREAT);
	check(strstr(e.text, "more than 8 symbolic links") != NULL);
	check_int(symlink("folder", file_at("to_folder")), 0);
	check_err(write_new("to_folder", &e), ERR_CANTCREAT);
	check_err(write_new("folder/", &e), ERR_CANTCREAT);
	check_int(symlink("/dev/null", file_at("null")), 0);
	check_int(write_new("null", &e), 0);
	check(S_ISLNK(mode_of("null")));
}

/* What the neighbours of a shared folder plant there. */
TEST(outfile_resists_planted_links)
{
	char name[60];
	struct outfile o;
	struct err e = { 0 };

	put_file("victim", "precious", 0600);
	/* the names that temporary files once had */
	snprintf(name, sizeof(name), "out.%ld.tmp", (long)getpid());
	check_int(symlink("victim", file_at(name)), 0);
	check_int(outfile_open(&o, file_at("out"), &e), 0);
	check(strlen(o.temporary) == strlen("out.0123456789abcdef.tmp"));
	check(mode_of(o.temporary) != 0);
	check_int(outfile_commit(&o, &e), 0);
	holds_text("victim", "precious");
	/* a hard link: its name gets the new file, the other name keeps the old one */
	check_int(link(file_at("victim"), file_at("hard")), 0);
	check_int(write_new("hard", &e), 0);
	holds_text("victim", "precious");
	if (geteuid()) {
		test_skip("only root can make links of another user");
		return;
	}
	check_int(symlink("victim", file_at("planted")), 0);
	check_int(lchown(file_at("planted"), OTHER_USER, OTHER_USER), 0);
	check_err(write_new("planted", &e), ERR_PERM);
	check(strstr(e.text, "a symbolic link that another user (number 65534)") != NULL);
	check_int(symlink("planted", file_at("indirect")), 0);
	check_err(write_new("indirect", &e), ERR_PERM);
	holds_text("victim", "precious");
	check_int(mkfifo(file_at("pipe"), 0666), 0);
	check_int(chown(file_at("pipe"), OTHER_USER, OTHER_USER), 0);
	alarm(20);
	check_err(write_new("pipe", &e), ERR_PERM);
	alarm(0);
}

/* Who can write in a folder can replace a temporary there, too. */
TEST(outfile_notices_a_replaced_temporary)
{
	struct outfile o;
	struct err e = { 0 };

	put_file("victim", "precious", 0600);
	check_int(outfile_open(&o, file_at("out"), &e), 0);
	check_int(unlink(file_at(o.temporary)), 0);
	check_err(outfile_commit(&o, &e), ERR_CANTCREAT);
	check_int(outfile_open(&o, file_at("out"), &e), 0);
	fputs("text", o.stream);
	check_int(unlink(file_at(o.temporary)), 0);
	check_int(symlink("victim", file_at(o.temporary)), 0);
	check_err(outfile_commit(&o, &e), ERR_CANTCREAT);
	check(strstr(e.text, "another user has replaced it") != NULL);
	holds_text("victim", "precious");
}

/* A link to a folder counts as under the kernel's fs.protected_symlinks. */
TEST(outfile_in_a_planted_folder)
{
	struct err e = { 0 };

	check_int(mkdir(file_at("elsewhere"), 0700), 0);
	check_int(mkdir(file_at("shared"), 0700), 0);
	check_int(symlink("../elsewhere", file_at("shared/link")), 0);
	check_int(chmod(file_at("shared"), 0777), 0);
	check_int(write_new("shared/link//one", &e), 0);
	check(file_exists(file_at("elsewhere/one")));
	if (geteuid()) {
		test_skip("only root can make links of another user");
		return;
	}
	check_int(lchown(file_at("shared/link"), OTHER_USER, OTHER_USER), 0);
	check_err(write_new("shared/link/two", &e), ERR_PERM);
	check_err(write_new("shared/link//two", &e), ERR_PERM);
	check(strstr(e.text, "its folder is a symbolic link that another user has made") != NULL);
	check_int(symlink("shared/link/two", file_at("indirect")), 0);
	check_err(write_new("indirect", &e), ERR_PERM);
	check(!file_exists(file_at("elsewhere/two")));
	/* what the folder's owner has made, and what stands in a folder of few, counts */
	check_int(chown(file_at("shared"), OTHER_USER, OTHER_USER), 0);
	check_int(write_new("shared/link/three", &e), 0);
	check_int(chown(file_at("shared"), 0, 0), 0);
	check_int(chmod(file_at("shared"), 0775), 0);
	check_int(write_new("shared/link/four", &e), 0);
}

TEST(outfolder_is_new)
{
	struct outfolder o;
	struct err e = { 0 };
	char *first, name[60];

	check_int(mkdir(file_at("elsewhere"), 0777), 0);
	snprintf(name, sizeof(name), "model.%ld.tmp", (long)getpid());
	check_int(symlink("elsewhere", file_at(name)), 0);
	check_int(outfolder_open(&o, file_at("model//"), NULL, &e), 0);
	first = strdup(o.temporary);
	check_int(file_write_all(file_at("elsewhere/x"), "x", 1, &e), 0);
	check(file_is_folder(o.temporary) && strcmp(o.temporary, file_at(name)) != 0);
	check_int(outfolder_commit(&o, &e), 0);
	check(file_is_folder(file_at("model")) && !file_exists(first));
	free(first);
	/* an empty folder is replaced, another one stays */
	check_int(outfolder_open(&o, file_at("model"), file_at("deep/er/beside"), &e), 0);
	check_int(outfolder_commit(&o, &e), 0);
	put_file("model/file", "old", 0644);
	check_int(outfolder_open(&o, file_at("model"), NULL, &e), 0);
	first = strdup(o.temporary);
	check_err(outfolder_commit(&o, &e), ERR_CANTCREAT);
	check(strstr(e.text, "already exists") && !file_exists(first));
	holds_text("model/file", "old");
	outfolder_abandon(&o);
	free(first);
}

/* What stands in the place of a temporary folder: a link, or a folder which has files. */
TEST(outfolder_notices_a_replaced_folder)
{
	struct outfolder o;
	struct err e = { 0 };
	char *inside;

	for (int by_link = 1; by_link >= 0; by_link--) {
		check_int(file_make_folders(file_at("elsewhere/deep"), &e), 0);
		put_file("elsewhere/file", "precious", 0644);
		check_int(outfolder_open(&o, file_at("model"), NULL, &e), 0);
		check_int(outfolder_check(&o, &e), 0);
		check_int(rename(o.temporary, file_at("taken")), 0);
		check_int(by_link ? symlink("elsewhere", o.temporary)
				  : rename(file_at("elsewhere"), o.temporary),
			  0);
		inside = file_path(&e, "%s/file", o.temporary);
		check_err(file_write_all(inside, "x", 1, &e), by_link ? ERR_PERM : ERR_CANTCREAT);
		free(inside);
		inside = file_path(&e, "%s/deep/new", o.temporary);
		check_err(file_make_folders(inside, &e), by_link ? ERR_PERM : 0);
		check_err(file_make_link(inside, "0", &e), by_link ? ERR_PERM : ERR_CANTCREAT);
		free(inside);
		check_err(outfolder_check(&o, &e), ERR_CANTCREAT);
		inside = strdup(o.temporary);
		check_err(outfolder_commit(&o, &e), ERR_CANTCREAT);
		check(strstr(e.text, "another user has replaced the folder") != NULL);
		check(!file_exists(file_at("model")));
		check_int(by_link ? unlink(inside) : rename(inside, file_at("elsewhere")), 0);
		free(inside);
		holds_text("elsewhere/file", "precious");
		check_int(rmdir(file_at("taken")), 0);
	}
}

static uid_t stranger; /* 0: none */

/* Takes the place of libc's in this program: a stranger puts his own empty folder there at once. */
int mkdirat(int parent, const char *name, mode_t mode)
{
	const int failed = (int)syscall(SYS_mkdirat, parent, name, mode);

	if (!failed && stranger)
		check_int(fchownat(parent, name, stranger, (gid_t)-1, 0), 0);
	return failed;
}

TEST(outfolder_of_a_stranger)
{
	struct outfolder o;
	struct err e = { 0 };

	if (geteuid() != 0) {
		test_skip("only root can give a folder away");
		return;
	}
	stranger = 65534;
	check_err(outfolder_open(&o, file_at("model"), NULL, &e), ERR_CANTCREAT);
	stranger = 0;
	check(strstr(e.text, "another user has replaced the folder") != NULL);
	check_int(outfolder_open(&o, file_at("model"), NULL, &e), 0);
	check_int(outfolder_commit(&o, &e), 0);
}

TEST(outfolder_is_exchanged)
{
	struct outfolder o;
	struct err e = { 0 };
	bool is_done;
	char *inside;

	for (int there = 0; there <= 1; there++) {
		check_int(outfolder_open(&o, file_at("step"), NULL, &e), 0);
		inside = file_path(&e, "%s/new", o.temporary);
		check_int(file_write_all(inside, "new", 3, &e), 0);
		check_int(outfolder_exchange(&o, &is_done, &e), 0);
		if (!there)
			check(!is_done);
		if (!is_done) { /* nothing is there, or the file system cannot do it */
			check_int(file_remove_tree(file_at("step"), &e), 0);
			check_int(outfolder_commit(&o, &e), 0);
		}
		outfolder_abandon(&o);
		check(!file_exists(inside));
		free(inside);
		holds_text("step/new", "new");
		if (there)
			check(!file_exists(file_at("step/old")));
		put_file("step/old", "old", 0600);
	}
}

/* Links in a temporary folder are never followed, whoever made them. */
TEST(outfolder_has_no_links)
{
	struct outfolder o;
	struct err e = { 0 };
	char *path;

	put_file("victim", "precious", 0600);
	check_int(mkdir(file_at("elsewhere"), 0700), 0);
	check_int(outfolder_open(&o, file_at("model"), NULL, &e), 0);
	path = file_path(&e, "%s/file", o.temporary);
	check_int(symlink("../victim", path), 0);
	check_err(file_write_all(path, "x", 1, &e), ERR_CANTCREAT);
	check_int(unlink(path), 0);
	check_int(file_write_all(path, "x", 1, &e), 0);
	check_err(file_write_all(path, "y", 1, &e), ERR_CANTCREAT);
	free(path);
	path = file_path(&e, "%s/folder", o.temporary);
	check_int(symlink("../elsewhere", path), 0);
	free(path);
	path = file_path(&e, "%s/folder/file", o.temporary);
	check_err(file_write_all(path, "x", 1, &e), ERR_PERM);
	free(path);
	outfolder_abandon(&o);
	holds_text("victim", "precious");
	check(!file_exists(file_at("elsewhere/file")) && file_exists(file_at("elsewhere")));
}

TEST(folders_behind_planted_links)
{
	struct err e = { 0 };
	int fd;

	put_file("precious", "precious", 0600);
	check_int(file_make_folders(file_at("elsewhere/inner"), &e), 0);
	check_int(file_make_folders(file_at("shared//own/"), &e), 0);
	check_err(file_make_folders("", &e), ERR_CANTCREAT);
	check_int(chmod(file_at("shared"), 0777), 0);
	check_int(symlink("../elsewhere", file_at("shared/link")), 0);
	check_int(file_make_folders(file_at("shared/link/two/three"), &e), 0);
	check(file_is_folder(file_at("elsewhere/two/three")));
	/* a link is removed, not what it leads to */
	check_int(symlink("../elsewhere", file_at("shared/own/link")), 0);
	check_int(file_remove_tree(file_at("shared/own/"), &e), 0);
	check_int(file_remove_tree(file_at("shared/own/none"), &e), 0);
	check(!file_exists(file_at("shared/own")) && file_is_folder(file_at("elsewhere/two")));
	if (geteuid()) {
		test_skip("only root can make links of another user");
		return;
	}
	check_int(lchown(file_at("shared/link"), OTHER_USER, OTHER_USER), 0);
	check_err(file_make_folders(file_at("shared/link/four"), &e), ERR_PERM);
	check_err(file_open_in_place(&fd, file_at("shared/link/lock"), O_RDWR, &e), ERR_PERM);
	check_err(file_write_all(file_at("shared/link/inner/file"), "x", 1, &e), ERR_PERM);
	check(file_remove_tree(file_at("shared/link/inner"), &e) != 0);
	check(file_is_folder(file_at("elsewhere/inner")));
}

TEST(file_in_place_is_its_own)
{
	struct err e = { 0 };
	int fd;

	put_file("victim", "precious", 0600);
	check_int(symlink("victim", file_at("link")), 0);
	check_err(file_open_in_place(&fd, file_at("link"), O_RDWR, &e), ERR_CANTCREAT);
	check(strstr(e.text, "symbolic link") != NULL);
	check_int(link(file_at("victim"), file_at("hard")), 0);
	check_err(file_open_in_place(&fd, file_at("hard"), O_WRONLY | O_APPEND, &e), ERR_CANTCREAT);
	check(strstr(e.text, "2 names (hard links)") != NULL);
	check(journal_open(file_at("hard"), &e) == NULL);
	check_int(mkfifo(file_at("pipe"), 0600), 0);
	check_err(file_open_in_place(&fd, file_at("pipe"), O_RDWR, &e), ERR_CANTCREAT);
	check_err(file_open_in_place(&fd, file_at("no/folder"), O_RDWR, &e), ERR_CANTCREAT);
	check_int(fd, -1);
	check_int(file_open_in_place(&fd, file_at("new"), O_WRONLY | O_APPEND, &e), 0);
	check_int(fcntl(fd, F_GETFD), FD_CLOEXEC);
	close(fd);
	holds_text("victim", "precious");
}

/* A whole file is written where a program reads the pipe; nothing waits for such a program. */
TEST(file_write_does_not_wait_for_a_reader)
{
	struct buf b = { 0 };
	struct err e = { 0 };
	char text[8] = "";
	int fd;

	check_int(mkfifo(file_at("pipe"), 0600), 0);
	buf_add_str(&b, "text");
	alarm(20);
	check_err(file_write_all(file_at("pipe"), "text", 4, &e), ERR_CANTCREAT);
	check(strstr(e.text, "is a pipe that no program reads") != NULL);
	check_err(file_write_volatile(file_at("pipe"), &b, &e), ERR_CANTCREAT);
	check_err(file_write_script(file_at("pipe"), &b, &e), ERR_CANTCREAT);
	fd = open(file_at("pipe"), O_RDONLY | O_NONBLOCK);
	check(fd >= 0);
	check_int(file_write_all(file_at("pipe"), "text", 4, &e), 0);
	check_int(read(fd, text, sizeof(text)), 4);
	check_str(text, "text");
	close(fd);
	alarm(0);
	buf_free(&b);
}

TEST(file_reads_regular_files_only)
{
	static const struct {
		const char *path, *words;
	} cases[] = { { "/dev/zero", "is a device; a regular file was expected" },
		      { "pipe", "is a pipe; a regular file was expected" },
		      { "link", "is a pipe; a regular file was expected" },
		      { ".", "is a folder; a regular file was expected" },
		      { "missing", "cannot be read: No such file" } };
	struct buf b = { 0 };
	struct lines l;
	struct map m;
	char line[10];

	check_int(mkfifo(file_at("pipe"), 0600), 0);
	check_int(symlink("pipe", file_at("link")), 0);
	alarm(20); /* nothing waits */
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		const char *path = *cases[i].path == '/' ? cases[i].path : file_at(cases[i].path);
		struct err e = { 0 };

		check_err(file_read_all(path, 100, &b, &e), ERR_NOINPUT);
		check(strstr(e.text, cases[i].words) != NULL);
		check_err(map_open(&m, path, &e), ERR_NOINPUT);
		check_err(lines_open_file(&l, path, &e), ERR_NOINPUT);
		check(!file_first_line(path, line, sizeof(line)));
	}
	alarm(0);
	check_int((int64_t)b.len, 0);
	buf_free(&b);
}

/* A pipe that the user made for this process, as <(command) of a shell does. */
TEST(json_optional_file)
{
	struct json *root = (void *)1;
	struct err e = { 0 };
	struct rlimit before;

	check_int(json_read_optional(&root, file_at("missing.json"), 100, &e), 0);
	check(!root);
	check(!file_write_all(file_at("one.json"), "{\"v\":7}", 7, &e));
	check_int(json_read_optional(&root, file_at("one.json"), 100, &e), 0);
	check_int(json_integer(json_get(root, "v"), 0), 7);
	json_free(root);
	check_int(json_read_optional(&root, file_at("one.json"), 3, &e), 0); /* too large */
	check(!root);
	check(!file_write_all(file_at("half.json"), "{\"v\":", 5, &e));
	check_int(json_read_optional(&root, file_at("half.json"), 100, &e), 0);
	check(!root);
	/* no descriptor is free: this does not mean that the file is missing */
	check(!getrlimit(RLIMIT_NOFILE, &before));
	check(!setrlimit(RLIMIT_NOFILE, &(struct rlimit){ 0, before.rlim_max }));
	check_int(json_read_optional(&root, file_at("one.json"), 100, &e), ERR_NOMEM);
	check(!root && strstr(e.text, "one.json"));
	check(!setrlimit(RLIMIT_NOFILE, &before));
}

TEST(file_reads_own_streams)
{
	struct buf b = { 0 };
	struct err e = { 0 };
	char path[40];
	int ends[2];

	check_int(pipe(ends), 0);
	check_int(write(ends[1], "text", 4), 4);
	close(ends[1]);
	snprintf(path, sizeof(path), "/dev/fd/%d", ends[0]);
	check_int(file_read_all(path, 0, &b, &e), 0);
	check_str(buf_text(&b), "text");
	buf_free(&b);
	close(ends[0]);
}

/* Of the address sanitizer; NULL in builds without it. */
int __asan_address_is_poisoned(const volatile void *address) __attribute__((weak));

TEST(map_hides_no_read_behind_its_end)
{
	struct err e = { 0 };
	struct map m;

	if (!__asan_address_is_poisoned) {
		test_skip("built without the address sanitizer");
		return;
	}
	put_file("five", "bytes", 0600);
	check_err(map_open(&m, file_at("five"), &e), 0);
	check(m.len == 5 && !memcmp(m.data, "bytes", 5));
	check(__asan_address_is_poisoned((const char *)m.data + 5));
	map_close(&m);
}

static void make_old(const char *name)
{
	struct timeval old[2] = { { .tv_sec = 1000000 }, { .tv_sec = 1000000 } };

	check_int(utimes(file_at(name), old), 0);
}

TEST(file_leftovers_go_after_a_day)
{
	struct err e = { 0 };

	put_file("out.0123456789abcdef.tmp", "half", 0600);
	put_file("out.0123456789abcdee.tmp", "half", 0600);
	put_file("out.0123456789abcdeX.tmp", "mine", 0600);
	put_file("notes.tmp", "mine", 0600);
	check_int(file_make_folders(file_at("import.00000000000000ff.tmp"), &e), 0);
	put_file("import.00000000000000ff.tmp/model", "half", 0600);
	make_old("out.0123456789abcdef.tmp");
	make_old("out.0123456789abcdeX.tmp");
	make_old("notes.tmp");
	make_old("import.00000000000000ff.tmp");
	file_remove_leftovers(test_folder());
	check(!file_exists(file_at("out.0123456789abcdef.tmp")));
	check(!file_exists(file_at("import.00000000000000ff.tmp")));
	check_int(count_entries(), 3);
	file_remove_leftovers(file_at("nothing"));
}

TEST(outfile_of_a_long_name)
{
	char name[NAME_MAX + 1];
	struct err e;

	memset(name, 'n', NAME_MAX);
	name[NAME_MAX] = 0;
	check_int(write_new(name, &e), 0);
	holds_text(name, "new");
}
