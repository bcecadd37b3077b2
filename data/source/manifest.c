/* manifest.c - parser of the manifest of a corpus (see manifest.h) */
#include "data/source/manifest.h"

#include <assert.h>
#include <ctype.h>
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "data/source/fetch.h"
#include "share/base/file.h"
#include "share/base/mem.h"
#include "share/base/paths.h"
#include "share/base/text.h"
#include "share/base/util.h"

#define MAX_LINE   4000 /* bytes */
#define MAX_MEMBER 1000 /* bytes of a member's path */

/* The current position, for messages. */
struct reader {
	struct manifest *m;
	const char *path;
	int64_t line;
};

static bool has_control_byte(const char *text)
{
	for (; *text; text++)
		if (iscntrl((unsigned char)*text))
			return true;
	return false;
}

/* ---- sets and languages ---- */

bool manifest_set_is_extra(const char *set)
{
	return strcmp(set, "train") && strcmp(set, "dev") && strcmp(set, "test");
}

/* SET.LANGUAGE is a file in the corpus folder: these names would collide with other files there. */
static bool is_reserved(const char *set)
{
	static const char *const names[] = { "bpe",    "ledger",	"lock",	 "manifest",
					     "recipe", "sentencepiece", "shard", "stats",
					     "vocab",  "work" };
	size_t i;

	for (i = 0; i < ARRAY_LEN(names); i++)
		if (!strcmp(set, names[i]))
			return true;
	return false;
}

static bool is_set_name(const char *set)
{
	return *set && strspn(set, "abcdefghijklmnopqrstuvwxyz0123456789.-") == strlen(set) &&
	       isalnum((unsigned char)*set) && !is_reserved(set);
}

/* An ISO 639 code of two or three letters, optionally with a region or script: de, nds, pt-BR. */
static bool is_language(const char *language)
{
	size_t n = strspn(language, "abcdefghijklmnopqrstuvwxyz");

	if (n < 2 || n > 3)
		return false;
	if (!language[n])
		return true;
	if (language[n] != '-' && language[n] != '_')
		return false;
	language += n + 1;
	n = strlen(language);
	while (isalnum((unsigned char)*language))
		language++;
	return n && !*language;
}

/* Number of sets, counting train, dev and test in any case; stops soon after MANIFEST_MAX_SETS. */
static size_t count_sets(const struct manifest *m)
{
	char seen[MANIFEST_MAX_SETS + 1][32];
	size_t n = 0, i, j, k;

	for (i = 0; i < m->n; i++) {
		for (j = 0; j < m->archives[i].n_members && n <= MANIFEST_MAX_SETS; j++) {
			const char *set = m->archives[i].members[j].set;

			for (k = 0; k < n && strcmp(seen[k], set); k++)
				;
			assert(k <= n && n <= MANIFEST_MAX_SETS);
			if (k == n && manifest_set_is_extra(set))
				memcpy(seen[n++], set, sizeof(seen[0]));
		}
	}
	return n + 3;
}

/* ---- keys ---- */

/* "dev.en" = path */
static int manifest_add_member(struct manifest_archive *a, const char *key, const char *value,
			       struct err *e)
{
	const char *dot = strrchr(key, '.');
	struct manifest_member m = { 0 };
	size_t set = dot ? (size_t)(dot - key) : 0, i;

	if (!dot || set >= sizeof(m.set) || strlen(dot + 1) >= sizeof(m.language))
		return err_set(e, ERR_CONFIG,
			       "'%.80s' is none of url, bytes, sha256, md5, text, SET.LANGUAGE "
			       "(such as train.en)",
			       key);
	memcpy(m.set, key, set);
	memcpy(m.language, dot + 1, strlen(dot + 1));
	if (!is_set_name(m.set) || !is_language(m.language))
		return err_set(e, ERR_CONFIG,
			       "'%s' is no SET.LANGUAGE: a set is train, dev, test or another name "
			       "of a-z 0-9 . -, a language is two or three letters",
			       key);
	if (!*value || strlen(value) > MAX_MEMBER)
		return err_set(e, ERR_CONFIG, "%s: expected the path of a member", key);
	if (a->n_members == MANIFEST_MAX_MEMBERS)
		return err_set(e, ERR_CONFIG, "%s: more than %d members", a->name,
			       MANIFEST_MAX_MEMBERS);
	for (i = 0; i < a->n_members; i++)
		if (!strcmp(a->members[i].path, value))
			return err_set(e, ERR_CONFIG,
				       "member %s is in this archive already (%s.%s)", value,
				       a->members[i].set, a->members[i].language);
	m.path = mem_strdup(value, e);
	if (!m.path || mem_grow(&a->members, &a->cap_members, a->n_members + 1, sizeof(m), e)) {
		free(m.path);
		return e->code;
	}
	a->members[a->n_members++] = m;
	return 0;
}

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

static int add_url(struct manifest_archive *a, char *value, struct err *e)
{
	struct manifest_url u = { .sums = { .bytes = -1 } };
	size_t n = strcspn(value, " ");
	char *rest = value[n] ? value + n + 1 : value + n;

	value[n] = 0;
	if (!text_starts_with(value, "https://") && !text_starts_with(value, "http://") &&
	    !text_starts_with(value, "file://"))
		return err_set(e, ERR_CONFIG,
			       "a url must begin with https://, http:// or file://, not '%.*s'",
			       (int)MIN(strcspn(value, ":/@"), 80), value);
	if (a->n_urls == MANIFEST_MAX_URLS)
		return err_set(e, ERR_CONFIG, "%s: more than %d urls", a->name, MANIFEST_MAX_URLS);
	if (read_url_sums(&u.sums, rest, e))
		return e->code;
	u.url = fetch_public_url(value, e);
	u.request = mem_strdup(value, e);
	if (!u.url || !u.request || mem_grow(&a->urls, &a->cap_urls, a->n_urls + 1, sizeof(u), e)) {
		free(u.url);
		free(u.request);
		return e->code;
	}
	a->urls[a->n_urls++] = u;
	return 0;
}

static int manifest_set_key(struct manifest_archive *a, const char *key, char *value, struct err *e)
{
	bool known;
	int rc;

	if (!strcmp(key, "url"))
		return add_url(a, value, e);
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

/* NAME.json, NAME.part, ... are files beside an archive: an archive must not have such a name. */
static bool is_archive_name(const char *name)
{
	static const char *const taken[] = { ".json", ".part", ".tmp" };
	size_t i;

	for (i = 0; i < ARRAY_LEN(taken); i++)
		if (text_ends_with(name, taken[i]))
			return false;
	return strcmp(name, "lock") != 0;
}

static int begin_archive(struct manifest *m, char *line, struct err *e)
{
	char *end = strchr(line, ']'), *name;
	struct manifest_archive *a;
	size_t i;

	if (!text_starts_with(line, "[archive ") || !end || end[1])
		return err_set(e, ERR_CONFIG, "expected [archive NAME]");
	*end = 0;
	name = text_trim(line + 9);
	if (paths_check_name("archive", name, e))
		return e->code = ERR_CONFIG;
	if (!is_archive_name(name))
		return err_set(e, ERR_CONFIG,
			       "%s is reserved: an archive must not be called lock or end with "
			       ".json, .part or .tmp",
			       name);
	for (i = 0; i < m->n; i++)
		if (!strcmp(m->archives[i].name, name))
			return err_set(e, ERR_CONFIG, "archive %s is listed twice", name);
	if (m->n == MANIFEST_MAX_ARCHIVES)
		return err_set(e, ERR_CONFIG, "more than %d archives", MANIFEST_MAX_ARCHIVES);
	if (mem_grow(&m->archives, &m->cap, m->n + 1, sizeof(*a), e))
		return e->code;
	a = &m->archives[m->n];
	*a = (struct manifest_archive){ .sums = { .bytes = -1 }, .text_bytes = -1 };
	a->name = mem_strdup(name, e);
	if (!a->name)
		return e->code;
	m->n++;
	return 0;
}

static int manifest_read_line(struct manifest *m, char *line, struct err *e)
{
	char *equals, *tab;

	line = text_trim(line);
	if (!*line || *line == '#' || *line == ';')
		return 0;
	if (strlen(line) > MAX_LINE)
		return err_set(e, ERR_CONFIG, "the line is longer than %d bytes", MAX_LINE);
	for (tab = line; (tab = strchr(tab, '\t')) != NULL;)
		*tab = ' ';
	if (has_control_byte(line) || !utf8_valid(line, strlen(line)))
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
	if (count_sets(r->m) > MANIFEST_MAX_SETS)
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

/* The name of "some/x.manifest" is x. */
static int manifest_set_name(struct manifest *m, const char *path, struct err *e)
{
	const char *slash = strrchr(path, '/');
	const char *base = slash ? slash + 1 : path;
	size_t n = strlen(base);

	if (text_ends_with(base, ".manifest"))
		n -= strlen(".manifest");
	if (n >= sizeof(m->name))
		return err_set(e, ERR_CONFIG, "%s: a manifest's name has at most %d bytes", path,
			       MANIFEST_MAX_NAME);
	memcpy(m->name, base, n);
	if (paths_check_name("manifest", m->name, e))
		return e->code = ERR_CONFIG;
	return 0;
}

static int compare_names(const void *a, const void *b)
{
	return strcmp(a, b);
}

/* ERR_NOINPUT, with the names of all shipped manifests and the nearest one as a hint. */
static void unknown_manifest(const char *name, struct err *e)
{
	struct err ignored;
	char *folder = paths_shipped("corpora", &ignored);
	DIR *d = folder ? opendir(folder) : NULL;
	char names[32][60], hint[TEXT_HINT_MAX];
	const char *list[32];
	struct buf all = { 0 };
	size_t n = 0;

	for (struct dirent *f; d && n < ARRAY_LEN(list) && (f = readdir(d)) != NULL;) {
		size_t len = strlen(f->d_name);

		if (!text_ends_with(f->d_name, ".manifest") || len >= sizeof(names[0]))
			continue;
		snprintf(names[n++], sizeof(names[0]), "%.*s", (int)(len - 9), f->d_name);
	}
	qsort(names, n, sizeof(names[0]), compare_names);
	for (size_t i = 0; i < n; i++) {
		buf_printf(&all, "%s%s", i ? ", " : "", names[i]);
		list[i] = names[i];
	}
	if (d)
		closedir(d);
	free(folder);
	err_set(e, ERR_NOINPUT,
		"no corpus is called '%.100s'%s; shipped are: %s; give a manifest of your own as "
		"./NAME.manifest",
		name, text_hint(hint, text_nearest(name, list, n)),
		n ? buf_text(&all) : "none that could be found");
	buf_free(&all);
}

static char *manifest_find_file(const char *name, struct err *e)
{
	struct err ignored = { 0 };
	char *shipped, *path;

	if (strchr(name, '/'))
		return mem_strdup(name, e);
	shipped = file_path(e, "corpora/%s%s", name,
			    text_ends_with(name, ".manifest") ? "" : ".manifest");
	path = shipped ? paths_shipped(shipped, &ignored) : NULL;
	if (shipped && !path)
		unknown_manifest(name, e);
	free(shipped);
	return path;
}

int manifest_read(struct manifest *m, const char *name, struct err *e)
{
	struct reader r = { .m = m };
	struct buf text = { 0 };
	char *path;
	int rc = -1;

	*m = (struct manifest){ 0 };
	r.path = path = manifest_find_file(name, e);
	if (path && !manifest_set_name(m, path, e) &&
	    !file_read_all(path, MANIFEST_MAX_BYTES, &text, e)) {
		buf_add_char(&text, '\n'); /* text.data is NULL while the buffer is empty */
		rc = buf_check(&text, e) ? e->code
					 : manifest_read_lines(&r, text.data, text.len, e);
	}
	share_sums(m);
	if (rc)
		manifest_free(m);
	buf_free(&text);
	free(path);
	return rc ? e->code : 0;
}

void manifest_free(struct manifest *m)
{
	size_t i, j;

	for (i = 0; i < m->n; i++) {
		struct manifest_archive *a = &m->archives[i];

		for (j = 0; j < a->n_urls; j++) {
			free(a->urls[j].url);
			free(a->urls[j].request);
		}
		for (j = 0; j < a->n_members; j++)
			free(a->members[j].path);
		free(a->urls);
		free(a->members);
		free(a->name);
	}
	free(m->archives);
	*m = (struct manifest){ 0 };
}
