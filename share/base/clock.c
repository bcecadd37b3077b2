/* clock.c - see clock.h */
#include "share/base/clock.h"

#include <time.h>

static double read_clock(clockid_t which)
{
	struct timespec t;

	clock_gettime(which, &t);
	return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

double clock_wall_s(void)
{
	return read_clock(CLOCK_REALTIME);
}

double clock_mono_s(void)
{
	return read_clock(CLOCK_MONOTONIC);
}

double clock_thread_cpu_s(void)
{
	return read_clock(CLOCK_THREAD_CPUTIME_ID);
}
