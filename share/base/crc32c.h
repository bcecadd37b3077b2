/*
 * crc32c.h - CRC-32C (Castagnoli) as in RFC 3720, B.4, and the masked form of TensorFlow's files.
 *
 * A masked sum is rotated and shifted, so that the sum of bytes that contain sums is not special. Source:
 * tensorflow/core/lib/hash/crc32c.h.
 */
#ifndef WERKBANK_SHARE_BASE_CRC32C_H
#define WERKBANK_SHARE_BASE_CRC32C_H

#include <stddef.h>
#include <stdint.h>

uint32_t crc32c_bytes(const void *bytes, size_t n);
uint32_t crc32c_masked(const void *bytes, size_t n);

#endif
