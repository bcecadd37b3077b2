/* manifest.c - see manifest.h */
#include "data/manifest.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "share/base/file.h"
#include "share/base/lines.h"
#include "share/base/mem.h"
#include "share/base/paths.h"
#include "share/base/text.h"

static const char *const set_names[N_SETS] = { "train", "dev", "test" };

const char *corpus_set_name(enum corpus_set set)
{
	return set_names[set];
}

static int complain(const struct lines *in, const char *path, struct err *e, const char *what)
{
	return err_set(e, ERR_CONFIG, "%s:%lld: %s", path, (long long)in->number, what);
}

static int begin_archive(struct manifest *m, char *line, const struct lines *in, const char *path,
			 struct err *e)
{
	char *end = strchr(line, ']');
	struct manifest_archive *a;

	if (!text_starts_with(line, "[archive ") || !end || end[1])
		return complain(in, path, e, "expected [archive NAME]");
	*end = 0;
	if (mem_grow(&m->archives, &m->cap, m->n + 1, sizeof(*a), e))
		return e->code;
	a = &m->archives[m->n];
	*a = (struct manifest_archive){ .bytes = -1 };
	a->name = mem_strdup(text_trim(line + 9), e);
	if (!a->name)
		return e->code;
	m->n++;
	if (!paths_check_name("archive", a->name, e))
		return 0;
	e->code = ERR_CONFIG;
	return err_prefix(e, "%s:%lld", path, (long long)in->number);
}

static int add_url(struct manifest_archive *a, const char *value, struct err *e)
{
	if (mem_grow(&a->urls, &a->cap_urls, a->n_urls + 1, sizeof(*a->urls), e))
		return e->code;
	a->urls[a->n_urls] = mem_strdup(value, e);
	return a->urls[a->n_urls] ? (a->n_urls++, 0) : e->code;
}

/* hex holds room characters and a NUL. */
static bool copy_hex(char *hex, size_t room, const char *value)
{
	size_t i;

	if (strlen(value) != room)
		return false;
	for (i = 0; i < room; i++) {
		if (!isxdigit((unsigned char)value[i]))
			return false;
		hex[i] = (char)tolower((unsigned char)value[i]);
	}
	hex[room] = 0;
	return true;
}

/* "dev.en" = path */
static int add_member(struct manifest_archive *a, const char *key, const char *value, struct err *e)
{
	const char *dot = strchr(key, '.');
	struct manifest_member m = { 0 };
	int set = 0;

	while (dot && set < N_SETS && (strlen(set_names[set]) != (size_t)(dot - key) ||
				       strncmp(key, set_names[set], (size_t)(dot - key))))
		set++;
	if (!dot || set == N_SETS || !dot[1] || strlen(dot + 1) >= sizeof(m.language) || !*value)
		return err_set(e, ERR_CONFIG,
			       "'%s' is none of url, bytes, sha256, md5, SET.LANGUAGE (train.en)",
			       key);
	m.set = (enum corpus_set)set;
	memcpy(m.language, dot + 1, strlen(dot + 1) + 1);
	m.path = mem_strdup(value, e);
	if (!m.path || mem_grow(&a->members, &a->cap_members, a->n_members + 1, sizeof(m), e)) {
		free(m.path);
		return e->code;
	}
	a->members[a->n_members++] = m;
	return 0;
}

static int set_key(struct manifest_archive *a, const char *key, const char *value, struct err *e)
{
	if (!strcmp(key, "url"))
		return add_url(a, value, e);
	if (!strcmp(key, "bytes"))
		return text_to_int(value, &a->bytes) && a->bytes > 0 ? 0 :
		       err_set(e, ERR_CONFIG, "bytes is not a number: '%s'", value);
	if (!strcmp(key, "sha256"))
		return copy_hex(a->sha256, HASH_SHA256_HEX - 1, value) ? 0 :
		       err_set(e, ERR_CONFIG, "sha256 is not 64 hexadecimal digits");
	if (!strcmp(key, "md5"))
		return copy_hex(a->md5, HASH_MD5_HEX - 1, value) ? 0 :
		       err_set(e, ERR_CONFIG, "md5 is not 32 hexadecimal digits");
	return add_member(a, key, value, e);
}

static int read_line(struct manifest *m, char *line, const struct lines *in, const char *path,
		     struct err *e)
{
	char *equals, *key;

	line = text_trim(line);
	if (!*line || *line == '#' || *line == ';')
		return 0;
	if (*line == '[')
		return begin_archive(m, line, in, path, e);
	equals = strchr(line, '=');
	if (!equals)
		return complain(in, path, e, "expected key = value");
	if (!m->n)
		return complain(in, path, e, "expected [archive NAME] before the first key");
	*equals = 0;
	key = text_trim(line);
	if (set_key(&m->archives[m->n - 1], key, text_trim(equals + 1), e))
		return err_prefix(e, "%s:%lld", path, (long long)in->number);
	return 0;
}

static int read_lines(struct manifest *m, const char *path, struct err *e)
{
	struct lines in;
	char *copy;
	int got, rc = 0;

	if (lines_open(&in, path, e))
		return e->code;
	while (!rc && (got = lines_next(&in, e)) != 0) {
		copy = got < 0 ? NULL : mem_strdup(in.text, e);
		rc = copy ? read_line(m, copy, &in, path, e) : e->code;
		free(copy);
	}
	lines_close(&in);
	if (!rc && !m->n)
		rc = err_set(e, ERR_CONFIG, "%s: names no archive", path);
	return rc;
}

int manifest_read(struct manifest *m, const char *name, struct err *e)
{
	char *path = NULL, *shipped = NULL;
	int rc = -1;

	*m = (struct manifest){ 0 };
	if (strchr(name, '/')) {
		path = mem_strdup(name, e);
	} else {
		shipped = file_path(e, "corpora/%s%s", name,
				    text_ends_with(name, ".manifest") ? "" : ".manifest");
		path = shipped ? paths_shipped(shipped, e) : NULL;
	}
	if (path)
		rc = read_lines(m, path, e);
	if (rc)
		manifest_free(m);
	free(shipped);
	free(path);
	return rc ? e->code : 0;
}

void manifest_free(struct manifest *m)
{
	size_t i, j;

	for (i = 0; i < m->n; i++) {
		struct manifest_archive *a = &m->archives[i];

		for (j = 0; j < a->n_urls; j++)
			free(a->urls[j]);
		for (j = 0; j < a->n_members; j++)
			free(a->members[j].path);
		free(a->urls);
		free(a->members);
		free(a->name);
	}
	free(m->archives);
	*m = (struct manifest){ 0 };
}
