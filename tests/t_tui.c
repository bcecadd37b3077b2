/* t_tui.c - (not written yet) */
