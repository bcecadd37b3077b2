/* t_conf.c - (not written yet) */
