/* clock.h - the clocks. */
#ifndef WERKBANK_SHARE_BASE_CLOCK_H
#define WERKBANK_SHARE_BASE_CLOCK_H

double clock_wall_s(void);	 /* seconds since 1970 */
double clock_mono_s(void);	 /* seconds of a monotonic clock, for durations */
double clock_thread_cpu_s(void); /* seconds of processor time of the calling thread */

#endif
