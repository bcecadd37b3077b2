/* t_decode.c - (not written yet) */
