/* shuffle.c - (not written yet) */
