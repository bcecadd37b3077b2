/* t_model.c - (not written yet) */
