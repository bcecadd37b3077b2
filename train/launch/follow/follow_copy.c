/* follow_copy.c - see follow_copy.h */
#include "train/launch/follow/follow_files.h"

#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "share/base/clock.h"
#include "share/base/file.h"
#include "share/base/mem.h"
#include "share/base/text.h"
#include "share/base/util.h"
#include "share/format/json.h"
#include "share/workspace/paths.h"

#define CHUNK_BYTES  ((int64_t)1 << 20)
#define CHECK_BYTES  4096 /* the end of an older copy is compared with the file */
#define LINE_WORDS   16
#define NOTE_EVERY_S 10

void follow_copy_free(struct follow_copy *c)
{
	if (!c)
		return;
	for (size_t i = 0; i < c->n_files; i++)
		copied_file_free(c->files[i]);
	for (size_t i = 0; i < c->n_live; i++)
		close(c->live[i].lock);
	free(c->files);
	free(c->live);
	free(c->folder);
	free(c->prefix);
	free(c);
}

const char *follow_copy_name(const struct copied_file *f)
{
	return f->name;
}

int64_t follow_copy_size(const struct copied_file *f)
{
	return f->there;
}

/* ---- a poll ------------------------------------------------------------------ */

void follow_copy_begin(struct follow_copy *c)
{
	for (size_t i = 0; i < c->n_files; i++)
		c->files[i]->is_seen = false;
	for (size_t i = 0; i < c->n_live; i++)
		c->live[i].is_seen = false;
}

/* Forget what is here of a file; the next request begins at its first byte. */
static void discard_copy(struct copied_file *f)
{
	unlink(f->path); /* a reader sees another inode and begins again, too */
	f->have = 0;
	f->is_unchecked = false;
}

static int add_growing_file(struct follow_copy *c, const char *name, int64_t inode, int64_t bytes,
			    struct err *e)
{
	struct copied_file *f;

	if (copied_files_get(c, name, true, bytes, &f, e))
		return e->code;
	if (!f)
		return 0;
	if ((f->inode && f->inode != (uint64_t)inode) || bytes < f->have)
		discard_copy(f);
	f->inode = (uint64_t)inode;
	f->there = bytes;
	f->is_seen = true;
	return 0;
}

static int add_replaced_file(struct follow_copy *c, const char *name, const char *sum,
			     const char *size, int64_t bytes, struct err *e)
{
	struct copied_file *f;

	if (copied_files_get(c, name, false, bytes, &f, e))
		return e->code;
	if (!f)
		return 0;
	snprintf(f->sum, sizeof(f->sum), "%.20s %.20s", sum, size);
	f->there = bytes;
	f->is_seen = true;
	return 0;
}

/* The launcher of a run lives: hold the lock of the copy. */
static int add_live_run(struct follow_copy *c, const char *path, struct err *e)
{
	const char *name = text_starts_with(path, "runs/") ? path + 5 : "";
	struct live_run *r;
	char *lock;
	int fd = -1, rc;

	if (paths_check_name("run", name, &(struct err){ 0 }) ||
	    strlen(c->prefix) + strlen(name) > 100)
		return 0;
	for (size_t i = 0; i < c->n_live; i++)
		if (!strcmp(c->live[i].name, name)) {
			c->live[i].is_seen = true;
			return 0;
		}
	rc = copied_files_make_folder(c, "runs", name, e);
	if (!rc)
		rc = mem_grow(&c->live, &c->live_cap, c->n_live + 1, sizeof(*c->live), e);
	lock = rc ? NULL : file_path(e, "%s/runs/%s%s/lock", c->folder, c->prefix, name);
	rc = lock ? file_open_in_place(&fd, lock, O_RDWR, e) : e->code;
	free(lock);
	if (rc)
		return rc;
	if (flock(fd, LOCK_EX | LOCK_NB) && errno != EWOULDBLOCK) {
		close(fd);
		return err_set_errno(e, ERR_IO, "the copy of the run %s cannot be locked", name);
	}
	r = &c->live[c->n_live++];
	*r = (struct live_run){ .is_seen = true, .lock = fd };
	snprintf(r->name, sizeof(r->name), "%s", name);
	return 0;
}

/* The file or the live run that a line names is not there any more, unless another line follows. */
static void forget_seen(struct follow_copy *c, const char *name, bool lives)
{
	bool found;
	size_t at = copied_files_find(c, name, &found);

	if (found && !lives)
		c->files[at]->is_seen = false;
	for (size_t i = 0; lives && i < c->n_live; i++)
		if (text_starts_with(name, "runs/") && !strcmp(c->live[i].name, name + 5))
			c->live[i].is_seen = false;
}

int follow_copy_add_line(struct follow_copy *c, const char *line, struct err *e)
{
	char text[1024], *words[LINE_WORDS], *rest = text, *word;
	bool gone = *line == '-';
	int64_t inode, bytes;
	size_t n = 0;

	line += gone;
	if ((size_t)snprintf(text, sizeof(text), "%s", line) >= sizeof(text))
		return 0;
	while (n < LINE_WORDS && (word = strsep(&rest, " ")))
		if (*word)
			words[n++] = word;
	if (gone) {
		if (n)
			forget_seen(c, words[n - 1], n == 2 && !strcmp(words[0], "alive"));
		return 0;
	}
	if (n == 2 && !strcmp(words[0], "alive"))
		return add_live_run(c, words[1], e);
	if (n == 3 && text_to_int(words[0], &inode) && text_to_int(words[1], &bytes))
		return add_replaced_file(c, words[2], words[0], words[1], bytes, e);
	if (n >= 9 && n < LINE_WORDS && words[1][0] == '-' && text_to_int(words[0], &inode) &&
	    text_to_int(words[5], &bytes))
		return add_growing_file(c, words[n - 1], inode, bytes, e);
	return 0;
}

/* Is a file of this name in the folder of the other file? */
static bool is_beside(const struct copied_file *f, const char *name)
{
	size_t n = (size_t)(strrchr(name, '/') + 1 - name);

	return !strncmp(f->name, name, n);
}

/* Does the run or corpus of file number i, which is gone, have other files, or does it live? */
static bool has_company(const struct follow_copy *c, size_t i)
{
	const char *path = c->files[i]->name;
	char name[101];

	for (size_t k = 0; k < c->n_files; k++)
		if (c->files[k]->is_seen && is_beside(c->files[k], path))
			return true;
	copied_kind_find(path, name, sizeof(name));
	for (size_t k = 0; k < c->n_live; k++)
		if (c->live[k].is_seen && !strcmp(c->live[k].name, name))
			return true;
	return false;
}

/* Remove the copy of file number i, and its folder if nothing else is in it. */
static void remove_copied_file(struct follow_copy *c, size_t i)
{
	const char *path = c->files[i]->path;
	int n = (int)(strrchr(path, '/') - path);
	struct err ignored;
	char *folder = file_path(&ignored, "%.*s", n, path),
	     *lock = file_path(&ignored, "%.*s/lock", n, path);

	unlink(path);
	if (folder && lock && !has_company(c, i)) {
		unlink(lock);
		rmdir(folder);
	}
	free(folder);
	free(lock);
}

/* Remove the copies of files that are gone there. */
static void drop_missing_files(struct follow_copy *c)
{
	size_t kept = 0;

	for (size_t i = 0; i < c->n_files; i++)
		if (!c->files[i]->is_seen)
			remove_copied_file(c, i);
	for (size_t i = 0; i < c->n_files; i++) {
		if (c->files[i]->is_seen) {
			c->files[kept++] = c->files[i];
			continue;
		}
		copied_file_free(c->files[i]);
		c->is_changed = true;
	}
	c->n_files = kept;
}

void follow_copy_end_look(struct follow_copy *c)
{
	drop_missing_files(c);
	c->next = 0;
}

static void release_live_run(struct follow_copy *c, size_t i)
{
	close(c->live[i].lock);
	c->live[i] = c->live[--c->n_live];
}

struct follow_copy *follow_copy_new(const char *folder, const char *prefix, struct err *e)
{
	struct follow_copy *c = mem_alloc(1, sizeof(*c), e);
	char *runs = c ? file_path(e, "%s/runs", folder) : NULL;
	int rc = runs ? file_make_folders(runs, e) : e->code;

	free(runs);
	if (!rc && !(c->folder = mem_strdup(folder, e)))
		rc = e->code;
	if (!rc && !(c->prefix = mem_strdup(prefix, e)))
		rc = e->code;
	if (!rc)
		rc = copied_notes_read(c, e);
	if (rc) {
		follow_copy_free(c);
		return NULL;
	}
	return c;
}

int follow_copy_end_round(struct follow_copy *c, bool first, struct err *e)
{
	for (size_t i = c->n_live; i-- > 0;)
		if (!c->live[i].is_seen)
			release_live_run(c, i);
	if (first || (c->is_changed && clock_mono_s() > c->noted_at + NOTE_EVERY_S))
		return copied_notes_write(c, e);
	return 0;
}

/* ---- bytes ------------------------------------------------------------------- */

/* The next bytes that a file needs; false: none. */
static bool next_bytes(const struct copied_file *f, struct copy_request *r)
{
	int64_t checked = MIN(f->have, CHECK_BYTES);

	r->file = (struct copied_file *)(uintptr_t)f;
	if (!f->kind->grows) {
		r->offset = 0;
		r->count = f->kind->most;
		return strcmp(f->sum, f->was) != 0;
	}
	r->offset = f->is_unchecked ? f->have - checked : f->have;
	r->count = f->is_unchecked ? checked : MIN(f->there - f->have, CHUNK_BYTES);
	return r->count > 0;
}

bool follow_copy_next_request(struct follow_copy *c, struct copy_request *r)
{
	while (c->next < c->n_files)
		if (next_bytes(c->files[c->next++], r))
			return true;
	return false;
}

/* Are these n bytes also at the end of the copy? */
static bool is_end_of_copy(const struct copied_file *f, const char *bytes, size_t n)
{
	char own[CHECK_BYTES];
	bool same = false;
	int fd;

	if (n != (size_t)MIN(f->have, CHECK_BYTES) ||
	    file_open_read(&fd, f->path, &(struct err){ 0 }))
		return false;
	same = pread(fd, own, n, f->have - (int64_t)n) == (ssize_t)n && !memcmp(own, bytes, n);
	close(fd);
	return same;
}

static int append_to_copy(struct copied_file *f, const char *bytes, size_t n, struct err *e)
{
	int fd, rc;

	if (file_open_in_place(&fd, f->path, O_WRONLY | O_APPEND, e))
		return e->code;
	rc = file_write_fd(fd, bytes, n) ? err_set_errno(e, ERR_IO, "%s", f->path) : 0;
	if (!rc)
		f->have += (int64_t)n;
	close(fd);
	return rc;
}

/*
 * Lists of runs are sorted by the times of their journals: a copy gets the time of its last record. A
 * time that cannot be found or set leaves the time of copying.
 */
static void set_time_of_record(const struct copied_file *f)
{
	char end[CHECK_BYTES + 1];
	struct err ignored;
	struct json *record;
	const char *line;
	ssize_t n;
	double t;
	int fd;

	if (file_open_read(&fd, f->path, &ignored))
		return;
	n = pread(fd, end, CHECK_BYTES, MAX(f->have - CHECK_BYTES, 0));
	while (n > 0 && end[n - 1] != '\n')
		n--;
	line = n > 1 ? memrchr(end, '\n', (size_t)n - 1) : NULL;
	line = line ? line + 1 : end;
	record = n > 1 ? json_parse(line, (size_t)(end + n - line), &ignored) : NULL;
	t = json_number(json_get(record, "t"), NAN);
	json_free(record);
	if (t > 0 && t < 1e11) {
		const struct timespec times[2] = { { 0, UTIME_OMIT },
						   { (time_t)t, (long)(fmod(t, 1) * 1e9) } };

		if (futimens(fd, times))
			t = NAN;
	}
	close(fd);
}

int follow_copy_add_bytes(struct follow_copy *c, struct copy_request *r, const char *bytes,
			  size_t n, bool *more, struct err *e)
{
	struct copied_file *f = r->file;
	struct buf whole = { 0 };
	int rc = 0;

	c->is_changed = true;
	*more = false;
	if (!f->kind->grows) {
		buf_add(&whole, bytes, n);
		rc = file_write_volatile(f->path, &whole, e);
		buf_free(&whole);
		memcpy(f->was, f->sum, sizeof(f->was));
		return rc;
	}
	if (f->is_unchecked) {
		if (is_end_of_copy(f, bytes, n))
			f->is_unchecked = false;
		else
			discard_copy(f);
	} else if (!n) {
		return 0; /* the file is gone: the next poll shows it */
	} else {
		rc = append_to_copy(f, bytes, n, e);
	}
	*more = !rc && next_bytes(f, r);
	if (!rc && !*more && text_ends_with(f->name, "/journal.jsonl"))
		set_time_of_record(f);
	return rc;
}

/* ---- no contact -------------------------------------------------------------- */

/* Replace the state in the text of a state.json by "unknown". */
static int write_unknown_state(struct copied_file *f, struct err *e)
{
	static const char key[] = "\"state\":";
	struct buf text = { 0 }, changed = { 0 };
	const char *at, *end;
	int rc = file_read_all(f->path, (size_t)f->kind->most, &text, e);

	at = rc ? NULL : strstr(buf_text(&text), key);
	at = at ? strchr(at + strlen(key), '"') : NULL;
	end = at ? strchr(at + 1, '"') : NULL;
	if (end) {
		buf_add(&changed, text.data, (size_t)(at + 1 - text.data));
		buf_add_str(&changed, "unknown");
		buf_add_str(&changed, end);
		rc = file_write_volatile(f->path, &changed, e);
	}
	buf_free(&text);
	buf_free(&changed);
	f->was[0] = 0; /* the next poll asks for the true state again */
	return rc;
}

int follow_copy_lose_contact(struct follow_copy *c, struct err *e)
{
	char *notes = copied_notes_path(c, e);
	int rc = notes ? 0 : e->code;

	if (notes)
		unlink(notes); /* the states are no longer copies */
	free(notes);

	while (c->n_live && !rc) {
		char name[130];
		bool found;
		size_t at;

		snprintf(name, sizeof(name), "runs/%s/state.json", c->live[c->n_live - 1].name);
		at = copied_files_find(c, name, &found);
		if (found && file_exists(c->files[at]->path))
			rc = write_unknown_state(c->files[at], e);
		release_live_run(c, c->n_live - 1);
	}
	return rc;
}
