/* t_sources.c - (not written yet) */
