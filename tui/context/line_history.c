/* line_history.c - reads, appends to and trims a history file; see line_history.h. */
#include "tui/context/line_history.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "share/base/file.h"
#include "share/base/mem.h"
#include "share/base/text.h"

#define READ_LIMIT (4 * LINE_HISTORY_BYTES) /* longer files are not read */

void line_history_read(struct edit *d, const char *path)
{
	struct edit clean = { 0 }; /* edit_set() removes control characters */
	struct buf all = { 0 };
	struct err ignored;

	if (!file_exists(path) || file_read_all(path, READ_LIMIT, &all, &ignored))
		buf_clear(&all);
	for (size_t at = 0, n; at < all.len; at += n + 1) {
		char *line = all.data + at, *end = memchr(line, '\n', all.len - at);

		n = end ? (size_t)(end - line) : all.len - at;
		line[n] = 0; /* file_read_all() adds a NUL after the data */
		if (n <= LINE_HISTORY_LONGEST && strlen(line) == n && utf8_valid(line, n) &&
		    !edit_set(&clean, line, &ignored))
			edit_remember(d, edit_text(&clean), &ignored);
	}
	edit_close(&clean);
	buf_free(&all);
}

/* Rewrite the file with its latest lines. */
static int trim_line_history(const char *path, struct err *e)
{
	struct edit lines = { 0 };
	size_t first, bytes = 0;
	struct outfile o;
	int status;

	line_history_read(&lines, path);
	for (first = lines.n_history; first > 0; first--) {
		bytes += strlen(lines.history[first - 1]) + 1;
		if (bytes > LINE_HISTORY_BYTES / 2)
			break;
	}
	status = outfile_open(&o, path, e);
	if (!status && fchmod(fileno(o.stream), 0600)) {
		outfile_abandon(&o);
		status = err_set_errno(e, ERR_IO, "%s: its mode cannot be set to 0600", path);
	}
	if (!status) {
		for (size_t i = first; i < lines.n_history; i++)
			fprintf(o.stream, "%s\n", lines.history[i]);
		status = outfile_commit(&o, e);
	}
	edit_close(&lines);
	return status;
}

static int make_folder_of(const char *path, struct err *e)
{
	const char *slash = strrchr(path, '/');
	char *folder;
	int status;

	if (!slash || slash == path)
		return 0;
	if (!(folder = mem_strdup(path, e)))
		return e->code;
	folder[slash - path] = 0;
	status = file_make_folders(folder, e);
	free(folder);
	return status;
}

int line_history_add(const char *path, const char *line, struct err *e)
{
	size_t n = strlen(line);
	struct buf text = { 0 };
	struct stat st = { 0 };
	int fd, status;

	if (!n || n > LINE_HISTORY_LONGEST || strchr(line, '\n'))
		return 0;
	if (make_folder_of(path, e))
		return e->code;
	if (file_open_in_place(&fd, path, O_WRONLY | O_APPEND, e))
		return e->code;
	buf_add(&text, line, n);
	buf_add_char(&text, '\n');
	status = buf_check(&text, e);
	/* One write: lines of several workbenches do not mix. */
	if (!status && (fchmod(fd, 0600) || fstat(fd, &st) ||
			write(fd, text.data, text.len) != (ssize_t)text.len))
		status = err_set_errno(e, ERR_IO, "%s: cannot be written", path);
	close(fd);
	buf_free(&text);
	return !status && (size_t)st.st_size > LINE_HISTORY_BYTES ? trim_line_history(path, e)
								  : status;
}
