/*
 * proto.h - the wire format of Protocol Buffers, read and written without generated code.
 *
 * A message is a sequence of fields. Each field is a key, "number << 3 | wire type", and a value:
 *	wire 0	varint			7 bits a byte, low bits first; bit 7: more bytes follow
 *	wire 1	8 bytes			little-endian; a double
 *	wire 2	length (varint), bytes	text, bytes, or an inner message
 *	wire 5	4 bytes			little-endian; a float
 * Groups (wire 3 and 4, deprecated) count as damage. The reader trusts nothing: it checks every
 * length against the bytes that are left. Source: protobuf.dev, "Encoding".
 */
#ifndef WERKBANK_SHARE_FORMAT_PROTO_H
#define WERKBANK_SHARE_FORMAT_PROTO_H

#include <stddef.h>
#include <stdint.h>

#include "share/base/buf.h"

/* ---- reading ---- */

enum proto_wire { PROTO_VARINT, PROTO_EIGHT, PROTO_BYTES, PROTO_FOUR = 5 };

struct proto { /* the part of a message that is still to be read; borrowed */
	const unsigned char *at, *end;
};

struct proto_field {
	uint32_t number;
	enum proto_wire wire;
	uint64_t value;		    /* wire 0, 1, 5 */
	const unsigned char *bytes; /* wire 2; borrowed from the message */
	size_t n;		    /* bytes */
};

/* 1: *f is the next field; 0: end of the message; -1: the message is damaged. */
int proto_next(struct proto *p, struct proto_field *f);

/* The value of a field of wire 5 as a float. */
float proto_float(const struct proto_field *f);

/* ---- writing: append a field to a message; a failure stays in the buffer (buf_check()) ---- */

void proto_put_varint(struct buf *to, uint32_t number, uint64_t value);
void proto_put_float(struct buf *to, uint32_t number, float value);
void proto_put_double(struct buf *to, uint32_t number, double value);
void proto_put_bytes(struct buf *to, uint32_t number, const void *bytes, size_t n);
void proto_put_text(struct buf *to, uint32_t number, const char *text);

/* An inner message as a field. inner is freed. */
void proto_put_message(struct buf *to, uint32_t number, struct buf *inner);

/* The low n_bytes bytes of a number, little-endian, without a key. */
void proto_put_le(struct buf *to, uint64_t value, int n_bytes);

#endif
