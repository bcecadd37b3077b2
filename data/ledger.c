/* ledger.c - (not written yet) */
