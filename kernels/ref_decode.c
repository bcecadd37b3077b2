/* ref_decode.c - (not written yet) */
