/* term.c - (not written yet) */
