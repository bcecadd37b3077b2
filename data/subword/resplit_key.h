/* resplit_key.h - the position of a sentence in training: the key of its random splits. */
#ifndef WERKBANK_DATA_SUBWORD_RESPLIT_KEY_H
#define WERKBANK_DATA_SUBWORD_RESPLIT_KEY_H

#include <stdint.h>

/* The position of a sentence, which selects its random numbers. */
struct resplit_key {
	int64_t pair; /* below 2^44 */
	uint32_t epoch;
	uint32_t side; /* 0: source, 1: target */
};

#endif
