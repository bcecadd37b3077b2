/* t_bpe.c - (not written yet) */
