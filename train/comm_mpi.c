/* comm_mpi.c - (not written yet) */
