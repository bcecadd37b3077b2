/* view_help.c - (not written yet) */
