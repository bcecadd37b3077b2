/* conf.c - (not written yet) */
