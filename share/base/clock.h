/* clock.h - time, as an argument rather than a global: tests pass their own. */
#ifndef WERKBANK_BASE_CLOCK_H
#define WERKBANK_BASE_CLOCK_H

double clock_wall_s(void); /* seconds since 1970 */
double clock_mono_s(void); /* seconds since some moment before; never jumps */

#endif
