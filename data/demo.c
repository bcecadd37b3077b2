/* demo.c - (not written yet) */
