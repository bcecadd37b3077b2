/* model_forward.c - (not written yet) */
