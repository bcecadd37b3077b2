/* supervise.c - (not written yet) */
