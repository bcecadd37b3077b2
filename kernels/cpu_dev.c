/* cpu_dev.c - (not written yet) */
