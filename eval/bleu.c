/* bleu.c - (not written yet) */
