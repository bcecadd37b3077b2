/* t_clean.c - (not written yet) */
