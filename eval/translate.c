/* translate.c - (not written yet) */
