/* hash.c - (not written yet) */
