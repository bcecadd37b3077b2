/* shard.c - (not written yet) */
