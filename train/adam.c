/* adam.c - (not written yet) */
