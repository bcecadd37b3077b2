/* t_ckpt.c - (not written yet) */
