/*
 * err.h - error codes and messages.
 *
 * A function that can fail takes a struct err * last and returns 0 on success
 * or one of the negative codes below (pointers: NULL). On success the struct is
 * unchanged, so calls may be chained. Nothing here prints or exits: main()
 * prints the text to stderr and converts the code to an exit status; the
 * workbench shows the text in its status line.
 *
 * A text is one sentence without capital, full stop or "error:", names the
 * thing (file, line, option) and says what was expected and what to do.
 */
#ifndef WERKBANK_SHARE_BASE_ERR_H
#define WERKBANK_SHARE_BASE_ERR_H

#include <stdbool.h>

#include "share/base/util.h"

#ifdef __cplusplus
extern "C" {
#endif

/* X(code, exit status as in sysexits.h, 79 is our own; what it means) */
#define ERR_CODES(X)                                                                               \
	X(ERR_USAGE, 64, "wrong use")                                                              \
	X(ERR_DATA, 65, "input is not as expected")                                                \
	X(ERR_NOINPUT, 66, "input is missing")                                                     \
	X(ERR_NOHOST, 68, "host cannot be reached")                                                \
	X(ERR_UNAVAILABLE, 69, "not available here")                                               \
	X(ERR_INTERNAL, 70, "internal fault")                                                      \
	X(ERR_NOMEM, 71, "out of memory or another limit of the system")                           \
	X(ERR_CANTCREAT, 73, "output cannot be created")                                           \
	X(ERR_IO, 74, "input/output failed")                                                       \
	X(ERR_TEMPFAIL, 75, "stopped before the end; can be resumed")                              \
	X(ERR_PROTOCOL, 76, "the other side broke the protocol")                                   \
	X(ERR_PERM, 77, "not permitted")                                                           \
	X(ERR_CONFIG, 78, "wrong configuration")                                                   \
	X(ERR_DIVERGED, 79, "training diverged, and stop_on asked to stop")

enum err_code {
	ERR_NONE = 0,
#define X(id, status, text) id = -(status),
	ERR_CODES(X)
#undef X
};

struct err {
	int code; /* 0 or one of enum err_code */
	char text[500];
};

/* Set code and text, and return code, for "return err_set(…)". */
int err_set(struct err *e, int code, const char *fmt, ...) PRINTF_LIKE(3, 4);

/*
 * The same after a failed system call: appends ": " and strerror(errno), and
 * derives the code from errno (no such file, no permission, disk full, too many open files, …);
 * other values of errno give fallback.
 */
int err_set_errno(struct err *e, int fallback, const char *fmt, ...) PRINTF_LIKE(3, 4);

/* Put "prefix: " before the text of e; returns e->code. */
int err_prefix(struct err *e, const char *fmt, ...) PRINTF_LIKE(2, 3);

/*
 * Whether the code says that the input is missing or not as expected. Other failures (memory, permissions, the disk)
 * say nothing about the input: a caller that could do without the input must still report them.
 */
bool err_is_of_input(int code);

/* The exit status of a code: 0 for 0, its sysexits number, 70 for an unknown code. */
int err_exit_status(int code);

/* The meaning of a code in a few words; never NULL. */
const char *err_name(int code);

#ifdef __cplusplus
}
#endif

#endif
