/* corpus.c - (not written yet) */
