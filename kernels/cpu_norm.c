/* cpu_norm.c - (not written yet) */
