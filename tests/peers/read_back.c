/*
 * read_back.c - prints what our readers read, so that readers.py can compare it with other programs
 *
 *	read_back READER [MEMBER...]
 *
 * Standard input and output are frames: four bytes, little-endian, with the length of the bytes
 * that follow. Each frame of the input is a file; its answer is JSON: {"read":VALUE}, or
 * {"refused":SENTENCE}. MEMBER...: what the reader "tar" looks for.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "data/sentencepiece/sp_model.h"
#include "data/source/archive.h"
#include "data/text/sgm.h"
#include "share/base/hash.h"
#include "share/base/text.h"
#include "share/base/util.h"
#include "share/format/json.h"
#include "train/ckpt/safetensors.h"

#define MAX_FRAME (16u << 20)

static char **members; /* of the command line */
static size_t n_members;

/* The path of a file in memory with these bytes. */
static const char *file_with(const void *bytes, size_t n)
{
	static char path[64];
	static int fd = -1;

	if (fd < 0)
		fd = memfd_create("read_back", MFD_CLOEXEC);
	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	if (fd < 0 || ftruncate(fd, 0) || pwrite(fd, bytes, n, 0) != (ssize_t)n) {
		perror("a file in memory");
		exit(1);
	}
	return path;
}

static void put_sha256(struct json_writer *w, const void *bytes, size_t n)
{
	struct err e = { 0 };
	struct hash *h = hash_new(HASH_SHA256, &e);
	char hex[HASH_SHA256_HEX] = "";

	if (h && !hash_add(h, bytes, n, &e))
		hash_hex(h, hex, &e);
	hash_free(h);
	json_str(w, hex);
}

/* Bytes that need not be UTF-8, in hexadecimal digits. */
static void put_hex(struct json_writer *w, const char *bytes, size_t n)
{
	struct buf hex = { 0 };

	for (size_t i = 0; i < n; i++)
		buf_printf(&hex, "%02x", (unsigned char)bytes[i]);
	json_str(w, buf_text(&hex));
	buf_free(&hex);
}

/* ---- readers: each appends one value, or returns an error ---- */

/* Objects as {"o":[[KEY,VALUE]...]}, numbers as {"n":TEXT}: keys may repeat. */
static void put_tree(struct json_writer *w, const struct json *v)
{
	char text[40];

	if (json_is_object(v) || json_is_array(v)) {
		if (json_is_object(v)) {
			json_open(w, '{');
			json_key(w, "o");
		}
		json_open(w, '[');
		for (const struct json *c = json_first(v); c; c = json_next(v, c)) {
			if (json_is_object(v)) {
				json_open(w, '[');
				json_str(w, json_child_key(c));
			}
			put_tree(w, c);
			if (json_is_object(v))
				json_close(w, ']');
		}
		json_close(w, ']');
		if (json_is_object(v))
			json_close(w, '}');
	} else if (json_is_null(v)) {
		json_null(w);
	} else if (json_text(v, NULL)) {
		json_str(w, json_text(v, ""));
	} else if (json_boolean(v, true) == json_boolean(v, false)) {
		json_bool(w, json_boolean(v, false));
	} else {
		snprintf(text, sizeof(text), "%.17g", json_number(v, 0));
		json_open(w, '{');
		json_put_str(w, "n", text);
		json_close(w, '}');
	}
}

static int read_json(const char *bytes, size_t n, struct json_writer *w, struct err *e)
{
	struct json *root = json_parse(bytes, n, e);

	if (root)
		put_tree(w, root);
	json_free(root);
	return e->code;
}

static int read_utf8(const char *bytes, size_t n, struct json_writer *w, struct err *e)
{
	(void)e;
	json_int(w, (int64_t)utf8_valid_prefix(bytes, n));
	return 0;
}

/* [[MEMBER, SHA-256]...] */
static int read_tar(const char *bytes, size_t n, struct json_writer *w, struct err *e)
{
	struct archive_reader *a =
		archive_open(file_with(bytes, n), (const char *const *)members, n_members, e);
	char block[4096];
	int64_t got = 0;
	size_t member;

	for (size_t i = 0; a && i < n_members; i++)
		archive_allow_missing(a, i);
	json_open(w, '[');
	while (a && got >= 0 && archive_next(a, &member, e) > 0) {
		struct buf all = { 0 };

		while ((got = archive_read(a, block, sizeof(block), e)) > 0)
			buf_add(&all, block, (size_t)got);
		json_open(w, '[');
		json_str(w, members[member]);
		put_sha256(w, buf_text(&all), all.len);
		json_close(w, ']');
		buf_free(&all);
	}
	json_close(w, ']');
	archive_close(a);
	return e->code;
}

/* [[NAME, TYPE, SHAPE, SHA-256]...] */
static int read_safetensors(const char *bytes, size_t n, struct json_writer *w, struct err *e)
{
	struct safetensors *s = safetensors_open(file_with(bytes, n), e);

	json_open(w, '[');
	for (size_t i = 0; s && i < safetensors_count(s); i++) {
		const struct safetensor *t = safetensors_at(s, i);

		json_open(w, '[');
		json_str(w, t->name);
		json_str(w, t->dtype);
		json_open(w, '[');
		for (size_t k = 0; k < t->n_dims; k++)
			json_int(w, t->dims[k]);
		json_close(w, ']');
		put_sha256(w, t->data, t->end - t->begin);
		json_close(w, ']');
	}
	json_close(w, ']');
	safetensors_close(s);
	return e->code;
}

/* [[PIECE, SCORE, TYPE]...] */
static int read_sentencepiece(const char *bytes, size_t n, struct json_writer *w, struct err *e)
{
	struct sp_model m;
	char score[40];

	if (sp_model_read(&m, bytes, n, "model", e))
		return e->code;
	json_open(w, '[');
	for (int32_t i = 0; i < m.pieces.n; i++) {
		size_t len;
		const char *piece = intern_text(&m.pieces, i, &len);

		json_open(w, '[');
		put_hex(w, piece, len);
		snprintf(score, sizeof(score), "%.9g", (double)m.entries[i].score);
		json_str(w, score);
		json_int(w, m.entries[i].type);
		json_close(w, ']');
	}
	json_close(w, ']');
	sp_model_free(&m);
	return 0;
}

/* [SEGMENT...] */
static int read_sgm(const char *bytes, size_t n, struct json_writer *w, struct err *e)
{
	struct sgm s;

	json_open(w, '[');
	if (!sgm_open_memory(&s, "set.sgm", bytes, n, e))
		while (sgm_next(&s, e) > 0)
			json_strn(w, s.text, s.len);
	sgm_close(&s);
	json_close(w, ']');
	return e->code;
}

static const struct reader {
	const char *name;
	int (*read)(const char *bytes, size_t n, struct json_writer *w, struct err *e);
} readers[] = {
	{ "json", read_json },
	{ "safetensors", read_safetensors },
	{ "sentencepiece", read_sentencepiece },
	{ "sgm", read_sgm },
	{ "tar", read_tar },
	{ "utf8", read_utf8 },
};

/* ---- frames ---- */

static void answer(const struct reader *r, const char *bytes, size_t n)
{
	struct err e = { 0 };
	struct buf read = { 0 }, out = { 0 };
	struct json_writer w = { .out = &read }, v = { .out = &out };
	unsigned char size[4];

	json_open(&v, '{');
	if (r->read(bytes, n, &w, &e)) {
		json_put_str(&v, "refused", e.text);
	} else {
		json_key(&v, "read");
		json_raw(&v, buf_text(&read), read.len);
	}
	json_close(&v, '}');
	for (int i = 0; i < 4; i++)
		size[i] = (unsigned char)(out.len >> 8 * i);
	fwrite(size, 1, 4, stdout);
	fwrite(out.data, 1, out.len, stdout);
	fflush(stdout);
	buf_free(&read);
	buf_free(&out);
}

int main(int argc, char **argv)
{
	const struct reader *r = NULL;
	unsigned char size[4];

	for (size_t i = 0; argc > 1 && i < ARRAY_LEN(readers); i++)
		if (!strcmp(readers[i].name, argv[1]))
			r = &readers[i];
	if (!r) {
		fputs("usage: read_back READER [MEMBER...]; the readers are in its source\n",
		      stderr);
		return 64;
	}
	members = argv + 2;
	n_members = (size_t)argc - 2;
	while (fread(size, 1, 4, stdin) == 4) {
		size_t n = size[0] | (size_t)size[1] << 8 | (size_t)size[2] << 16 |
			   (size_t)size[3] << 24;
		char *bytes = n <= MAX_FRAME ? malloc(n + 1) : NULL;

		if (!bytes || fread(bytes, 1, n, stdin) != n)
			return 65;
		answer(r, bytes, n);
		free(bytes);
	}
	return 0;
}
