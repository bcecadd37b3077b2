/* clock.h - the two clocks. */
#ifndef WERKBANK_SHARE_BASE_CLOCK_H
#define WERKBANK_SHARE_BASE_CLOCK_H

double clock_wall_s(void); /* seconds since 1970 */
double clock_mono_s(void); /* seconds of a monotonic clock, for durations */

#endif
