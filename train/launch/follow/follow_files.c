/* follow_files.c - see follow_files.h */
#include "train/launch/follow/follow_files.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "share/base/clock.h"
#include "share/base/file.h"
#include "share/base/mem.h"
#include "share/base/text.h"
#include "share/base/util.h"
#include "share/workspace/paths.h"

#define FILES_MAX  50000	      /* more files of a workspace are not copied */
#define NOTES_MOST ((size_t)16 << 20) /* bytes */

/* What is copied; most: larger files are left out. */
static const struct copied_kind copied_kinds[] = {
	{ "runs", "journal.jsonl", true, (int64_t)4 << 30 },
	{ "runs", "samples.jsonl", true, (int64_t)1 << 30 },
	{ "runs", "console.log", true, 8 << 20 },
	{ "runs", "state.json", false, 8 << 20 },
	{ "runs", "recipe.ini", false, 1 << 20 },
	{ "runs", "eval-test.json", false, 1 << 20 },
	{ "runs", "progress", false, 1 << 16 },
	{ "corpora", "manifest.json", false, 8 << 20 },
	{ "corpora", "progress.json", false, 1 << 20 },
};

void follow_copy_add_patterns(struct buf *out, bool grow, const char *run)
{
	for (size_t i = 0; i < ARRAY_LEN(copied_kinds); i++) {
		const struct copied_kind *k = &copied_kinds[i];

		if (k->grows == grow && (!run || !strcmp(k->folder, "runs")))
			buf_printf(out, " %s/%s/%s", k->folder, run ? run : "*", k->file);
	}
}

/* ---- names ----------------------------------------------------------------- */

/* "FOLDER/NAME/FILE" of the table, NAME being of a run or corpus; NULL: anything else. */
const struct copied_kind *copied_kind_find(const char *path, char *name, size_t room)
{
	const char *first = strchr(path, '/'), *last = strrchr(path, '/');

	if (!first || first == last || (size_t)(last - first) > room)
		return NULL;
	snprintf(name, room, "%.*s", (int)(last - first - 1), first + 1);
	if (paths_check_name("run", name, &(struct err){ 0 }))
		return NULL;
	for (size_t i = 0; i < ARRAY_LEN(copied_kinds); i++) {
		const struct copied_kind *k = &copied_kinds[i];

		if (!strcmp(last + 1, k->file) && strlen(k->folder) == (size_t)(first - path) &&
		    !strncmp(path, k->folder, strlen(k->folder)))
			return k;
	}
	return NULL;
}

/* Index of the file, or where it belongs in the sorted array. */
size_t copied_files_find(const struct follow_copy *c, const char *name, bool *found)
{
	size_t low = 0, high = c->n_files;

	*found = false;
	while (low < high) {
		size_t middle = low + (high - low) / 2;
		int order = strcmp(c->files[middle]->name, name);

		if (!order) {
			*found = true;
			return middle;
		}
		if (order < 0)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

static int insert_copied_file(struct follow_copy *c, size_t at, const char *path, const char *name,
			      const struct copied_kind *kind, struct err *e)
{
	struct copied_file *f;

	if (mem_grow(&c->files, &c->files_cap, c->n_files + 1, sizeof(struct copied_file *), e) ||
	    !(f = mem_alloc(1, sizeof(*f), e)))
		return e->code;
	f->kind = kind;
	f->name = mem_strdup(path, e);
	f->path = f->name ? file_path(e, "%s/%s/%s%s/%s", c->folder, kind->folder, c->prefix, name,
				      kind->file)
			  : NULL;
	if (!f->path) {
		copied_file_free(f);
		return e->code;
	}
	f->have = MAX(file_size(f->path), 0);
	f->is_unchecked = kind->grows && f->have > 0;
	memmove(c->files + at + 1, c->files + at, (c->n_files - at) * sizeof(struct copied_file *));
	c->files[at] = f;
	c->n_files++;
	return 0;
}

/* Make the folder of the copy of a run or corpus; a name that becomes too long is refused. */
int copied_files_make_folder(const struct follow_copy *c, const char *folder, const char *name,
			     struct err *e)
{
	char *path = file_path(e, "%s/%s/%s%s", c->folder, folder, c->prefix, name);
	int rc = path ? file_make_folders(path, e) : e->code;

	free(path);
	return rc;
}

/* The record of a file of this path; *f NULL: it is not copied. */
int copied_files_get(struct follow_copy *c, const char *path, bool grows, int64_t bytes,
		     struct copied_file **f, struct err *e)
{
	char name[101];
	const struct copied_kind *kind = copied_kind_find(path, name, sizeof(name));
	bool found;
	size_t at;
	int rc = 0;

	*f = NULL;
	if (!kind || kind->grows != grows || bytes < 0 || bytes > kind->most ||
	    strlen(c->prefix) + strlen(name) > 100)
		return 0;
	at = copied_files_find(c, path, &found);
	if (!found && c->n_files >= FILES_MAX)
		return 0;
	if (!found)
		rc = copied_files_make_folder(c, kind->folder, name, e);
	if (!rc && !found)
		rc = insert_copied_file(c, at, path, name, kind, e);
	if (!rc)
		*f = c->files[at];
	return rc;
}

void copied_file_free(struct copied_file *f)
{
	free(f->name);
	free(f->path);
	free(f);
}

/* ---- notes ------------------------------------------------------------------- */

/* "%s/%scopied": one file for each follower of this folder. */
char *copied_notes_path(const struct follow_copy *c, struct err *e)
{
	return file_path(e, "%s/%scopied", c->folder, c->prefix);
}

static int64_t changed_ns(const char *path)
{
	struct stat st;

	return stat(path, &st) ? -1 : (int64_t)st.st_mtim.tv_sec * 1000000000 + st.st_mtim.tv_nsec;
}

/* A line for each file: what the copy of this size and time is a copy of. */
int copied_notes_write(struct follow_copy *c, struct err *e)
{
	struct buf text = { 0 };
	char *path = copied_notes_path(c, e);
	int rc = path ? 0 : e->code;

	for (size_t i = 0; i < c->n_files; i++) {
		const struct copied_file *f = c->files[i];

		if (f->kind->grows && !f->is_unchecked)
			buf_printf(&text, "%llu %lld %lld %s\n", (unsigned long long)f->inode,
				   (long long)f->have, (long long)changed_ns(f->path), f->name);
		else if (!f->kind->grows && *f->was)
			buf_printf(&text, "%s %lld %s\n", f->was, (long long)changed_ns(f->path),
				   f->name);
	}
	if (!rc)
		rc = file_write_volatile(path, &text, e);
	buf_free(&text);
	free(path);
	c->is_changed = false;
	c->noted_at = clock_mono_s();
	return rc;
}

static int read_copied_note(struct follow_copy *c, char *line, struct err *e)
{
	char *words[4], name[101];
	const struct copied_kind *kind;
	int64_t first, second, changed;
	struct copied_file *f;
	size_t n = 0;

	while (n < ARRAY_LEN(words) && (words[n] = strsep(&line, " ")))
		n++;
	kind = n == 4 ? copied_kind_find(words[3], name, sizeof(name)) : NULL;
	if (!kind || !text_to_int(words[0], &first) || !text_to_int(words[1], &second) ||
	    !text_to_int(words[2], &changed))
		return 0;
	if (copied_files_get(c, words[3], kind->grows, 0, &f, e))
		return e->code;
	if (!f || changed_ns(f->path) != changed)
		return 0; /* the copy was changed after the note was written */
	if (kind->grows && f->have == second) {
		f->inode = (uint64_t)first;
		f->is_unchecked = false;
	} else if (!kind->grows) {
		snprintf(f->was, sizeof(f->was), "%.20s %.20s", words[0], words[1]);
	}
	return 0;
}

/* What an earlier process has copied. Damaged or missing notes cost time only. */
int copied_notes_read(struct follow_copy *c, struct err *e)
{
	struct buf text = { 0 };
	char *path = copied_notes_path(c, e), *rest, *line;
	int rc = path ? 0 : e->code;

	if (!rc && file_exists(path) && !file_read_all(path, NOTES_MOST, &text, &(struct err){ 0 }))
		for (rest = text.data; !rc && rest && (line = strsep(&rest, "\n"));)
			rc = read_copied_note(c, line, e);
	buf_free(&text);
	free(path);
	return rc;
}
