/* t_train.c - (not written yet) */
