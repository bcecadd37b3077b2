/*
 * sp_proto.h - the wire format of Protocol Buffers, as far as SentencePiece models need it.
 *
 * A message is a row of fields, each "number << 3 | wire" and then
 *	wire 0	varint			7 bits a byte, low ones first, bit 7: more follow
 *	wire 1	8 bytes			little-endian
 *	wire 2	length (varint), bytes	text, bytes, a message inside
 *	wire 5	4 bytes			little-endian; a float
 * Nothing in it is trusted: every length is checked against what is there.
 */
#ifndef WERKBANK_DATA_SUBWORD_SP_PROTO_H
#define WERKBANK_DATA_SUBWORD_SP_PROTO_H

#include <stddef.h>
#include <stdint.h>

#include "share/base/buf.h"

enum proto_wire { PROTO_VARINT, PROTO_EIGHT, PROTO_BYTES, PROTO_FOUR = 5 };

struct proto { /* what is left to read */
	const unsigned char *at, *end;
};

struct proto_field {
	uint32_t number;
	enum proto_wire wire;
	uint64_t value;		    /* wire 0, 1, 5 */
	const unsigned char *bytes; /* wire 2; borrowed of the message */
	size_t n;
};

/* 1: the next field is in *f; 0: the end; -1: this is no message. */
int proto_next(struct proto *p, struct proto_field *f);

/* The value of a field of wire 5 as the float it is. */
float proto_float(const struct proto_field *f);

void proto_put_varint(struct buf *to, uint32_t number, uint64_t value);
void proto_put_bytes(struct buf *to, uint32_t number, const void *bytes, size_t n);
void proto_put_float(struct buf *to, uint32_t number, float value);

#endif
