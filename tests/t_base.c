/* t_base.c - (not written yet) */
