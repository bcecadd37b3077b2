/* conf_help.c - (not written yet) */
