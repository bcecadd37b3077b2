/*
 * format_version.h - versions of files and records: a reader refuses what it does not know
 *
 *	"v": 1				layout; a reader refuses a larger one
 *	"program": "0.2.0"		Werkbank that wrote the file, for the message; absent: older than that
 *	"needs": ["rotary"]		features that a reader must know; absent: none
 *
 * A new kind of model or encoding adds a feature to "needs" of its files, so that programs without
 * it refuse these files instead of reading them as something else. "v" grows only if the layout of
 * all files changes.
 */
#ifndef WERKBANK_SHARE_FORMAT_FORMAT_VERSION_H
#define WERKBANK_SHARE_FORMAT_FORMAT_VERSION_H

#include "share/base/err.h"
#include "share/format/json.h"

/* A kind of file, as this program knows it. */
struct file_format {
	const char *what;	     /* for messages: "checkpoint" */
	int64_t version;	     /* the newest that this program reads */
	const char *const *features; /* that it knows, ended by NULL; NULL: none */
};

/* Add "v", "program" and, unless `needs` is NULL or empty, "needs" (ended by NULL) to an object. */
void format_put_version(struct json_writer *w, const struct file_format *f,
			const char *const *needs);

/*
 * ERR_CONFIG if `root` has a larger version or needs an unknown feature; the message names the
 * program to use. path: for the message. A missing "v" counts as version 0 and passes: the fields
 * decide.
 */
int format_check_version(const struct json *root, const struct file_format *f, const char *path,
			 struct err *e);

/*
 * ERR_CONFIG if `object` has a member that is not among the n keys: an older program must not
 * ignore what it does not know. name: of the object, for the message.
 */
int format_check_keys(const struct json *root, const char *name, const char *const *keys, size_t n,
		      const struct file_format *f, const char *path, struct err *e);

/*
 * ERR_CONFIG: "PATH: this checkpoint REASON, which Werkbank 0.3.0 does not know: use the one that wrote it …". reason:
 * 'has version 2'.
 */
int format_refuse(const struct json *root, const struct file_format *f, const char *path,
		  const char *reason, struct err *e);

#endif
