/* server_files.c - see server_files.h */
#include "eval/server/server_files.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#include "share/base/mem.h"
#include "share/base/text.h"
#include "share/base/util.h"

#define NAME_MAX_BYTES ((size_t)100)

/* Letters beyond ASCII count: addresses and headers have them as %-escapes. */
static bool is_safe_char(char c)
{
	return (unsigned char)c >= 0x80 || (c >= '0' && c <= '9') || (c >= 'A' && c <= 'Z') ||
	       (c >= 'a' && c <= 'z') || (c && strchr("._-", c));
}

/* Appends the safe characters; others become "_", one for several in a row. */
static void add_safe_name(struct buf *out, const char *text, size_t n)
{
	n = utf8_valid_prefix(text, MIN(n, NAME_MAX_BYTES));
	for (size_t i = 0; i < n; i++)
		if (is_safe_char(text[i]))
			buf_add_char(out, text[i]);
		else if (!out->len || out->data[out->len - 1] != '_')
			buf_add_char(out, '_');
}

char *files_name(const char *path, const char *language, struct err *e)
{
	struct buf out = { 0 };
	const char *dot;
	char *name;

	for (const char *at = path; *at; at++)
		if (*at == '/' || *at == '\\')
			path = at + 1;
	while (*path == '.')
		path++;
	dot = strrchr(path, '.');
	add_safe_name(&out, path, dot ? (size_t)(dot - path) : strlen(path));
	buf_add_char(&out, '_');
	add_safe_name(&out, language, strlen(language));
	if (dot)
		buf_add_str(&out, dot); /* of a known format, so it is safe */
	name = buf_check(&out, e) ? NULL : mem_strdup(buf_text(&out), e);
	buf_free(&out);
	return name;
}

void files_put_name(const char *name, bool is_escaped, struct buf *out)
{
	for (; *name; name++)
		if ((unsigned char)*name < 0x80)
			buf_add_char(out, *name);
		else if (is_escaped)
			buf_printf(out, "%%%02X", (unsigned char)*name);
		else if (!out->len || out->data[out->len - 1] != '_')
			buf_add_char(out, '_');
}

static int make_secret(char text[FILES_ID], struct err *e)
{
	unsigned char random[(FILES_ID - 1) / 2];

	if (getrandom(random, sizeof(random), 0) != (ssize_t)sizeof(random))
		return err_set_errno(e, ERR_INTERNAL, "no random numbers");
	for (size_t i = 0; i < sizeof(random); i++)
		snprintf(text + 2 * i, 3, "%02x", random[i]);
	return 0;
}

static bool is_finished(const struct server_file *file)
{
	return *file->id && !file->job;
}

static size_t count_finished(const struct server_files *f, uint64_t client)
{
	size_t n = 0;

	for (size_t i = 0; i < FILES_MAX; i++)
		n += is_finished(&f->all[i]) && f->all[i].client == client;
	return n;
}

/* The finished file that makes room: of the client that has most of them, the one that expires first. NULL: none is finished. */
static struct server_file *oldest_file(struct server_files *f)
{
	struct server_file *oldest = NULL;
	size_t most = 0;

	for (size_t i = 0; i < FILES_MAX; i++) {
		struct server_file *file = &f->all[i];
		const size_t n = is_finished(file) ? count_finished(f, file->client) : 0;

		if (n && (n > most || (n == most && file->expires < oldest->expires))) {
			oldest = file;
			most = n;
		}
	}
	return oldest;
}

struct server_file *files_add(struct server_files *f, char *name, struct translation_job *job,
			      uint64_t client, double now, struct err *e)
{
	struct server_file *file = NULL;

	for (size_t i = 0; i < FILES_MAX && !file; i++)
		if (!*f->all[i].id)
			file = &f->all[i];
	if (!file && !(file = oldest_file(f))) {
		err_set(e, ERR_TEMPFAIL, "too many files are being translated: try again later");
		return NULL;
	}
	files_remove(NULL, file);
	if (make_secret(file->id, e) || make_secret(file->key, e)) {
		*file->id = '\0';
		return NULL;
	}
	file->name = name;
	file->job = job;
	file->client = client;
	file->began = now;
	file->expires = INFINITY;
	return file;
}

struct server_file *files_find(struct server_files *f, const char *id, size_t n)
{
	for (size_t i = 0; i < FILES_MAX; i++)
		if (n == FILES_ID - 1 && !memcmp(f->all[i].id, id, n))
			return &f->all[i];
	return NULL;
}

bool files_has_key(const struct server_file *file, const char *key)
{
	volatile unsigned char differs = strlen(key) != FILES_ID - 1;

	for (size_t i = 0; !differs && i < FILES_ID - 1; i++)
		differs = (unsigned char)(differs | (file->key[i] ^ key[i]));
	return !differs;
}

/* The job of a file is done: takes its bytes. */
static void take_result(struct translation_queue *q, struct server_file *file, double now)
{
	struct translation_job *job = file->job;
	struct queue_text *x = job->texts;

	if (job->fault) {
		snprintf(file->fault, sizeof(file->fault), "%s", job->fault);
	} else {
		buf_add(&file->bytes, x->best[0], x->n_bytes);
		file->n_chars = job->n_source_chars;
		if (file->bytes.failed)
			snprintf(file->fault, sizeof(file->fault), "no memory for the file");
	}
	queue_leave(q, job);
	file->job = NULL;
	file->expires = now + FILES_KEEP_S;
}

/* Makes room: the files that are finished have a limit together. */
static void limit_files(struct server_files *f)
{
	for (;;) {
		struct server_file *oldest = oldest_file(f);
		size_t bytes = 0;

		for (size_t i = 0; i < FILES_MAX; i++)
			bytes += f->all[i].bytes.len;
		if (bytes <= FILES_MAX_BYTES || !oldest)
			return;
		files_remove(NULL, oldest);
	}
}

void files_update(struct server_files *f, struct translation_queue *q, double now,
		  int64_t *key_chars, size_t n_keys)
{
	for (size_t i = 0; i < FILES_MAX; i++) {
		struct server_file *file = &f->all[i];

		if (*file->id && file->job && queue_job_is_done(file->job)) {
			take_result(q, file, now);
			if (file->client >= 1 && file->client <= n_keys)
				key_chars[file->client - 1] += (int64_t)file->n_chars;
			limit_files(f);
		}
		if (*file->id && now >= file->expires)
			files_remove(q, file);
	}
}

void files_remove(struct translation_queue *q, struct server_file *file)
{
	if (file->job)
		queue_leave(q, file->job);
	free(file->name);
	buf_free(&file->bytes);
	*file = (struct server_file){ .id = "" };
}

void files_free(struct server_files *f, struct translation_queue *q)
{
	for (size_t i = 0; i < FILES_MAX; i++)
		files_remove(q, &f->all[i]);
}
