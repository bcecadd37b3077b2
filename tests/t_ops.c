/* t_ops.c - (not written yet) */
