/* t_ops_grad.c - (not written yet) */
