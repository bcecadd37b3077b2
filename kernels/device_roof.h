/*
 * device_roof.h - how fast a device can compute and reach its memory, measured: the upper bounds of
 * every op on it (the roofline model, Williams et al. 2009).
 *
 * The bounds are rates of this backend itself: a product of large square matrices, and the addition
 * of vectors that are larger than any cache.
 */
#ifndef WERKBANK_KERNELS_DEVICE_ROOF_H
#define WERKBANK_KERNELS_DEVICE_ROOF_H

#include "kernels/ops/ops.h"

struct device_roof {
	double flops; /* floating-point operations of products a second */
	double bytes; /* bytes a second, read and written */
};

/*
 * Measure the device that options open, apart from other open devices; takes about a second.
 * ERR_NOMEM: its memory is too small.
 */
int device_roof_measure(const struct ops *o, const struct dev_options *options,
			struct device_roof *to, struct err *e);

/*
 * The two rates of an open device, the best of some tries: of a product of side x side matrices of
 * dtype, and of an addition of `elements` floats. calls: those between two readings of the clock.
 */
int device_roof_product(const struct ops *o, struct dev *d, enum dtype dtype, int64_t side,
			int calls, double *flops, struct err *e);
int device_roof_memory(const struct ops *o, struct dev *d, int64_t elements, int calls,
		       double *bytes, struct err *e);

#endif
