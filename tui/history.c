/* history.c - (not written yet) */
