/* trainer.c - (not written yet) */
