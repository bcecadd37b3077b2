/* model_backward.c - (not written yet) */
