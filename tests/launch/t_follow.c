/* t_follow.c - addresses of watched workspaces, and the lines from which a copy is made */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "share/base/file.h"
#include "tests/test.h"
#include "train/launch/follow/follow_address.h"
#include "train/launch/follow/follow_copy.h"

TEST(follow_addresses)
{
	static const struct {
		const char *text, *host;
		int port;
		const char *folder, *run;
	} good[] = {
		{ "ssh://h/w", "h", 0, "/w", "" },
		{ "ssh://me@h:2222/data/w/", "me@h", 2222, "/data/w", "" },
		{ "ssh://h/w/runs/demo", "h", 0, "/w", "demo" },
		{ "ssh://h/w/runs/demo//", "h", 0, "/w", "demo" },
		{ "ssh://h/runs/demo", "h", 0, "/", "demo" },
		{ "ssh://h/w/notruns/demo", "h", 0, "/w/notruns/demo", "" },
		{ "ssh://h/~", "h", 0, ".", "" },
		{ "ssh://h/~/w", "h", 0, "w", "" },
		{ "ssh://h/~/runs/demo", "h", 0, ".", "demo" },
		{ "ssh://h/~/w/runs/demo", "h", 0, "w", "demo" },
		{ "ssh://[fe80::1%eth0]/w", "fe80::1%eth0", 0, "/w", "" },
		{ "ssh://[::1]:22/w", "::1", 22, "/w", "" },
		{ "ssh://h/a b/w", "h", 0, "/a b/w", "" },
	};
	static const char *const bad[] = { "",
					   "ssh://",
					   "ssh:///w",
					   "ssh://h",
					   "http://h/w",
					   "ssh://-oProxyCommand=x/w",
					   "ssh://h x/w",
					   "ssh://h;x/w",
					   "ssh://h:0/w",
					   "ssh://h:65536/w",
					   "ssh://h:99999999999999999999/w",
					   "ssh://@h/w",
					   "ssh://h/w/runs/-x",
					   "ssh://h/w/runs/a b" };
	struct follow_address a;
	struct err e;

	for (size_t i = 0; i < ARRAY_LEN(good); i++) {
		e = (struct err){ 0 };
		check_err(follow_address_parse(&a, good[i].text, &e), 0);
		check_str(a.host.name, good[i].host);
		check_int(a.host.port, good[i].port);
		check_str(a.folder, good[i].folder);
		check_str(a.run, good[i].run);
		follow_address_free(&a);
	}
	for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
		e = (struct err){ 0 };
		check_err(follow_address_parse(&a, bad[i], &e), ERR_USAGE);
		follow_address_free(&a);
	}
}

/* One look of these lines; returns how many requests follow. */
static int look(struct follow_copy *c, const char *const *lines, struct copy_request *last)
{
	struct copy_request r;
	struct err e = { 0 };
	int n = 0;

	for (; *lines; lines++)
		check_err(follow_copy_add_line(c, *lines, &e), 0);
	follow_copy_end_look(c);
	for (; follow_copy_next_request(c, &r); n++)
		*last = r;
	return n;
}

#define FILE_LINE(inode, bytes, name) inode " -rw-r--r-- 1 0 0 " bytes " Nov 22 23:59 " name

TEST(follow_copies_what_is_new)
{
	static const char *const first[] = { FILE_LINE("7", "5", "runs/a/journal.jsonl"),
					     "123 9 runs/a/state.json", "alive runs/a", NULL },
				 *const longer[] = { FILE_LINE("7", "8", "runs/a/journal.jsonl"),
						     "123 9 runs/a/state.json", NULL },
				 *const other[] = { FILE_LINE("8", "8", "runs/a/journal.jsonl"),
						    "124 9 runs/a/state.json", NULL },
				 *const none[] = { "123 9 runs/../state.json",
						   "123 9 runs/.hidden/state.json",
						   "123 9 runs/a/b/state.json",
						   "123 9 state.json",
						   "123 -9 runs/a/state.json",
						   "123 99999999999 runs/a/state.json",
						   "x 9 runs/a/state.json",
						   "123 9 runs/a/checkpoints",
						   FILE_LINE("7", "-1", "runs/a/journal.jsonl"),
						   FILE_LINE("7", "5", "corpora/a/journal.jsonl"),
						   FILE_LINE("7", "5", "runs/a/state.json"),
						   "7 lrwxrwxrwx 1 0 0 5 Nov 22 23:59 "
						   "runs/a/journal.jsonl",
						   "alive runs/../a",
						   "alive a",
						   "",
						   "same",
						   NULL };
	struct err e = { 0 };
	char *folder = file_path(&e, "%s/copy", test_folder());
	char *journal = file_path(&e, "%s/runs/x.a/journal.jsonl", folder);
	struct follow_copy *c = follow_copy_new(folder, "x.", &e);
	struct copy_request r;
	bool more;

	check_int(look(c, none, &r), 0);
	check_int(look(c, first, &r), 2);
	check_str(follow_copy_name(r.file), "runs/a/state.json");
	check_err(follow_copy_add_bytes(c, &r, "{\"state\":\"running\"}", 19, &more, &e), 0);
	check_int(look(c, first, &r), 1);
	check_int(r.offset, 0);
	check_int(r.count, 5);
	check_err(follow_copy_add_bytes(c, &r, "1234", 4, &more, &e), 0);
	check(more);
	check_int(r.offset, 4);
	check_err(follow_copy_add_bytes(c, &r, "5", 1, &more, &e), 0);
	check(!more);
	check_int(look(c, longer, &r), 1);
	check_int(r.offset, 5);
	check_err(follow_copy_add_bytes(c, &r, "678", 3, &more, &e), 0);
	check_int(look(c, longer, &r), 0);
	check_int(file_size(journal), 8);
	check_int(look(c, other, &r), 2); /* another file of the same size, another state */
	check_int(file_size(journal), -1);
	check_err(follow_copy_end_round(c, true, &e), 0);
	check_int(look(c, none, &r), 2);
	follow_copy_begin(c);
	check_int(look(c, none, &r), 0);
	follow_copy_free(c);
	free(journal);
	free(folder);
}
