/* cpu_attention.c - (not written yet) */
