/*
 * server_files.h - translated files that clients fetch later, under names that nobody can guess
 *
 * Files stay in the memory of the listener, which may open none, and end with it: nothing of a client's file reaches a disk. A
 * file is removed FILES_KEEP_S after its translation, or earlier to make room for another one: then it is the oldest one of the client
 * that has most.
 */
#ifndef WERKBANK_EVAL_SERVER_SERVER_FILES_H
#define WERKBANK_EVAL_SERVER_SERVER_FILES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "eval/server/translation_queue.h"
#include "share/base/err.h"

#define FILES_MAX	64
#define FILES_MAX_BYTES ((size_t)64 << 20)
#define FILES_KEEP_S	600.0
#define FILES_ID	33 /* bytes of a name: 128 random bits in hexadecimal digits, and the NUL */

struct server_file {
	char id[FILES_ID];  /* "": the place is free */
	char key[FILES_ID]; /* a second secret, for DeepL's interface */
	char *name;	    /* owned: of the translated file, safe in headers and addresses */
	struct translation_job *job; /* owned; NULL: it is translated, or has failed */
	struct buf bytes;
	char fault[300]; /* "": none */
	uint64_t client;
	size_t n_chars;
	double began, expires; /* expires: infinite while it is translated */
};

struct server_files {
	struct server_file all[FILES_MAX];
};

/*
 * The name of the translation of a file: letters, digits and "._-" of its last component, with the language, as "letter_de.docx". path is
 * valid UTF-8. The caller frees it; NULL: ERR_NOMEM.
 */
char *files_name(const char *path, const char *language, struct err *e);
/* Appends such a name in ASCII: letters beyond it as %-escapes, or as "_". */
void files_put_name(const char *name, bool is_escaped, struct buf *out);
/*
 * Adds the file of a job that was submitted. name and job belong to the files from now on; after a failure they stay the caller's.
 * ERR_TEMPFAIL: all places have files that are being translated. NULL: failure.
 */
struct server_file *files_add(struct server_files *f, char *name, struct translation_job *job,
			      uint64_t client, double now, struct err *e);
/* The file of this name; NULL: there is none. */
struct server_file *files_find(struct server_files *f, const char *id, size_t n);
/* Compares the key in constant time. */
bool files_has_key(const struct server_file *file, const char *key);
/*
 * Files whose job is done get their bytes, old ones are removed. Characters are counted in key_chars (n_keys) of the client, whose
 * names are from 1 on.
 */
void files_update(struct server_files *f, struct translation_queue *q, double now,
		  int64_t *key_chars, size_t n_keys);
void files_remove(struct translation_queue *q, struct server_file *file);
void files_free(struct server_files *f, struct translation_queue *q);

#endif
