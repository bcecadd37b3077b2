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

static const char *segment_file_path(const struct segment_reader *s, const struct conf *c, size_t i)
{
	if (i >= s->n_hypotheses)
		return c->reference.items[i - s->n_hypotheses];
	return c->n_arguments > 0 ? c->arguments[i] : "-";
}

static int check_usage(const struct segment_reader *s, const struct conf *c, struct err *e)
{
	int n_standard = 0;

	if (c->reference.n == 0)
		return err_set(e, ERR_USAGE,
			       "%s needs a reference translation: give --reference FILE",
			       c->command);
	for (size_t i = 0; i < s->n; i++)
		n_standard += !strcmp(segment_file_path(s, c, i), "-");
	if (n_standard > 1)
		return err_set(e, ERR_USAGE, "%s cannot read %d texts from standard input",
			       c->command, n_standard);
	return 0;
}

int segment_reader_open(struct segment_reader *s, const struct conf *c, struct err *e)
{
	memset(s, 0, sizeof(*s));
	s->n_hypotheses = c->n_arguments > 0 ? (size_t)c->n_arguments : 1;
	s->n = s->n_hypotheses + c->reference.n;
	if (check_usage(s, c, e))
		return e->code;
	s->files = mem_alloc(s->n, sizeof(*s->files), e);
	s->names = mem_alloc(s->n, sizeof(*s->names), e);
	s->texts = mem_alloc(s->n, sizeof(*s->texts), e);
	if (!s->files || !s->names || !s->texts)
		return e->code;
	for (size_t i = 0; i < s->n; i++) {
		const char *path = segment_file_path(s, c, i);

		s->names[i] = strcmp(path, "-") ? path : "standard input";
		if (lines_open(&s->files[i], path, e))
			return e->code;
		s->files[i].repair = c->repair;
		s->n_open++;
	}
	return 0;
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
