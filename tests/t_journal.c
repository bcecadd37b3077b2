/* t_journal.c - (not written yet) */
