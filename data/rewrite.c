/* rewrite.c - (not written yet) */
