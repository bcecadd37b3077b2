/* ref.c - the reference backend as a table; see ref.h */
#include "kernels/ref/ref.h"

#include <stdlib.h>
#include <string.h>

#include "share/base/mem.h"

static bool ref_is_usable(void)
{
	return true;
}

static struct dev *ref_open(const struct dev_options *options, struct err *e)
{
	struct ref_dev *d = mem_alloc(1, sizeof(*d), e);

	if (d)
		d->bf16 = options->bf16;
	return (struct dev *)d;
}

static void ref_close(struct dev *d)
{
	free(d);
}

static void *ref_alloc(struct dev *d, size_t bytes, struct err *e)
{
	(void)d;
	return mem_alloc_aligned(bytes, 1, e);
}

static void ref_release(struct dev *d, void *p)
{
	(void)d;
	free(p);
}

static void ref_copy_bytes(struct dev *d, void *to, const void *from, size_t bytes)
{
	(void)d;
	if (bytes)
		memcpy(to, from, bytes);
}

static int ref_sync(struct dev *d, struct err *e)
{
	(void)d, (void)e;
	return 0;
}

const struct ops *ops_ref(void)
{
	static const struct ops table = {
		.name = "ref",
		.usable = ref_is_usable,
		.open = ref_open,
		.close = ref_close,
		.alloc = ref_alloc,
		.release = ref_release,
		.to_device = ref_copy_bytes,
		.to_host = ref_copy_bytes,
		.sync = ref_sync,
#define OP(name, args, names) .name = ref_##name,
#include "kernels/ops/ops.def"
#undef OP
	};

	return &table;
}
