/* file.c - see file.h */
#include "share/base/file.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "share/base/mem.h"
#include "share/base/util.h"

char *file_path(struct err *e, const char *fmt, ...)
{
	char *path;
	va_list ap;
	int n;

	va_start(ap, fmt);
	n = vasprintf(&path, fmt, ap);
	va_end(ap);
	if (n < 0) {
		err_set(e, ERR_NOMEM, "out of memory for a path");
		return NULL;
	}
	return path;
}

int file_write_fd(int fd, const void *bytes, size_t n)
{
	const char *at = bytes;

	while (n) {
		ssize_t done = write(fd, at, n);

		if (done < 0 && errno == EINTR)
			continue;
		if (done < 0)
			return -1;
		at += done;
		n -= (size_t)done;
	}
	return 0;
}

/* The sentence of every failure to write to standard output. */
#define STDOUT_FAULT "standard output cannot be written"

int file_flush_stdout(struct err *e)
{
	if (fflush(stdout))
		return err_set_errno(e, ERR_IO, STDOUT_FAULT);
	if (ferror(stdout)) /* errno of the call that failed is lost */
		return err_set(e, ERR_IO, STDOUT_FAULT);
	return 0;
}

int file_write_stdout(const void *bytes, size_t n, struct err *e)
{
	if (fwrite(bytes, 1, n, stdout) != n)
		return err_set_errno(e, ERR_IO, STDOUT_FAULT);
	return file_flush_stdout(e);
}

int file_put_stdout(const struct buf *text, struct err *e)
{
	return buf_check(text, e) ? e->code : file_write_stdout(buf_text(text), text->len, e);
}

bool file_is_own_stream(const char *path)
{
	return !strncmp(path, "/dev/std", 8) || !strncmp(path, "/dev/fd/", 8) ||
	       !strncmp(path, "/proc/self/fd/", 14);
}

static const char *kind_of_file(mode_t mode)
{
	return S_ISDIR(mode)			? "a folder"
	       : S_ISFIFO(mode)			? "a pipe"
	       : S_ISCHR(mode) || S_ISBLK(mode) ? "a device"
						: "a socket";
}

int file_open_read(int *fd, const char *path, struct err *e)
{
	const bool own = file_is_own_stream(path);
	struct stat s;

	/* O_NONBLOCK: a pipe or a device must not keep open() waiting */
	*fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY | (own ? 0 : O_NONBLOCK));
	if (*fd < 0 && errno == ENXIO)
		return err_set(e, ERR_NOINPUT, "%s: is a socket; a regular file was expected",
			       path);
	if (*fd < 0)
		return err_set_errno(e, ERR_NOINPUT, "%s: cannot be read", path);
	if (fstat(*fd, &s))
		err_set_errno(e, ERR_IO, "%s: cannot be read", path);
	else if (!S_ISREG(s.st_mode) && (!own || S_ISDIR(s.st_mode)))
		err_set(e, ERR_NOINPUT, "%s: is %s; a regular file was expected", path,
			kind_of_file(s.st_mode));
	else
		return 0;
	close(*fd);
	*fd = -1;
	return e->code;
}

FILE *file_open_stream(const char *path, struct err *e)
{
	int fd;
	FILE *f = file_open_read(&fd, path, e) ? NULL : fdopen(fd, "rb");

	if (!f && fd >= 0) {
		err_set_errno(e, ERR_NOMEM, "%s: cannot be read", path);
		close(fd);
	}
	return f;
}

bool file_first_line(const char *path, char *line, size_t size)
{
	struct err ignored = { 0 };
	FILE *f = file_open_stream(path, &ignored);
	const bool there = f && fgets(line, (int)size, f);

	assert(size > 1);
	if (f)
		fclose(f);
	line[there ? strcspn(line, "\n") : 0] = 0;
	return there;
}

int file_read_head(const char *path, void *to, size_t room, size_t *n, struct err *e)
{
	FILE *f = file_open_stream(path, e);
	int rc = 0;

	if (!f)
		return e->code;
	*n = fread(to, 1, room, f);
	if (ferror(f))
		rc = err_set_errno(e, ERR_IO, "%s: cannot be read", path);
	fclose(f);
	return rc;
}

static bool is_larger_file(int fd, size_t limit)
{
	struct stat st;

	return limit && !fstat(fd, &st) && S_ISREG(st.st_mode) && (uint64_t)st.st_size > limit;
}

int file_read_all(const char *path, size_t limit, struct buf *b, struct err *e)
{
	size_t start = b->len, got;
	FILE *f = file_open_stream(path, e);
	int failed = 0;

	if (!f)
		return e->code;
	if (is_larger_file(fileno(f), limit)) { /* a sparse file would be read for hours */
		fclose(f);
		return err_set(e, ERR_DATA, "%s: is larger than %zu bytes", path, limit);
	}
	do {
		char *to = buf_reserve(b, 65536);

		got = to ? fread(to, 1, 65536, f) : 0;
		if (got) {
			b->len += got;
			b->data[b->len] = 0;
		}
		if (limit && b->len - start > limit) {
			failed = err_set(e, ERR_DATA, "%s: is larger than %zu bytes", path, limit);
			break;
		}
	} while (got);
	if (!failed && ferror(f))
		failed = err_set_errno(e, ERR_IO, "%s: cannot be read", path);
	fclose(f);
	return failed ? failed : buf_check(b, e);
}

/*
 * A mapping ends at a page, so a sanitizer does not see a read after the file's last byte. Builds with
 * AddressSanitizer read files into the heap instead; a sparse file of terabytes is mapped there, too.
 */
static bool is_copied(size_t n)
{
	return HAS_ADDRESS_SANITIZER && n <= (size_t)4 << 30;
}

/* The bytes of the file fd, mapped or copied; NULL with errno: failure. */
static void *map_bytes(int fd, size_t n)
{
	char *copy;
	void *p;

	if (!is_copied(n)) {
		p = mmap(NULL, n, PROT_READ, MAP_SHARED, fd, 0);
		return p == MAP_FAILED ? NULL : p;
	}
	copy = malloc(n);
	for (size_t at = 0; copy && at < n;) {
		ssize_t got = pread(fd, copy + at, n - at, (off_t)at);

		if (got > 0) {
			at += (size_t)got;
		} else if (!got || errno != EINTR) {
			free(copy);
			return NULL;
		}
	}
	return copy;
}

int map_open(struct map *m, const char *path, struct err *e)
{
	struct stat s;
	void *p;
	int fd;

	*m = (struct map){ 0 };
	if (file_open_read(&fd, path, e))
		return e->code;
	if (fstat(fd, &s)) {
		err_set_errno(e, ERR_IO, "%s: cannot be read", path);
		close(fd);
		return e->code;
	}
	if (!S_ISREG(s.st_mode)) { /* a stream of this process */
		close(fd);
		return err_set(e, ERR_NOINPUT, "%s: is not a regular file", path);
	}
	if (s.st_size > 0) {
		p = map_bytes(fd, (size_t)s.st_size);
		if (!p) {
			err_set_errno(e, ERR_IO, "%s: cannot be mapped", path);
			close(fd);
			return e->code;
		}
		m->data = p;
		m->len = (size_t)s.st_size;
	}
	close(fd);
	return 0;
}

void map_drop_pages(const void *bytes, size_t n)
{
	const uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE);
	uintptr_t first = ((uintptr_t)bytes + page - 1) / page * page;
	uintptr_t end = ((uintptr_t)bytes + n) / page * page;

	if (first < end && !HAS_ADDRESS_SANITIZER) /* a copy would lose its bytes */
		(void)madvise((void *)first, end - first, MADV_DONTNEED);
}

void map_close(struct map *m)
{
	if (m->data && is_copied(m->len))
		free((void *)(uintptr_t)m->data);
	else if (m->data)
		munmap((void *)(uintptr_t)m->data, m->len);
	*m = (struct map){ 0 };
}

bool file_exists(const char *path)
{
	return access(path, F_OK) == 0;
}

bool file_is_folder(const char *path)
{
	struct stat s;

	return stat(path, &s) == 0 && S_ISDIR(s.st_mode);
}

int64_t file_size(const char *path)
{
	struct stat s;

	return stat(path, &s) == 0 && S_ISREG(s.st_mode) ? (int64_t)s.st_size : -1;
}

void file_limit_as_error(void)
{
	signal(SIGXFSZ, SIG_IGN);
}
