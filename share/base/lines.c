/* lines.c - (not written yet) */
