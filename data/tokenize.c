/* tokenize.c - (not written yet) */
