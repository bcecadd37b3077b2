/* evaluate.c - (not written yet) */
