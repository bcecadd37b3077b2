/* ref_loss.c - (not written yet) */
