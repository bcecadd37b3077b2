/* t_loader.c - (not written yet) */
