/* ref_matmul.c - (not written yet) */
