/* column_pair.c - see column_pair.h */
#include "data/prep/column_pair.h"

#include <stdlib.h>

#include "share/base/file.h"

int column_pair_open(struct column_pair *c, const char *work, size_t text, int32_t n_words,
		     struct err *e)
{
	static const char *const names[] = { "source", "target" };
	int64_t lines[2];

	for (int i = 0; i < 2; i++) {
		char *path = file_path(e, "%s/side-%zu.%s", work, text, names[i]);

		c->sides[i] = path ? token_column_open(path, n_words, e) : NULL;
		free(path);
		if (!c->sides[i])
			goto fail;
		lines[i] = token_column_lines(c->sides[i]);
	}
	if (lines[0] == lines[1])
		return 0;
	err_set(e, ERR_DATA,
		"%s/side-%zu: %lld source and %lld target lines; prepare the corpus again with "
		"--force",
		work, text, (long long)lines[0], (long long)lines[1]);
fail:
	column_pair_close(c);
	return e->code;
}

int column_pair_next(struct column_pair *c, struct token_column_line lines[2], struct err *e)
{
	int got = token_column_next(c->sides[0], &lines[0], e);

	return got < 0 ? got : token_column_next(c->sides[1], &lines[1], e);
}

void column_pair_close(struct column_pair *c)
{
	for (int i = 0; i < 2; i++)
		token_column_close(c->sides[i]);
	*c = (struct column_pair){ 0 };
}
