/* bpe_apply.c - (not written yet) */
