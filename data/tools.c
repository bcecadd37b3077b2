/* tools.c - (not written yet) */
