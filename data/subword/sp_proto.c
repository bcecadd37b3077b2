/* sp_proto.c - see sp_proto.h */
#include "data/subword/sp_proto.h"

#include <stdbool.h>
#include <string.h>

#define MAX_FIELD ((1u << 29) - 1)

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
	default: /* groups: no message of ours has them */
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

static void proto_put_number(struct buf *to, uint64_t value)
{
	for (; value >= 0x80; value >>= 7)
		buf_add_char(to, (char)(value | 0x80));
	buf_add_char(to, (char)value);
}

static void put_key(struct buf *to, uint32_t number, enum proto_wire wire)
{
	proto_put_number(to, (uint64_t)number << 3 | wire);
}

void proto_put_varint(struct buf *to, uint32_t number, uint64_t value)
{
	put_key(to, number, PROTO_VARINT);
	proto_put_number(to, value);
}

void proto_put_bytes(struct buf *to, uint32_t number, const void *bytes, size_t n)
{
	put_key(to, number, PROTO_BYTES);
	proto_put_number(to, n);
	buf_add(to, bytes, n);
}

void proto_put_float(struct buf *to, uint32_t number, float value)
{
	uint32_t bits;

	memcpy(&bits, &value, sizeof(bits));
	put_key(to, number, PROTO_FOUR);
	for (int i = 0; i < 4; i++)
		buf_add_char(to, (char)(bits >> (8 * i)));
}
