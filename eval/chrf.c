/* chrf.c - (not written yet) */
