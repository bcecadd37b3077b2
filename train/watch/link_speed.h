/*
 * link_speed.h - the speed of a link from the times when the parts of a message arrived.
 *
 * The times are those of the receiver: the buffers of the sender take parts at once, whatever the
 * link. A part may be seen late, because the receiver was busy or an earlier segment was lost; then
 * several parts seem to arrive at once. So only parts count that no later part proves late. Only the
 * second half of the time counts: at first, a shaper may let a burst pass, or TCP still be slow.
 */
#ifndef WERKBANK_TRAIN_WATCH_LINK_SPEED_H
#define WERKBANK_TRAIN_WATCH_LINK_SPEED_H

#include <stdbool.h>
#include <stddef.h>

struct link_speed {
	double parts_s; /* speed in the second half of the time, in parts a second; 0: unknown */
	bool is_steady; /* the last two quarters of the time were equally fast */
};

#define LINK_SPEED_RATIO 1.3 /* largest ratio of two speeds that count as equal */
bool link_speeds_are_equal(double a, double b);

/*
 * n parts of equal length arrived at the times arrived_s (n), in seconds, in ascending order.
 * least_s: a shorter quarter is not steady.
 */
#define LINK_SPEED_PARTS 2048 /* most parts */
struct link_speed link_speed_of(const double *arrived_s, size_t n, double least_s);

#endif
