/* file.c - (not written yet) */
