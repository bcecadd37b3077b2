/* heldout.c - (not written yet) */
