/* t_score.c - (not written yet) */
