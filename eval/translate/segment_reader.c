/* segment_reader.c - reads hypotheses and references in parallel; see segment_reader.h */
#include "eval/translate/segment_reader.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "share/base/mem.h"
#include "share/base/text.h"

void segment_reader_close(struct segment_reader *s)
{
	for (size_t i = 0; i < s->n_open; i++)
		lines_close(&s->files[i]);
	free(s->files);
	free(s->names);
	free(s->texts);
}

static int check_standard_input(const char *const *paths, size_t n, const struct conf *c,
				struct err *e)
{
	int n_standard = 0;

	for (size_t i = 0; i < n; i++)
		n_standard += !strcmp(paths[i], "-");
	if (n_standard > 1)
		return err_set(e, ERR_USAGE, "%s cannot read %d texts from standard input",
			       c->command, n_standard);
	return 0;
}

int segment_reader_open_paths(struct segment_reader *s, const char *const *paths,
			      size_t n_hypotheses, size_t n, const struct conf *c, struct err *e)
{
	memset(s, 0, sizeof(*s));
	if (check_standard_input(paths, n, c, e))
		return e->code;
	s->n_hypotheses = n_hypotheses;
	s->n = n;
	s->files = mem_alloc(s->n, sizeof(*s->files), e);
	s->names = mem_alloc(s->n, sizeof(*s->names), e);
	s->texts = mem_alloc(s->n, sizeof(*s->texts), e);
	if (!s->files || !s->names || !s->texts)
		return e->code;
	for (size_t i = 0; i < s->n; i++) {
		s->names[i] = strcmp(paths[i], "-") ? paths[i] : "standard input";
		if (lines_open(&s->files[i], paths[i], e))
			return e->code;
		s->files[i].repair = c->repair;
		s->n_open++;
	}
	return 0;
}

int segment_reader_open(struct segment_reader *s, const struct conf *c, struct err *e)
{
	const size_t n = c->n_arguments > 0 ? (size_t)c->n_arguments : 1;
	const char **paths;
	int rc;

	memset(s, 0, sizeof(*s));
	if (c->reference.n == 0)
		return err_set(e, ERR_USAGE,
			       "%s needs a reference translation: give --reference FILE",
			       c->command);
	paths = mem_alloc(n + c->reference.n, sizeof(*paths), e);
	if (!paths)
		return e->code;
	for (size_t i = 0; i < n; i++)
		paths[i] = c->n_arguments > 0 ? c->arguments[i] : "-";
	for (size_t i = 0; i < c->reference.n; i++)
		paths[n + i] = c->reference.items[i];
	rc = segment_reader_open_paths(s, paths, n, n + c->reference.n, c, e);
	free(paths);
	return rc;
}

/* Files have different lengths: count the lines of the longer one for the message. */
static int report_length_mismatch(struct segment_reader *s, size_t shorter, size_t longer,
				  struct err *e)
{
	int got;

	while ((got = lines_next(&s->files[longer], e)) > 0)
		;
	if (got < 0)
		return got;
	return err_set(e, ERR_DATA,
		       "%s has %lld line%s, but %s has %lld: a score needs files of equal length",
		       s->names[shorter], (long long)s->files[shorter].number,
		       text_plural(s->files[shorter].number), s->names[longer],
		       (long long)s->files[longer].number);
}

int segment_reader_next(struct segment_reader *s, struct err *e)
{
	size_t ended = s->n, going = s->n; /* a file without a further line, and one with a line */

	assert(s->n_open == s->n);
	for (size_t i = 0; i < s->n; i++) {
		int got = lines_next(&s->files[i], e);

		if (got < 0)
			return got;
		if (got == 0)
			ended = i;
		else
			going = i;
		s->texts[i] = (struct score_text){ s->files[i].text, s->files[i].len };
	}
	if (ended < s->n && going < s->n)
		return report_length_mismatch(s, ended, going, e);
	if (going == s->n && s->files[0].number == 0)
		return err_set(e, ERR_DATA, "%s and %s are empty: there is nothing to score",
			       s->names[0], s->names[s->n - 1]);
	return going < s->n;
}
