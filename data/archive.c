/* archive.c - (not written yet) */
