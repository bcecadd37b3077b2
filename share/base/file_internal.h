/* file_internal.h - what file_write.c and file_folder.c share; see file.h */
#ifndef WERKBANK_SHARE_BASE_FILE_INTERNAL_H
#define WERKBANK_SHARE_BASE_FILE_INTERNAL_H

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>

#include "share/base/err.h"
#include "share/base/file.h"

#define FILE_NAME_TRIES 100 /* random names before giving up: 64 bits do not collide by chance */
#define FILE_LINK_LIMIT 8   /* links that lead to links */

/* The last part of a path; *folder: the length of the part before it, with the slash. */
const char *file_last_part(const char *path, size_t *folder);

/* NAME.HEX.tmp, with 16 random digits. */
int file_temporary_name(char out[NAME_MAX + 1], const char *name, struct err *e);

/* errno as ERR_CANTCREAT …: a missing folder is no missing input. */
int file_cannot_write(struct err *e, const char *path);

/*
 * Open a folder (O_PATH), seen from the folder `from`, one part of the path after the other: -1,
 * errno. A link in a folder that everybody can write in counts only if this user, root or that
 * folder's owner has made it, as with the kernel's fs.protected_symlinks, which may be off: else
 * EPERM. A temporary folder (NAME.HEX.tmp) is none of these links, and no part below it is a link,
 * whoever made it: EPERM. *in_temporary (may be NULL): the folder is a temporary one or below one.
 */
int file_open_folder(int from, const char *path, bool *in_temporary);

/* The same for the folder of `path`, the current folder if it has none; name gets the last part. */
int file_open_folder_of(int from, const char *path, char name[NAME_MAX + 1], bool *in_temporary);

/* The message for a folder that file_open_folder() did not open. */
int file_cannot_open_folder(struct err *e, const char *path);

/*
 * held_output.c: an output that a parent process holds for this one. true: *to is it, or e says why it
 * could not be opened. false: nobody holds this path.
 */
bool held_take_file(struct outfile *to, const char *path, struct err *e);
bool held_take_folder(struct outfolder *to, const char *path, const char *beside, struct err *e);
/* Let the parent rename it. held: the member of that name. */
int held_commit(int held, struct err *e);

#endif
