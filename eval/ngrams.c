/* ngrams.c - (not written yet) */
