/*
 * held_output.h - the output of a sandboxed command belongs to a parent process
 *
 *	held_output_add_file(&h, path); held_output_add_folder(&h, path, beside);
 *	if (held_output_start(&h, &status, e)) return status or e;	the parent
 *	… enter the sandbox, run the command …				the child
 *
 * The process opens the temporaries of its outputs, then forks. The child runs the command; it may
 * enter a sandbox that knows neither the output nor its folder: outfile_open() and outfolder_open() of
 * a held path find the open temporary, and outfile_commit() and outfolder_commit() ask the parent,
 * which renames it. Whatever the child did not commit is removed when it ends. The parent passes on
 * signals and ends as the child does.
 */
#ifndef WERKBANK_SHARE_BASE_HELD_OUTPUT_H
#define WERKBANK_SHARE_BASE_HELD_OUTPUT_H

#include <stdbool.h>
#include <stddef.h>

#include "share/base/err.h"

#define HELD_OUTPUTS 4

struct held_outputs; /* one for the process; NULL: out of memory */

struct held_outputs *held_outputs_new(struct err *e);

/*
 * Open the temporary of a file or of a folder (see outfolder_open() for beside). A failure is kept
 * for the child's call of outfile_open() or outfolder_open(). At most HELD_OUTPUTS in all.
 */
void held_output_add_file(struct held_outputs *h, const char *path);
void held_output_add_folder(struct held_outputs *h, const char *path, const char *beside);

/* The temporary folder of output i, which the command fills; NULL: none. Borrowed. */
const char *held_output_folder(const struct held_outputs *h, size_t i);

/*
 * Fork. 0: this is the child, in which the held outputs are used from now on, until it ends. 1: this
 * is the parent; the child has ended, *status is its exit status, all outputs are settled and h is
 * freed. < 0: no process could be made; h is freed.
 */
int held_output_start(struct held_outputs *h, int *status, struct err *e);

#endif
