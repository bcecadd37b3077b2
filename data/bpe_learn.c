/* bpe_learn.c - (not written yet) */
