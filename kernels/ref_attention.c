/* ref_attention.c - (not written yet) */
