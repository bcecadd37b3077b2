/*
 * slots.h - the slots of a hash table whose entries lie elsewhere, in the order in which they came.
 *
 * A slot holds the high half of an entry's hash and the entry's number + 1; 0: it is free. The high half
 * chooses the slot too, so that growing needs no entry; the next free one behind it is taken.
 */
#ifndef WERKBANK_DATA_WORDS_SLOTS_H
#define WERKBANK_DATA_WORDS_SLOTS_H

#include <stddef.h>
#include <stdint.h>

#include "share/base/err.h"

#define SLOT_HASH 0xFFFFFFFF00000000u /* the bits of a slot that are the hash's */

/* Twice as many slots, or first ones; a power of 2. *slots is owned by the caller. */
int slots_grow(uint64_t **slots, size_t *n_slots, size_t first, struct err *e);

#endif
