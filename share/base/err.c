/* err.c - see err.h */
#include "share/base/err.h"

#include <assert.h>
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

int err_set(struct err *e, int code, const char *fmt, ...)
{
	va_list ap;

	assert(code != ERR_NONE);
	e->code = code;
	va_start(ap, fmt);
	vsnprintf(e->text, sizeof(e->text), fmt, ap);
	va_end(ap);
	return code;
}

static int code_of_errno(int number, int fallback)
{
	switch (number) {
	case ENOENT:
	case ENOTDIR:
		return ERR_NOINPUT;
	case EACCES:
	case EPERM:
	case EROFS:
		return ERR_PERM;
	case ENOMEM:
	case EMFILE:
	case ENFILE:
	case EAGAIN:
		return ERR_NOMEM;
	case ENOSPC:
	case EDQUOT:
	case EIO:
	case EPIPE:
	case EFBIG:
		return ERR_IO;
	default:
		return fallback;
	}
}

bool err_is_of_input(int code)
{
	return code == ERR_NOINPUT || code == ERR_DATA;
}

int err_set_errno(struct err *e, int fallback, const char *fmt, ...)
{
	int number = errno;
	size_t n;
	va_list ap;

	e->code = code_of_errno(number, fallback);
	va_start(ap, fmt);
	vsnprintf(e->text, sizeof(e->text), fmt, ap);
	va_end(ap);
	n = strlen(e->text);
	snprintf(e->text + n, sizeof(e->text) - n, ": %s", strerror(number));
	return e->code;
}

int err_prefix(struct err *e, const char *fmt, ...)
{
	char old[sizeof(e->text)];
	size_t n;
	va_list ap;

	assert(e->code != ERR_NONE); /* it prefixes an error that was set */
	memcpy(old, e->text, sizeof(old));
	va_start(ap, fmt);
	vsnprintf(e->text, sizeof(e->text), fmt, ap);
	va_end(ap);
	n = strlen(e->text);
	snprintf(e->text + n, sizeof(e->text) - n, ": %s", old);
	return e->code;
}

int err_exit_status(int code)
{
	switch (code) {
	case ERR_NONE:
		return 0;
#define X(id, status, text)                                                                        \
	case id:                                                                                   \
		return status;
		ERR_CODES(X)
#undef X
	}
	return 70;
}

const char *err_name(int code)
{
	switch (code) {
	case ERR_NONE:
		return "no error";
#define X(id, status, text)                                                                        \
	case id:                                                                                   \
		return text;
		ERR_CODES(X)
#undef X
	}
	return "unknown error";
}
