/* paths.c - (not written yet) */
