/* fetch.c - (not written yet) */
