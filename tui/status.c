/* status.c - (not written yet) */
