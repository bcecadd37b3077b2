/* cpu_loss.c - (not written yet) */
