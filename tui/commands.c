/* commands.c - (not written yet) */
