/* batch.c - (not written yet) */
