/* heartbeat_message.c - heartbeat messages to bytes and back; see heartbeat_internal.h */
#include <assert.h>
#include <string.h>

#include "train/watch/heartbeat_internal.h"

static const char magic[8] = { 'W', 'B', 'P', 'U', 'L', 'S', 'E', '1' };

#define MAX_AGE_US (UINT64_C(86400) * 366 * 1000000)
#define MAX_STEP   (INT64_C(1) << 53)

static void put_le_uint(unsigned char *at, uint64_t v, int n)
{
	for (int i = 0; i < n; i++)
		at[i] = (unsigned char)(v >> (8 * i));
}

static uint64_t get_le_uint(const unsigned char *at, int n)
{
	uint64_t v = 0;

	for (int i = 0; i < n; i++)
		v |= (uint64_t)at[i] << (8 * i);
	return v;
}

void heartbeat_message_write(const struct heartbeat_message *w,
			     const unsigned char key[HEARTBEAT_KEY_BYTES],
			     unsigned char bytes[HEARTBEAT_MESSAGE_BYTES])
{
	assert(w->rank >= 0 && w->ended <= w->began && w->phase <= PHASE_END);
	memset(bytes, 0, HEARTBEAT_MESSAGE_BYTES);
	memcpy(bytes, magic, sizeof(magic));
	memcpy(bytes + 8, key, HEARTBEAT_KEY_BYTES);
	bytes[24] = w->is_answer;
	bytes[25] = (unsigned char)w->phase;
	put_le_uint(bytes + 28, (uint64_t)w->rank, 4);
	put_le_uint(bytes + 32, w->number, 8);
	put_le_uint(bytes + 40, (uint64_t)w->step, 8);
	put_le_uint(bytes + 48, w->age_s > 0 ? (uint64_t)(w->age_s * 1e6) : 0, 8);
	put_le_uint(bytes + 56, w->moves, 8);
	put_le_uint(bytes + 64, w->began, 8);
	put_le_uint(bytes + 72, w->ended, 8);
}

bool heartbeat_message_read(struct heartbeat_message *w,
			    const unsigned char key[HEARTBEAT_KEY_BYTES], const void *bytes,
			    size_t n, int ranks)
{
	const unsigned char *b = bytes;
	uint64_t rank, age;

	if (n != HEARTBEAT_MESSAGE_BYTES || memcmp(b, magic, sizeof(magic)) != 0 ||
	    memcmp(b + 8, key, HEARTBEAT_KEY_BYTES) != 0)
		return false;
	rank = get_le_uint(b + 28, 4);
	age = get_le_uint(b + 48, 8);
	*w = (struct heartbeat_message){
		.is_answer = b[24],
		.phase = b[25],
		.rank = (int32_t)rank,
		.number = get_le_uint(b + 32, 8),
		.step = (int64_t)get_le_uint(b + 40, 8),
		.age_s = (double)age * 1e-6,
		.moves = get_le_uint(b + 56, 8),
		.began = get_le_uint(b + 64, 8),
		.ended = get_le_uint(b + 72, 8),
	};
	return b[24] <= 1 && b[25] <= PHASE_END && !b[26] && !b[27] && rank < (uint64_t)ranks &&
	       w->step >= -1 && w->step <= MAX_STEP && age <= MAX_AGE_US && w->ended <= w->began;
}
