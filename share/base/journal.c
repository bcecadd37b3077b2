/* journal.c - (not written yet) */
