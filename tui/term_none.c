/* term_none.c - (not written yet) */
