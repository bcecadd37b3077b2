/* prep.c - (not written yet) */
