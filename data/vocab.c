/* vocab.c - (not written yet) */
