/*
 * thread_forecast.h - how fast training would be with more threads than this machine has.
 *
 * One thread executes all parts of each loop (cpu_team_observe()) and measures them. The loop's time on N threads is
 * then that of the last thread to end, when each takes the parts of its own sub-range and steals afterwards, as
 * cpu_team.c does, plus the measured cost of a loop. A part that takes three times the median of its loop was
 * interrupted by another program or machine; it counts as three medians. What threads share (memory bandwidth, caches, clock rate) is not in it.
 *
 *	thread_forecast_start();
 *	… the model with N threads …	thread_forecast_now() instead of a clock
 *	thread_forecast_stop();
 */
#ifndef WERKBANK_TESTS_BENCH_THREAD_FORECAST_H
#define WERKBANK_TESTS_BENCH_THREAD_FORECAST_H

#include <stdint.h>

/* Seconds of a loop whose parts take these seconds. */
double thread_forecast_loop(const double *seconds, int64_t n_parts, int threads);

/*
 * Seconds that a loop costs apart from its parts: measured for two threads (the least of many series), plus,
 * for each further thread, one access to a counter that another thread writes.
 */
double thread_forecast_cost(int threads);

void thread_forecast_start(void);
void thread_forecast_stop(void);

/* Seconds of the forecast's time, whose differences count: processor time of the calling thread, less what others would do. */
double thread_forecast_now(void);

#endif
