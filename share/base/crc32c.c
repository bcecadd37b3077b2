/* crc32c.c - see crc32c.h */
#include "share/base/crc32c.h"

#define CRC_MASK 0xA282EAD8u

/* The remainder of each half of a byte by the reflected polynomial 0x82F63B78. */
static const uint32_t halves[16] = {
	0x00000000, 0x105EC76F, 0x20BD8EDE, 0x30E349B1, 0x417B1DBC, 0x5125DAD3,
	0x61C69362, 0x7198540D, 0x82F63B78, 0x92A8FC17, 0xA24BB5A6, 0xB21572C9,
	0xC38D26C4, 0xD3D3E1AB, 0xE330A81A, 0xF36E6F75,
};

uint32_t crc32c_bytes(const void *bytes, size_t n)
{
	const unsigned char *p = bytes;
	uint32_t crc = ~0u;

	for (size_t i = 0; i < n; i++) {
		crc ^= p[i];
		crc = crc >> 4 ^ halves[crc & 15];
		crc = crc >> 4 ^ halves[crc & 15];
	}
	return ~crc;
}

uint32_t crc32c_masked(const void *bytes, size_t n)
{
	const uint32_t crc = crc32c_bytes(bytes, n);

	return (crc >> 15 | crc << 17) + CRC_MASK;
}
