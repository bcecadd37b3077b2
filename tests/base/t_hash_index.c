/* t_hash_index.c - the hash tables of share/base. */
#include "tests/test.h"

#include "share/base/hash_index.h"

/* Entries are the even numbers, found by their value. */
static bool is_twice(const void *table, uint32_t entry, const void *key)
{
	(void)table;
	return 2 * (uint64_t)entry == *(const uint64_t *)key;
}

TEST(hash_index_finds_what_was_added_and_nothing_else)
{
	struct hash_index h = { 0 };
	struct err e = { 0 };
	uint64_t key = 0;

	check_int(hash_index_find(&h, hash_integer(key), is_twice, NULL, &key), -1);
	for (uint32_t i = 0; i < 5000; i++) {
		uint64_t *slot;

		key = 2 * (uint64_t)i;
		if (!check_int(hash_index_reserve(&h, i, 4, &e), 0))
			break;
		slot = hash_index_slot(&h, hash_integer(key), is_twice, NULL, &key);
		if (check_int(hash_slot_entry(slot), -1))
			hash_slot_fill(slot, hash_integer(key), i);
	}
	for (key = 0; key < 10001; key++)
		check_int(hash_index_find(&h, hash_integer(key), is_twice, NULL, &key),
			  key % 2 || key >= 10000 ? -1 : (int64_t)key / 2);
	hash_index_clear(&h);
	key = 8;
	check_int(hash_index_find(&h, hash_integer(key), is_twice, NULL, &key), -1);
	hash_index_free(&h);
}

TEST(hash_index_compares_entries_of_equal_hashes)
{
	struct hash_index h = { 0 };
	struct err e = { 0 };

	for (uint64_t i = 0; i < 30 && check_int(hash_index_reserve(&h, i, 4, &e), 0); i++) {
		uint64_t key = 2 * i;

		hash_slot_fill(hash_index_slot(&h, 7, is_twice, NULL, &key), 7, (uint32_t)i);
	}
	for (uint64_t key = 0; key < 60; key += 2)
		check_int(hash_index_find(&h, 7, is_twice, NULL, &key), (int64_t)key / 2);
	hash_index_free(&h);
}

TEST(hash_set_has_each_key_once)
{
	struct hash_set s = { 0 };
	struct err e = { 0 };

	for (uint64_t key = 0; key < 5000; key++) {
		if (!check_int(hash_set_reserve(&s, s.n + 1, &e), 0))
			break;
		check(hash_set_has(&s, key * key) == (key == 1)); /* keys 0 and 1 are one */
		check(hash_set_add(&s, key * key) == (key != 1));
	}
	check_int(s.n, 4999);
	check(!hash_set_has(&s, 2));
	check(!hash_set_add(&s, 4999 * 4999u));
	hash_set_free(&s);
}
