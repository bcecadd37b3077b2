/*
 * fault_page.h - what fault_run and the shims of all processes of a command share: a mapped file.
 *
 * fault_run.c fills in the request before it starts the command; fault_shim.c counts and reports.
 */
#ifndef WERKBANK_TESTS_FAULTS_FAULT_PAGE_H
#define WERKBANK_TESTS_FAULTS_FAULT_PAGE_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

/* X(name): the kinds of calls; fault_shim.c lists the functions of each. */
#define FAULT_CALLS(X)                                                                             \
	X(malloc)                                                                                  \
	X(open)                                                                                    \
	X(read)                                                                                    \
	X(write)                                                                                   \
	X(close)                                                                                   \
	X(fsync)                                                                                   \
	X(rename)                                                                                  \
	X(fork)                                                                                    \
	X(pthread)                                                                                 \
	X(mmap)                                                                                    \
	X(mkdir)                                                                                   \
	X(pipe)

enum fault_call {
#define X(name) FAULT_##name,
	FAULT_CALLS(X)
#undef X
		FAULT_N_CALLS
};

/* Instead of an error number: read or write half of the bytes that were asked for. */
#define FAULT_SHORT (-1)

enum { FAULT_FRAMES = 12, FAULT_PLACES = 8192 };

/* The calls of one kind that came the same way: the same program and the same functions led to it. */
struct fault_place {
	uint64_t id; /* a hash; 0: the row is free */
	uint64_t first, count;
};

struct fault_page {
	/* the request */
	int call;	 /* enum fault_call; -1: count only */
	int error;	 /* errno, or FAULT_SHORT */
	uint64_t first;	 /* the call that fails, from 1; 0: none, calls are listed by place */
	uint64_t place;	 /* 0: any, else `first` counts only calls of this place */
	bool is_lasting; /* all later calls fail, too; of EINTR every second one */
	bool is_alone;	 /* only calls of the first process, not of its children */
	/* the report */
	uint64_t count[FAULT_N_CALLS];
	pid_t owner;	     /* the first process */
	uint64_t n_at_place; /* calls of the place of the request */
	uint64_t n_faults;   /* calls that failed */
	/* of the first call that failed */
	char program[32];
	uint64_t frames
		[FAULT_FRAMES]; /* return addresses from the start of the program; 0: no more */
	char subject[256];	/* the path; "": none */
	/* a hash table; first 0 in the request */
	struct fault_place places[FAULT_PLACES];
};

#endif
