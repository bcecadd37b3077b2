/* sp_model.c - reads and writes SentencePiece model files: see sp_model.h */
#include "data/sentencepiece/sp_model.h"

#include <assert.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "share/base/mem.h"
#include "share/base/text.h"
#include "share/base/util.h"
#include "share/format/proto.h"

enum { MODEL_UNIGRAM = 1, MODEL_BPE };

#define UNKNOWN_SURFACE " \xE2\x81\x87 " /* " ⁇ " */

enum { MODEL_PIECES = 1, MODEL_TRAINER, MODEL_NORMALIZER, MODEL_DENORMALIZER = 5 };
enum { PIECE_TEXT = 1, PIECE_SCORE, PIECE_TYPE };
enum {
	TRAINER_TYPE = 3,
	TRAINER_SIZE,
	TRAINER_COVERAGE = 10,
	TRAINER_SUFFIX = 24,
	TRAINER_BYTES = 35,
	TRAINER_UNKNOWN_ID = 40,
	TRAINER_START_ID,
	TRAINER_END_ID,
	TRAINER_PAD_ID,
	TRAINER_UNKNOWN_SURFACE,
};
enum {
	NORMALIZER_NAME = 1,
	NORMALIZER_RULES,
	NORMALIZER_DUMMY,
	NORMALIZER_EXTRA,
	NORMALIZER_ESCAPE,
};

static const char *const model_types[] = {
	[3] = "a word model",
	[4] = "a character model",
};

/* ---- reading ---- */

struct reading {
	struct sp_model *m;
	const char *name;
	bool has_trainer;
	uint64_t type; /* of the model */
};

static int sp_model_error(const struct reading *r, const char *what, struct err *e)
{
	return err_set(e, ERR_DATA, "%s: no SentencePiece model, or damaged (%s)", r->name, what);
}

int sp_model_add(struct sp_model *m, const char *piece, size_t n, float score, enum sp_type type,
		 struct err *e)
{
	int32_t id, known = m->pieces.n;

	assert(n && isfinite(score) && type >= SP_NORMAL && type <= SP_BYTE);
	if (intern_add(&m->pieces, piece, n, &id, e) ||
	    mem_grow(&m->entries, &m->cap_entries, (size_t)id + 1, sizeof(*m->entries), e))
		return e->code;
	if (id != known)
		return err_set(e, ERR_DATA, "the piece \"%.*s\" occurs twice", (int)MIN(n, 100),
			       piece);
	m->entries[id] = (struct sp_entry){ score, (uint8_t)type };
	return 0;
}

/* The number in "<0x1F>"; -1: other text. */
static int byte_of(const char *piece, size_t n)
{
	char text[8];
	unsigned int byte;
	char same[8];

	if (n != 6)
		return -1;
	memcpy(text, piece, n);
	text[n] = 0;
	if (sscanf(text, "<0x%2X>", &byte) != 1 || byte > 255)
		return -1;
	snprintf(same, sizeof(same), "<0x%02X>", byte);
	return strcmp(text, same) ? -1 : (int)byte;
}

static int read_piece(struct reading *r, const struct proto_field *message, struct err *e)
{
	struct proto p = { message->bytes, message->bytes + message->n };
	const char *text = NULL;
	size_t n = 0;
	float score = 0;
	uint64_t type = SP_NORMAL;
	struct proto_field f;
	int32_t id = r->m->pieces.n;
	int got;

	while ((got = proto_next(&p, &f)) > 0) {
		if (f.number == PIECE_TEXT && f.wire == PROTO_BYTES) {
			text = (const char *)f.bytes;
			n = f.n;
		} else if (f.number == PIECE_SCORE && f.wire == PROTO_FOUR) {
			score = proto_float(&f);
		} else if (f.number == PIECE_TYPE && f.wire == PROTO_VARINT) {
			type = f.value;
		}
	}
	if (got < 0 || !n || !isfinite(score) || type < SP_NORMAL || type > SP_BYTE ||
	    !utf8_valid(text, n) || memchr(text, 0, n))
		return err_set(e, ERR_DATA, "%s: piece %d is damaged", r->name, (int)id);
	if (type == SP_UNUSED)
		return err_set(e, ERR_DATA,
			       "%s: piece %d is marked as unused: models with a "
			       "restricted vocabulary are not supported",
			       r->name, (int)id);
	if (sp_model_add(r->m, text, n, score, (enum sp_type)type, e))
		return err_prefix(e, "%s", r->name);
	if (type == SP_UNKNOWN) {
		if (r->m->unknown >= 0)
			return err_set(e, ERR_DATA,
				       "%s: pieces %d and %d are both the unknown token, "
				       "expected one",
				       r->name, (int)r->m->unknown, (int)id);
		r->m->unknown = id;
	}
	if (type == SP_BYTE) {
		int byte = byte_of(text, n);

		if (byte < 0)
			return err_set(e, ERR_DATA,
				       "%s: piece %d of type BYTE is \"%.*s\", expected a "
				       "byte like <0x1F>",
				       r->name, (int)id, (int)MIN(n, 100), text);
		r->m->bytes[byte] = id;
	}
	return 0;
}

static int read_trainer(struct reading *r, const struct proto_field *message, struct err *e)
{
	struct proto p = { message->bytes, message->bytes + message->n };
	struct proto_field f;
	int got;

	r->has_trainer = true;
	while ((got = proto_next(&p, &f)) > 0) {
		if (f.number == TRAINER_TYPE && f.wire == PROTO_VARINT) {
			r->type = f.value;
		} else if (f.number == TRAINER_SUFFIX && f.wire == PROTO_VARINT) {
			r->m->normalizer.is_space_suffix = f.value != 0;
		} else if (f.number == TRAINER_BYTES && f.wire == PROTO_VARINT) {
			r->m->has_bytes = f.value != 0;
		} else if (f.number == TRAINER_UNKNOWN_SURFACE && f.wire == PROTO_BYTES) {
			buf_clear(&r->m->unknown_surface);
			buf_add(&r->m->unknown_surface, f.bytes, f.n);
		}
	}
	return got < 0 ? sp_model_error(r, "its trainer_spec", e)
		       : buf_check(&r->m->unknown_surface, e);
}

static int read_normalizer(struct reading *r, const struct proto_field *message,
			   struct sp_normalizer *z, struct err *e)
{
	struct proto p = { message->bytes, message->bytes + message->n };
	struct proto_field f;
	int got;

	while ((got = proto_next(&p, &f)) > 0) {
		if (f.number == NORMALIZER_RULES && f.wire == PROTO_BYTES) {
			charsmap_free(&z->rules);
			if (f.n && charsmap_read(&z->rules, f.bytes, f.n, r->name, e))
				return e->code;
		} else if (f.number == NORMALIZER_DUMMY && f.wire == PROTO_VARINT) {
			z->add_dummy_prefix = f.value != 0;
		} else if (f.number == NORMALIZER_EXTRA && f.wire == PROTO_VARINT) {
			z->remove_extra_whitespaces = f.value != 0;
		} else if (f.number == NORMALIZER_ESCAPE && f.wire == PROTO_VARINT) {
			z->escape_whitespaces = f.value != 0;
		}
	}
	return got < 0 ? sp_model_error(r, "its normalizer_spec", e) : 0;
}

static int read_field(struct reading *r, const struct proto_field *f, struct err *e)
{
	if (f->wire != PROTO_BYTES)
		return 0;
	switch (f->number) {
	case MODEL_PIECES:
		return read_piece(r, f, e);
	case MODEL_TRAINER:
		return read_trainer(r, f, e);
	case MODEL_NORMALIZER:
		return read_normalizer(r, f, &r->m->normalizer, e);
	case MODEL_DENORMALIZER:
		return read_normalizer(r, f, &r->m->denormalizer, e);
	default:
		return 0;
	}
}

/* Check what depends on several fields. */
static int check_model(struct reading *r, struct err *e)
{
	if (!r->m->pieces.n || !r->has_trainer)
		return sp_model_error(r, r->has_trainer ? "no pieces" : "no trainer_spec", e);
	if (r->type != MODEL_UNIGRAM && r->type != MODEL_BPE) {
		const char *type = r->type < ARRAY_LEN(model_types) ? model_types[r->type] : NULL;

		return err_set(e, ERR_DATA,
			       "%s: %s, expected a unigram or BPE model: train it with "
			       "--model_type=unigram or bpe",
			       r->name, type ? type : "a model of an unknown type");
	}
	r->m->is_unigram = r->type == MODEL_UNIGRAM;
	if (r->m->unknown < 0)
		return err_set(e, ERR_DATA, "%s: no piece is the unknown token", r->name);
	for (int byte = 0; byte < 256; byte++)
		if (r->m->has_bytes && r->m->bytes[byte] < 0)
			return err_set(e, ERR_DATA,
				       "%s: the piece <0x%02X> is missing, but byte_fallback "
				       "is set",
				       r->name, (unsigned int)byte);
	return 0;
}

int sp_model_symbols(const struct sp_model *m, struct charsmap *to, struct err *e)
{
	struct charsmap_rule *rules = NULL;
	struct buf bytes = { 0 };
	size_t n = 0, cap = 0;
	int rc = 0;

	for (int32_t i = 0; !rc && i < m->pieces.n; i++) {
		if (m->entries[i].type != SP_USER_DEFINED)
			continue;
		rc = mem_grow(&rules, &cap, n + 1, sizeof(*rules), e);
		if (rc)
			break;
		rules[n] = (struct charsmap_rule){ .to = "" };
		rules[n].from = intern_text(&m->pieces, i, &rules[n].n);
		n++;
	}
	if (!rc && n) {
		rc = charsmap_build(rules, n, &bytes, e);
		if (!rc)
			rc = charsmap_read(to, bytes.data, bytes.len, "user-defined symbols", e);
	}
	buf_free(&bytes);
	free(rules);
	return rc;
}

int sp_model_read(struct sp_model *m, const void *bytes, size_t n, const char *name, struct err *e)
{
	const unsigned char *b = bytes;
	struct proto p = { b, b + n };
	struct reading r = { .m = m, .name = name, .type = 1 };
	struct sp_normalizer usual = {
		.add_dummy_prefix = true,
		.remove_extra_whitespaces = true,
		.escape_whitespaces = true,
	};
	struct proto_field f;
	int got, rc = 0;

	*m = (struct sp_model){ .unknown = -1, .normalizer = usual, .denormalizer = usual };
	memset(m->bytes, 0xFF, sizeof(m->bytes));
	buf_add_str(&m->unknown_surface, UNKNOWN_SURFACE);
	while (!rc && (got = proto_next(&p, &f)) != 0)
		rc = got < 0 ? sp_model_error(&r, "a field is cut off", e) : read_field(&r, &f, e);
	if (!rc)
		rc = check_model(&r, e);
	if (!rc)
		rc = buf_check(&m->unknown_surface, e);
	if (!rc && sp_model_symbols(m, &m->normalizer.symbols, e))
		rc = err_prefix(e, "%s", name);
	m->has_denormalizer = m->denormalizer.rules.n_units > 0;
	if (rc)
		sp_model_free(m);
	return rc;
}

/* ---- writing ---- */

int sp_model_write(const struct sp_model *m, const char *rules_name, const struct buf *rules,
		   struct buf *out, struct err *e)
{
	struct buf part = { 0 };

	for (int32_t i = 0; i < m->pieces.n; i++) {
		size_t n;
		const char *text = intern_text(&m->pieces, i, &n);

		proto_put_bytes(&part, PIECE_TEXT, text, n);
		proto_put_float(&part, PIECE_SCORE, m->entries[i].score);
		if (m->entries[i].type != SP_NORMAL)
			proto_put_varint(&part, PIECE_TYPE, m->entries[i].type);
		proto_put_message(out, MODEL_PIECES, &part); /* leaves part empty */
	}
	proto_put_varint(&part, TRAINER_TYPE, m->is_unigram ? MODEL_UNIGRAM : MODEL_BPE);
	proto_put_varint(&part, TRAINER_SIZE, (uint64_t)m->pieces.n);
	proto_put_float(&part, TRAINER_COVERAGE, 1);
	proto_put_varint(&part, TRAINER_UNKNOWN_ID, 3);
	proto_put_varint(&part, TRAINER_START_ID, 2);
	proto_put_varint(&part, TRAINER_END_ID, 1);
	proto_put_varint(&part, TRAINER_PAD_ID, 0);
	proto_put_message(out, MODEL_TRAINER, &part);
	proto_put_bytes(&part, NORMALIZER_NAME, rules_name, strlen(rules_name));
	proto_put_bytes(&part, NORMALIZER_RULES, buf_text(rules), rules->len);
	proto_put_varint(&part, NORMALIZER_DUMMY, 1);
	proto_put_varint(&part, NORMALIZER_EXTRA, 1);
	proto_put_varint(&part, NORMALIZER_ESCAPE, 1);
	proto_put_message(out, MODEL_NORMALIZER, &part);
	buf_free(&part);
	return buf_check(out, e);
}

int sp_model_write_vocabulary(const struct sp_model *m, struct buf *out, struct err *e)
{
	for (int32_t i = 0; i < m->pieces.n; i++) {
		size_t n;
		const char *text = intern_text(&m->pieces, i, &n);

		buf_add(out, text, n);
		buf_printf(out, "\t%g\n", (double)m->entries[i].score);
	}
	return buf_check(out, e);
}

void sp_model_free(struct sp_model *m)
{
	intern_free(&m->pieces);
	free(m->entries);
	buf_free(&m->unknown_surface);
	sp_normalizer_free(&m->normalizer);
	sp_normalizer_free(&m->denormalizer);
	*m = (struct sp_model){ 0 };
}
