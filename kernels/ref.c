/* ref.c - (not written yet) */
