/* decode.c - (not written yet) */
