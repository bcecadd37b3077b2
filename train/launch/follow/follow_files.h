/*
 * follow_files.h - the files of a followed workspace and of its copy, for follow_copy.c: which files are
 * copied, which are known, and the notes FOLDER/PREFIXcopied, by which the next process knows what
 * the copies are copies of.
 */
#ifndef WERKBANK_TRAIN_LAUNCH_FOLLOW_FOLLOW_FILES_H
#define WERKBANK_TRAIN_LAUNCH_FOLLOW_FOLLOW_FILES_H

#include "train/launch/follow/follow_copy.h"

struct copied_kind {
	const char *folder, *file;
	bool grows;   /* else the file is replaced as a whole */
	int64_t most; /* bytes; larger files are left out */
};

struct copied_file {
	char *name; /* owned: there, relative to the workspace */
	char *path; /* owned: here */
	const struct copied_kind *kind;
	bool is_seen;	       /* in this poll */
	bool is_unchecked;     /* the bytes here are older than this process */
	uint64_t inode;	       /* of a file that grows */
	int64_t there, have;   /* its bytes */
	char sum[48], was[48]; /* of a file that is replaced: checksum and size; of the copy */
};

/* A run there with a living launcher. */
struct live_run {
	char name[101];
	bool is_seen; /* in this poll */
	int lock;     /* descriptor */
};

struct follow_copy {
	char *folder, *prefix;	    /* owned */
	struct copied_file **files; /* owned; sorted by name */
	size_t n_files, files_cap;
	struct live_run *live; /* owned */
	size_t n_live, live_cap;
	size_t next;	 /* file of the next request */
	bool is_changed; /* since the notes were written */
	double noted_at; /* clock_mono_s() */
};

/*
 * The kind of a file "runs/NAME/FILE" or "corpora/NAME/FILE"; NAME is written to name. NULL: such a
 * file is not copied, or NAME is not a name.
 */
const struct copied_kind *copied_kind_find(const char *path, char *name, size_t room);

/* Index of the file, or where it belongs in the sorted array. */
size_t copied_files_find(const struct follow_copy *c, const char *name, bool *found);

/* The record of a file of this path, a new one if necessary; *f NULL: it is not copied. */
int copied_files_get(struct follow_copy *c, const char *path, bool grows, int64_t bytes,
		     struct copied_file **f, struct err *e);

/* Make the folder of the copy of a run or corpus. */
int copied_files_make_folder(const struct follow_copy *c, const char *folder, const char *name,
			     struct err *e);
void copied_file_free(struct copied_file *f);

/* A line for each file: what its copy of this size and time is a copy of. */
int copied_notes_write(struct follow_copy *c, struct err *e);
/* Damaged or missing notes cost time only. */
int copied_notes_read(struct follow_copy *c, struct err *e);
char *copied_notes_path(const struct follow_copy *c, struct err *e); /* owned by the caller */

#endif
