/* cpu_decode.c - (not written yet) */
