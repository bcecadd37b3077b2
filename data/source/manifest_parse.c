/* manifest_parse.c - the text of a manifest (see manifest_internal.h) */
#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "data/source/manifest_internal.h"
#include "share/base/buf.h"
#include "share/base/file.h"
#include "share/base/text.h"

/* The current position, for messages. */
struct reader {
	struct manifest *m;
	const char *path;
	int64_t line;
};

/* ---- keys ---- */

/* Store value in hex: [room + 1]. false: not room hexadecimal digits, or hex is already set. */
static bool copy_hex(char *hex, size_t room, const char *value)
{
	size_t i;

	if (strlen(value) != room || *hex)
		return false;
	for (i = 0; i < room; i++)
		if (!isxdigit((unsigned char)value[i]))
			return false;
	for (i = 0; i < room; i++)
		hex[i] = (char)tolower((unsigned char)value[i]);
	hex[room] = 0;
	return true;
}

/* Set bytes, sha256 or md5. *known = false: key is none of them. */
static int set_sum(struct manifest_sums *s, const char *key, const char *value, bool *known,
		   struct err *e)
{
	*known = true;
	if (!strcmp(key, "bytes"))
		return s->bytes < 0 && text_to_int(value, &s->bytes) && s->bytes > 0
			       ? 0
			       : err_set(e, ERR_CONFIG,
					 "bytes is not a number, or given twice: '%.40s'", value);
	if (!strcmp(key, "sha256"))
		return copy_hex(s->sha256, HASH_SHA256_HEX - 1, value)
			       ? 0
			       : err_set(e, ERR_CONFIG,
					 "sha256 is not 64 hexadecimal digits, or given twice");
	if (!strcmp(key, "md5"))
		return copy_hex(s->md5, HASH_MD5_HEX - 1, value)
			       ? 0
			       : err_set(e, ERR_CONFIG,
					 "md5 is not 32 hexadecimal digits, or given twice");
	*known = false;
	return 0;
}

/* Parse the KEY:VALUE words after a URL. Modifies text. */
static int read_url_sums(struct manifest_sums *s, char *text, struct err *e)
{
	char *word, *colon, *rest = NULL;
	bool known;

	for (word = strtok_r(text, " ", &rest); word; word = strtok_r(NULL, " ", &rest)) {
		colon = strchr(word, ':');
		known = false;
		if (colon)
			*colon = 0;
		if (colon && set_sum(s, word, colon + 1, &known, e))
			return e->code;
		if (!known)
			return err_set(e, ERR_CONFIG,
				       "after a url only bytes:N, sha256:HEX and md5:HEX are "
				       "allowed, not '%.80s'",
				       word);
	}
	return 0;
}

static int read_url(struct manifest_archive *a, char *value, struct err *e)
{
	struct manifest_sums sums = { .bytes = -1 };
	size_t n = strcspn(value, " ");
	char *rest = value[n] ? value + n + 1 : value + n;

	value[n] = 0;
	return read_url_sums(&sums, rest, e) ? e->code : manifest_add_url(a, value, &sums, e);
}

static int manifest_set_key(struct manifest_archive *a, const char *key, char *value, struct err *e)
{
	bool known;
	int rc;

	if (!strcmp(key, "url"))
		return read_url(a, value, e);
	if (!strcmp(key, "text"))
		return a->text_bytes < 0 && text_to_int(value, &a->text_bytes) && a->text_bytes > 0
			       ? 0
			       : err_set(e, ERR_CONFIG,
					 "text is not a number of bytes, or given twice: "
					 "'%.40s'",
					 value);
	rc = set_sum(&a->sums, key, value, &known, e);
	return rc || known ? rc : manifest_add_member(a, key, value, e);
}

/* ---- lines ---- */

static int begin_archive(struct manifest *m, char *line, struct err *e)
{
	char *end = strchr(line, ']');

	if (!text_starts_with(line, "[archive ") || !end || end[1])
		return err_set(e, ERR_CONFIG, "expected [archive NAME]");
	*end = 0;
	return manifest_add_archive(m, text_trim(line + 9), e);
}

static int manifest_read_line(struct manifest *m, char *line, struct err *e)
{
	char *equals, *tab;

	line = text_trim(line);
	if (!*line || *line == '#' || *line == ';')
		return 0;
	if (strlen(line) >= MANIFEST_MAX_LINE)
		return err_set(e, ERR_CONFIG, "the line is longer than %d bytes",
			       MANIFEST_MAX_LINE - 1);
	for (tab = line; (tab = strchr(tab, '\t')) != NULL;)
		*tab = ' ';
	if (manifest_has_control_byte(line) || !utf8_valid(line, strlen(line)))
		return err_set(e, ERR_CONFIG,
			       "the line holds a control character or is not valid UTF-8");
	if (*line == '[')
		return begin_archive(m, line, e);
	equals = strchr(line, '=');
	if (!equals)
		return err_set(e, ERR_CONFIG, "expected key = value");
	if (!m->n)
		return err_set(e, ERR_CONFIG, "expected [archive NAME] before the first key");
	*equals = 0;
	return manifest_set_key(&m->archives[m->n - 1], text_trim(line), text_trim(equals + 1), e);
}

/* Modifies text. */
static int manifest_read_lines(struct reader *r, char *text, size_t n, struct err *e)
{
	char *line = text, *end;

	if (strlen(text) != n)
		return err_set(e, ERR_CONFIG, "%s: holds a NUL byte: not a manifest", r->path);
	while (*line) {
		end = line + strcspn(line, "\n");
		r->line++;
		if (*end)
			*end++ = 0;
		if (manifest_read_line(r->m, line, e))
			return err_prefix(e, "%s:%lld", r->path, (long long)r->line);
		line = end;
	}
	if (!r->m->n)
		return err_set(e, ERR_CONFIG, "%s: names no archive", r->path);
	if (manifest_count_sets(r->m) > MANIFEST_MAX_SETS)
		return err_set(e, ERR_CONFIG, "%s: more than %d sets besides train, dev and test",
			       r->path, MANIFEST_MAX_SETS - 3);
	return 0;
}

/* A URL without sums of its own gets the sums of its archive. */
static void share_sums(struct manifest *m)
{
	size_t i, j;

	for (i = 0; i < m->n; i++) {
		struct manifest_archive *a = &m->archives[i];

		for (j = 0; j < a->n_urls; j++) {
			struct manifest_sums *s = &a->urls[j].sums;

			if (s->bytes < 0 && !s->sha256[0] && !s->md5[0])
				*s = a->sums;
		}
	}
}

int manifest_parse(struct manifest *m, const char *path, struct err *e)
{
	struct reader r = { .m = m, .path = path };
	struct buf text = { 0 };
	int rc = file_read_all(path, MANIFEST_MAX_BYTES, &text, e);

	*m = (struct manifest){ 0 };
	if (!rc) {
		buf_add_char(&text, '\n'); /* text.data is NULL while the buffer is empty */
		rc = buf_check(&text, e);
	}
	if (!rc)
		rc = manifest_read_lines(&r, text.data, text.len, e);
	share_sums(m);
	if (rc)
		manifest_free(m);
	buf_free(&text);
	return rc;
}
