/* cpu_matmul.c - (not written yet) */
