/* detokenize.c - (not written yet) */
