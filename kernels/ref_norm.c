/* ref_norm.c - (not written yet) */
