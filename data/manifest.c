/* manifest.c - (not written yet) */
