/* cpu_point.c - (not written yet) */
