/* t_shard.c - (not written yet) */
