/* samples.c - reads the newest samples of a run; see samples.h */
#include "eval/report/samples.h"

#include <errno.h>
#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "share/base/buf.h"
#include "share/base/file.h"
#include "share/base/util.h"

#define SAMPLES_TAIL (1 << 20) /* bytes at the end of the file that are read */
#define READ_BYTES   (1 << 16)

/* The last SAMPLES_TAIL bytes of the file; the first line may be a part. Empty if there is none. */
static int read_tail(struct buf *text, const char *path, struct err *e)
{
	const int64_t size = file_size(path), from = MAX(size - SAMPLES_TAIL, 0);
	ssize_t got = 1;
	int fd;

	if (size <= 0)
		return 0;
	if (file_open_read(&fd, path, e))
		return e->code;
	while (got && text->len < SAMPLES_TAIL && buf_reserve(text, READ_BYTES)) {
		got = pread(fd, text->data + text->len, READ_BYTES - 1, (off_t)from + text->len);
		if (got < 0 && errno != EINTR) {
			err_set_errno(e, ERR_IO, "%s: cannot be read", path);
			close(fd);
			return e->code;
		}
		text->len += (size_t)MAX(got, 0);
	}
	close(fd);
	return buf_check(text, e);
}

void samples_free(struct run_samples *s)
{
	for (size_t i = 0; i < s->n; i++)
		json_free(s->all[i]);
	s->n = 0;
}

/* Owns r. Keeps it if it is one of the first of the newest step. */
static void take_sample(struct run_samples *s, struct json *r)
{
	const double step = json_number(json_get(r, "step"), NAN);

	if (isnan(step) || !json_get(r, "hypothesis") || (step == s->step && s->n == SAMPLES_MAX)) {
		json_free(r);
		return;
	}
	if (step != s->step)
		samples_free(s);
	s->step = step;
	s->all[s->n++] = r;
}

int samples_read(struct run_samples *s, const char *run_folder, struct err *e)
{
	char *path = file_path(e, "%s/samples.jsonl", run_folder);
	struct buf text = { 0 };
	int rc = path ? read_tail(&text, path, e) : e->code;
	const char *at = buf_text(&text), *stop = at + text.len, *end;

	*s = (struct run_samples){ .step = NAN };
	for (; !rc && at < stop && (end = memchr(at, '\n', (size_t)(stop - at))); at = end + 1) {
		struct err why = { 0 };
		struct json *r = json_parse(at, (size_t)(end - at), &why);

		if (r)
			take_sample(s, r);
		else if (why.code == ERR_NOMEM)
			rc = (*e = why, e->code);
	}
	buf_free(&text);
	free(path);
	return rc;
}

const char *samples_text(const struct run_samples *s, size_t i, const char *what)
{
	return json_text(json_get(s->all[i], what), "");
}

/* ---- signs ------------------------------------------------------------- */

struct text_counts {
	double words, letters, capitals;
};

/* Letters A to Z only: other scripts may have no capitals. */
static void count_text(struct text_counts *n, const char *text)
{
	bool in_word = false;

	for (; *text; text++) {
		const bool is_blank = *text == ' ';

		n->words += !is_blank && !in_word;
		in_word = !is_blank;
		n->letters += (*text >= 'a' && *text <= 'z') || (*text >= 'A' && *text <= 'Z');
		n->capitals += *text >= 'A' && *text <= 'Z';
	}
}

void samples_find_signs(struct sample_signs *signs, const struct run_samples *s)
{
	struct text_counts translated = { 0 }, reference = { 0 };

	*signs = (struct sample_signs){ NAN, NAN, NAN };
	for (size_t i = 0; i < s->n; i++) {
		count_text(&translated, samples_text(s, i, "hypothesis"));
		count_text(&reference, samples_text(s, i, "reference"));
	}
	if (reference.words < SAMPLES_WORDS)
		return;
	signs->length_ratio = translated.words / reference.words;
	/* a few letters of a text in another script say nothing */
	if (MIN(translated.letters, reference.letters) < reference.words)
		return;
	signs->translated_capitals = translated.capitals / translated.letters;
	signs->reference_capitals = reference.capitals / reference.letters;
}
