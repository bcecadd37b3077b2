/* text.c - (not written yet) */
