/* score_tokenize.c - (not written yet) */
