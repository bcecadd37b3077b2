/* split_sentences.c - the sentences of each line of standard input, one a line, and a blank line after each; for sentences.py */
#include <stdio.h>

#include "data/text/sentences.h"
#include "share/base/lines.h"

int main(int argc, char **argv)
{
	struct err e = { 0 };
	struct sentence_splitter *s = sentence_splitter_new(argc > 1 ? argv[1] : "en", &e);
	const struct sentence_range *r;
	struct lines in;
	size_t n;

	if (!s || lines_open(&in, NULL, &e)) {
		fprintf(stderr, "%s\n", e.text);
		return 1;
	}
	while (lines_next(&in, &e) > 0 && !sentences_find(s, in.text, in.len, &r, &n, &e)) {
		for (size_t i = 0; i < n; i++)
			printf("%.*s\n", (int)r[i].n, in.text + r[i].from);
		putchar('\n');
	}
	lines_close(&in);
	sentence_splitter_free(s);
	return e.code ? 1 : 0;
}
