/* follow.c - target for what the host of "watch ssh://…" answers; see fuzz.h */
#include <stdlib.h>
#include <string.h>

#include "share/base/file.h"
#include "tests/fuzz/fuzz.h"
#include "train/launch/follow/follow_copy.h"

static char folder[FUZZ_FOLDER_BYTES];

static void remove_follow_folder(void)
{
	struct err ignored;

	file_remove_tree(folder, &ignored);
}

/* Give each request a part of the bytes, and further ones while it asks for more. */
static void answer_requests(struct follow_copy *c, const char *bytes, size_t n)
{
	struct copy_request r;
	struct err e = { 0 };
	size_t part = 1;

	while (follow_copy_next_request(c, &r)) {
		bool more = true;

		for (int i = 0; more && i < 4; i++) {
			const char *name = follow_copy_name(r.file);
			size_t most = n < part ? n : part;

			property(!strncmp(name, "runs/", 5) || !strncmp(name, "corpora/", 8));
			property(!strstr(name, "/../"));
			property(r.offset >= 0 && r.count > 0);
			if ((int64_t)most > r.count)
				most = (size_t)r.count;
			property(!follow_copy_add_bytes(c, &r, bytes, most, &more, &e));
			part = 2 * part + 1;
		}
	}
}

/* An input: the lines of two looks, each ended by a line ".", then the bytes that answer the requests. */
FUZZ(follow)
{
	char *text = malloc(n + 1), *rest = text, *line;
	struct err e = { 0 };
	struct follow_copy *c;

	if (!text)
		return 0;
	if (n)
		memcpy(text, data, n);
	text[n] = 0;
	if (!*folder) {
		fuzz_make_folder(folder);
		atexit(remove_follow_folder);
	}
	c = follow_copy_new(folder, "", &e);
	property(c);
	follow_copy_begin(c);
	for (int look = 0; look < 2; look++) {
		while ((line = strsep(&rest, "\n")) && strcmp(line, ".") != 0)
			property(!follow_copy_add_line(c, line, &e));
		follow_copy_end_look(c);
		answer_requests(c, rest ? rest : "", rest ? strlen(rest) : 0);
		property(!follow_copy_end_round(c, true, &e));
	}
	property(!follow_copy_lose_contact(c, &e));
	follow_copy_free(c);
	free(text);
	return 0;
}
