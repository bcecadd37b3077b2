/* ref_point.c - (not written yet) */
