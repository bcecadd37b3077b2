/* cpu_table.c - (not written yet) */
