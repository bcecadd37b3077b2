/*
 * manifest_read.c - finds a manifest, and has it read by a child in a sandbox (see manifest.h)
 *
 * The child parses the file and writes one answer: a head, and after it the manifest, or the text of an error. The
 * manifest is a row of numbers (8 bytes) and texts (a number, then its bytes) in the order of manifest_encode(). This
 * process builds it again by the functions of manifest.c, which check each part.
 */
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "data/source/manifest_internal.h"
#include "share/base/buf.h"
#include "share/base/file.h"
#include "share/base/mem.h"
#include "share/base/text.h"
#include "share/base/util.h"
#include "share/guard/sandbox_child.h"
#include "share/workspace/paths.h"

#define ANSWER_MAX_BYTES (64u << 20) /* more than a manifest of MANIFEST_MAX_BYTES needs */

/* ---- the file ---- */

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

/* ---- the answer ---- */

struct manifest_answer {
	int64_t code;  /* 0, or of an error */
	int64_t bytes; /* that follow */
};

static void encode_number(struct buf *out, int64_t number)
{
	buf_add(out, &number, sizeof(number));
}

static void encode_text(struct buf *out, const char *text)
{
	encode_number(out, (int64_t)strlen(text));
	buf_add_str(out, text);
}

static void encode_sums(struct buf *out, const struct manifest_sums *s)
{
	encode_number(out, s->bytes);
	encode_text(out, s->sha256);
	encode_text(out, s->md5);
}

void manifest_encode(struct buf *out, const struct manifest *m)
{
	encode_number(out, (int64_t)m->n);
	for (size_t i = 0; i < m->n; i++) {
		const struct manifest_archive *a = &m->archives[i];
		char key[sizeof(a->members->set) + sizeof(a->members->language)];

		encode_text(out, a->name);
		encode_sums(out, &a->sums);
		encode_number(out, a->text_bytes);
		encode_number(out, (int64_t)a->n_urls);
		for (size_t k = 0; k < a->n_urls; k++) {
			encode_text(out, a->urls[k].request);
			encode_sums(out, &a->urls[k].sums);
		}
		encode_number(out, (int64_t)a->n_members);
		for (size_t k = 0; k < a->n_members; k++) {
			snprintf(key, sizeof(key), "%s.%s", a->members[k].set,
				 a->members[k].language);
			encode_text(out, key);
			encode_text(out, a->members[k].path);
		}
	}
}

/* What is left of an answer. */
struct manifest_bytes {
	const char *at;
	size_t left;
	bool is_wrong; /* an answer that no manifest has */
};

/* A number from `least` to `most`; else is_wrong, and `least`. */
static int64_t decode_number(struct manifest_bytes *b, int64_t least, int64_t most)
{
	int64_t number = least;

	if (b->left >= sizeof(number)) {
		memcpy(&number, b->at, sizeof(number));
		b->at += sizeof(number);
		b->left -= sizeof(number);
	} else {
		b->is_wrong = true;
	}
	if (number >= least && number <= most)
		return number;
	b->is_wrong = true;
	return least;
}

/* A text of less than `room` bytes in `to`: UTF-8 without control characters; else is_wrong, and "". */
static void decode_text(struct manifest_bytes *b, char *to, size_t room)
{
	const size_t n = (size_t)decode_number(b, 0, (int64_t)room - 1);

	*to = '\0';
	b->is_wrong |= n > b->left;
	if (b->is_wrong)
		return;
	memcpy(to, b->at, n);
	to[n] = '\0';
	b->at += n;
	b->left -= n;
	b->is_wrong = strlen(to) != n || manifest_has_control_byte(to) || !utf8_valid(to, n);
}

static void decode_hash(struct manifest_bytes *b, char *hex, size_t room)
{
	size_t n;

	decode_text(b, hex, room);
	n = strspn(hex, "0123456789abcdef");
	b->is_wrong |= hex[n] || (n && n != room - 1);
}

static void decode_sums(struct manifest_bytes *b, struct manifest_sums *s)
{
	s->bytes = decode_number(b, -1, INT64_MAX);
	decode_hash(b, s->sha256, sizeof(s->sha256));
	decode_hash(b, s->md5, sizeof(s->md5));
	b->is_wrong |= s->bytes == 0;
}

static int decode_archive(struct manifest_bytes *b, struct manifest *m, char *text, struct err *e)
{
	char key[MANIFEST_MAX_NAME];
	struct manifest_archive *a;
	struct manifest_sums sums;
	int64_t n;

	decode_text(b, text, MANIFEST_MAX_LINE);
	if (b->is_wrong || manifest_add_archive(m, text, e))
		return -1;
	a = &m->archives[m->n - 1];
	decode_sums(b, &a->sums);
	a->text_bytes = decode_number(b, -1, INT64_MAX);
	b->is_wrong |= a->text_bytes == 0;
	for (n = decode_number(b, 0, MANIFEST_MAX_URLS); n > 0; n--) {
		decode_text(b, text, MANIFEST_MAX_LINE);
		decode_sums(b, &sums);
		if (b->is_wrong || manifest_add_url(a, text, &sums, e))
			return -1;
	}
	for (n = decode_number(b, 0, MANIFEST_MAX_MEMBERS); n > 0; n--) {
		decode_text(b, key, sizeof(key));
		decode_text(b, text, MANIFEST_MAX_LINE);
		if (b->is_wrong || manifest_add_member(a, key, text, e))
			return -1;
	}
	return 0;
}

bool manifest_decode(struct manifest *m, const char *bytes, size_t n, struct err *e)
{
	struct manifest_bytes b = { .at = bytes, .left = n };
	char *text = mem_alloc(MANIFEST_MAX_LINE, 1, e);
	int64_t archives = text ? decode_number(&b, 1, MANIFEST_MAX_ARCHIVES) : 0;
	bool is_right = text != NULL;

	*m = (struct manifest){ 0 };
	for (; archives > 0 && is_right; archives--)
		is_right = !decode_archive(&b, m, text, e);
	is_right =
		is_right && !b.is_wrong && !b.left && manifest_count_sets(m) <= MANIFEST_MAX_SETS;
	if (!is_right)
		manifest_free(m);
	free(text);
	return is_right;
}

/* ---- the child and its parent ---- */

static void manifest_run_child(int pipe, const void *path)
{
	struct manifest_answer head = { 0 };
	struct buf text = { 0 };
	struct err e = { 0 };
	struct manifest m;

	if (!manifest_parse(&m, path, &e)) {
		manifest_encode(&text, &m);
		buf_check(&text, &e);
	}
	head.code = e.code;
	head.bytes = (int64_t)(e.code ? strlen(e.text) : text.len);
	if (!file_write_fd(pipe, &head, sizeof(head)))
		file_write_fd(pipe, e.code ? e.text : text.data, (size_t)head.bytes);
}

static int manifest_take_answer(struct sandbox_child *c, struct manifest *m, struct err *e)
{
	struct manifest_answer head;
	char *bytes;
	int rc = 0;

	if (!sandbox_child_take(c, &head, sizeof(head)))
		return sandbox_child_report_end(c, e);
	if (head.code && head.bytes >= 0)
		return sandbox_child_take_fault(c, head.code, (size_t)head.bytes, e);
	if (head.code || head.bytes <= 0 || head.bytes > ANSWER_MAX_BYTES)
		return sandbox_child_report_wrong(c, e);
	bytes = mem_alloc((size_t)head.bytes, 1, e);
	if (!bytes)
		return e->code;
	if (!sandbox_child_take(c, bytes, (size_t)head.bytes))
		rc = sandbox_child_report_end(c, e);
	else if (!manifest_decode(m, bytes, (size_t)head.bytes, e))
		rc = e->code == ERR_NOMEM ? e->code : sandbox_child_report_wrong(c, e);
	free(bytes);
	return rc;
}

int manifest_read(struct manifest *m, const char *name, struct err *e)
{
	struct manifest read = { 0 };
	struct sandbox_child c;
	char *path = manifest_find_file(name, e);
	int rc;

	*m = (struct manifest){ 0 };
	if (!path || manifest_set_name(m, path, e)) {
		free(path);
		return e->code;
	}
	rc = sandbox_child_start(&c, path, "reads", manifest_run_child, path, e);
	if (!rc)
		rc = manifest_take_answer(&c, &read, e);
	sandbox_child_close(&c);
	if (!rc) {
		memcpy(read.name, m->name, sizeof(read.name));
		*m = read;
	}
	free(path);
	return rc;
}
