/* proto.c - see proto.h */
#include "share/format/proto.h"

#include <assert.h>
#include <stdbool.h>
#include <string.h>

#define MAX_FIELD ((1u << 29) - 1) /* the highest number that the format allows */

/* ---- reading ---- */

static bool proto_read_varint(struct proto *p, uint64_t *value)
{
	*value = 0;
	for (int shift = 0; shift < 64 && p->at < p->end; shift += 7) {
		unsigned char c = *p->at++;

		*value |= (uint64_t)(c & 0x7F) << shift;
		if (!(c & 0x80))
			return true;
	}
	return false;
}

static bool proto_read_fixed(struct proto *p, int bytes, uint64_t *value)
{
	*value = 0;
	if (p->end - p->at < bytes)
		return false;
	for (int i = 0; i < bytes; i++)
		*value |= (uint64_t)*p->at++ << (8 * i);
	return true;
}

int proto_next(struct proto *p, struct proto_field *f)
{
	uint64_t key;

	assert(p->at <= p->end);
	if (p->at == p->end)
		return 0;
	*f = (struct proto_field){ 0 };
	if (!proto_read_varint(p, &key) || key >> 3 == 0 || key >> 3 > MAX_FIELD)
		return -1;
	f->number = (uint32_t)(key >> 3);
	f->wire = (enum proto_wire)(key & 7);
	switch (key & 7) {
	case PROTO_VARINT:
		return proto_read_varint(p, &f->value) ? 1 : -1;
	case PROTO_EIGHT:
		return proto_read_fixed(p, 8, &f->value) ? 1 : -1;
	case PROTO_FOUR:
		return proto_read_fixed(p, 4, &f->value) ? 1 : -1;
	case PROTO_BYTES:
		if (!proto_read_varint(p, &f->value) || f->value > (uint64_t)(p->end - p->at))
			return -1;
		f->bytes = p->at;
		f->n = (size_t)f->value;
		p->at += f->n;
		return 1;
	default: /* a group, or damage */
		return -1;
	}
}

float proto_float(const struct proto_field *f)
{
	uint32_t bits = (uint32_t)f->value;
	float value;

	memcpy(&value, &bits, sizeof(value));
	return value;
}

/* ---- writing ---- */

static void put_number(struct buf *to, uint64_t value)
{
	for (; value >= 0x80; value >>= 7)
		buf_add_char(to, (char)(value | 0x80));
	buf_add_char(to, (char)value);
}

static void put_key(struct buf *to, uint32_t number, enum proto_wire wire)
{
	assert(number > 0 && number <= MAX_FIELD);
	put_number(to, (uint64_t)number << 3 | wire);
}

void proto_put_le(struct buf *to, uint64_t value, int n_bytes)
{
	assert(n_bytes <= 8);
	for (int i = 0; i < n_bytes; i++)
		buf_add_char(to, (char)(value >> (8 * i)));
}

void proto_put_varint(struct buf *to, uint32_t number, uint64_t value)
{
	put_key(to, number, PROTO_VARINT);
	put_number(to, value);
}

void proto_put_float(struct buf *to, uint32_t number, float value)
{
	uint32_t bits;

	memcpy(&bits, &value, sizeof(bits));
	put_key(to, number, PROTO_FOUR);
	proto_put_le(to, bits, 4);
}

void proto_put_double(struct buf *to, uint32_t number, double value)
{
	uint64_t bits;

	memcpy(&bits, &value, sizeof(bits));
	put_key(to, number, PROTO_EIGHT);
	proto_put_le(to, bits, 8);
}

void proto_put_bytes(struct buf *to, uint32_t number, const void *bytes, size_t n)
{
	put_key(to, number, PROTO_BYTES);
	put_number(to, n);
	if (n)
		buf_add(to, bytes, n);
}

void proto_put_text(struct buf *to, uint32_t number, const char *text)
{
	proto_put_bytes(to, number, text, strlen(text));
}

void proto_put_message(struct buf *to, uint32_t number, struct buf *inner)
{
	proto_put_bytes(to, number, inner->data, inner->len);
	buf_free_part(inner, to);
}
