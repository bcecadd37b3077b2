/* view_run.c - (not written yet) */
