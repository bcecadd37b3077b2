/* comm.c - (not written yet) */
