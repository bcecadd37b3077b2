/* sgm.c - (not written yet) */
