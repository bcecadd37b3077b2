/* roof_device.c - the roof of a GPU; see roof.h */
#include "kernels/device_roof.h"
#include "tests/bench/roof.h"

#define CALLS 8 /* calls between two readings of the clock */

int roof_of_device(struct roof *r, const struct ops *o, struct dev *const d[2], int64_t side,
		   struct err *e)
{
	*r = (struct roof){ .threads = 1, .units = o->name };
	if (side < 32 || side > 65536)
		return err_set(e, ERR_USAGE, "the roof's side must be 32 to 65536");
	if (device_roof_memory(o, d[0], side * side, CALLS, &r->memory, e) ||
	    device_roof_product(o, d[0], DTYPE_F32, side, CALLS, &r->fp32, e) ||
	    device_roof_product(o, d[1], DTYPE_BF16, side, CALLS, &r->bf16, e))
		return e->code;
	return 0;
}
