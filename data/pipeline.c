/* pipeline.c - (not written yet) */
