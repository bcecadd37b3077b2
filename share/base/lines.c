/* lines.c - see lines.h */
#include "share/base/lines.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "share/base/mem.h"
#include "share/base/text.h"

int lines_open(struct lines *l, const char *path, struct err *e)
{
	bool is_stdin = !path || !strcmp(path, "-");
	struct stat s;

	*l = (struct lines){ 0 };
	l->name = mem_strdup(is_stdin ? "standard input" : path, e);
	if (!l->name)
		return e->code;
	l->stream = is_stdin ? stdin : fopen(path, "rbe");
	if (!l->stream) {
		err_set_errno(e, ERR_NOINPUT, "%s: cannot be read", path);
	} else if (!is_stdin && fstat(fileno(l->stream), &s) == 0 && S_ISDIR(s.st_mode)) {
		err_set(e, ERR_NOINPUT, "%s: is a folder, a text file was expected", path);
	} else {
		return 0;
	}
	lines_close(l);
	return e->code;
}

static int check_utf8(struct lines *l, struct err *e)
{
	size_t good = utf8_valid_prefix(l->text, l->len);

	if (good == l->len)
		return 1;
	if (!l->repair)
		return err_set(e, ERR_DATA,
			       "%s:%lld: byte %zu is not valid UTF-8 (0x%02X); convert the file, "
			       "or replace such bytes with --repair",
			       l->name, (long long)l->number, good + 1,
			       (unsigned char)l->text[good]);
	buf_clear(&l->mended);
	utf8_repair(&l->mended, l->text, l->len);
	if (buf_check(&l->mended, e))
		return e->code;
	l->text = buf_text(&l->mended);
	l->len = l->mended.len;
	return 1;
}

int lines_next(struct lines *l, struct err *e)
{
	ssize_t n;

	errno = 0;
	n = getline(&l->line, &l->cap, l->stream);
	if (n < 0) {
		if (ferror(l->stream) || errno == ENOMEM)
			return err_set_errno(e, ERR_IO, "%s: cannot be read after line %lld",
				l->name, (long long)l->number);
		return 0;
	}
	l->number++;
	if ((size_t)n > LINES_MAX_BYTES)
		return err_set(e, ERR_DATA,
			       "%s:%lld: the line has more than %u bytes; is this a text file?",
			       l->name, (long long)l->number, LINES_MAX_BYTES);
	if (n && l->line[n - 1] == '\n')
		n--;
	if (n && l->line[n - 1] == '\r')
		n--;
	l->line[n] = 0;
	l->text = l->line;
	l->len = (size_t)n;
	return check_utf8(l, e);
}

void lines_close(struct lines *l)
{
	if (l->stream && l->stream != stdin)
		fclose(l->stream);
	free(l->name);
	free(l->line);
	buf_free(&l->mended);
	*l = (struct lines){ 0 };
}
