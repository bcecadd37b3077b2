/*
 * follow_copy.h - the local copy of a workspace of another host, for "watch ssh://HOST/PATH".
 *
 * FOLDER looks like a workspace, so the workbench reads it as one. It has the files of the table
 * in follow_copy.c: records and states of runs, no checkpoints. Files that only grow (journals) are
 * appended to; others are replaced when their checksum there changes.
 *
 * A run is alive there if its launcher holds the lock of the run. This process then holds the lock
 * of the copy. Without contact, a run that was under way is "unknown".
 */
#ifndef WERKBANK_TRAIN_LAUNCH_FOLLOW_FOLLOW_COPY_H
#define WERKBANK_TRAIN_LAUNCH_FOLLOW_FOLLOW_COPY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "share/base/buf.h"
#include "share/base/err.h"

struct follow_copy;
struct copied_file;

/* Bytes of a file that the other host shall send. */
struct copy_request {
	struct copied_file *file; /* borrowed; valid until follow_copy_free() */
	int64_t offset, count;	  /* bytes */
};

/*
 * folder: absolute path, made if missing. prefix: put before the names of runs and corpora, "" or
 * "host."; both are copied. NULL: failure.
 */
struct follow_copy *follow_copy_new(const char *folder, const char *prefix, struct err *e);
/* Also releases the locks. c may be NULL. */
void follow_copy_free(struct follow_copy *c);

/*
 * Append the files of the workspace that are copied, as patterns of a shell, each after a blank:
 * those that grow, or those that are replaced. run: only the files of this run; NULL: all.
 */
void follow_copy_add_patterns(struct buf *out, bool grow, const char *run);

/*
 * What a connection says about the other workspace: begin with nothing; add the lines of each poll; end
 * the poll. A line is one of
 *
 *	INODE MODE LINKS USER GROUP SIZE … NAME		of "ls -lind", a file that grows
 *	CHECKSUM SIZE NAME				of "cksum", a file that is replaced
 *	alive runs/NAME					the launcher of the run lives
 *	-LINE						this line of an earlier poll no longer holds
 *
 * Other lines are ignored. The end removes the copies of files that are gone.
 */
void follow_copy_begin(struct follow_copy *c);
int follow_copy_add_line(struct follow_copy *c, const char *line, struct err *e);
void follow_copy_end_look(struct follow_copy *c);

/* The next bytes to ask for after a poll; false: no more. */
bool follow_copy_next_request(struct follow_copy *c, struct copy_request *r);
/*
 * All answers have arrived: release the locks of runs that have ended. Now and then, and if `first`,
 * write down what the copies are copies of, so that the next process need not fetch them again.
 */
int follow_copy_end_round(struct follow_copy *c, bool first, struct err *e);
/* The bytes of the file at the last poll. */
int64_t follow_copy_size(const struct copied_file *f);
/* The path of a requested file, relative to the workspace on the other host; borrowed. */
const char *follow_copy_name(const struct copied_file *f);
/*
 * Store the answer to a request; n is less than count at the end of the file. True in *more: ask
 * for r again, which has been changed to the next bytes of the file.
 */
int follow_copy_add_bytes(struct follow_copy *c, struct copy_request *r, const char *bytes,
			  size_t n, bool *more, struct err *e);

/* Runs that were under way become "unknown", and their locks are released. */
int follow_copy_lose_contact(struct follow_copy *c, struct err *e);

#endif
