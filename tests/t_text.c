/* t_text.c - (not written yet) */
