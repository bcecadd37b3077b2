/* score_tools.c - (not written yet) */
