/* clean.c - (not written yet) */
