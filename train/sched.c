/* sched.c - (not written yet) */
