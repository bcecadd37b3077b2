/* t_demo.c - (not written yet) */
