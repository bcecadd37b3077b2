/* ops.c - choose a backend at run time; the interface is ops/ops.h. */
#include "kernels/ops/ops.h"

#include <stdio.h>
#include <string.h>

#include "share/base/util.h"

const struct ops *ops_find(const char *name, struct err *e)
{
	const struct ops *backends[] = { ops_cuda(), ops_cpu(), ops_ref() };
	bool any = strcmp(name, "auto") == 0;

	for (size_t i = 0; i < ARRAY_LEN(backends); i++) {
		if (!backends[i] || (!any && strcmp(name, backends[i]->name) != 0))
			continue;
		if (backends[i]->usable())
			return backends[i];
		if (!any) {
			err_set(e, ERR_UNAVAILABLE,
				"backend %s cannot run on this machine: %s; use --backend auto",
				name, ops_cuda_unusable_reason());
			return NULL;
		}
	}
	if (strcmp(name, "cuda") == 0)
		err_set(e, ERR_UNAVAILABLE,
			"backend cuda is not part of this build: run configure --with-cuda");
	else
		err_set(e, ERR_UNAVAILABLE, "unknown backend \"%s\"; choose auto, cuda, cpu or ref",
			name);
	return NULL;
}

static void describe_gpu(const struct ops *o, int device, char *text, size_t size)
{
	struct dev_info f;
	struct err e;

	if (o->query_device(device, &f, &e))
		snprintf(text, size, "%s", e.text);
	else
		snprintf(text, size, "GPU %d%s%s (%.1f of %.1f GiB free)", device,
			 f.name[0] ? ", " : "", f.name, (double)f.free_bytes / (1 << 30),
			 (double)f.total_bytes / (1 << 30));
}

void ops_describe(const struct ops *o, const char *requested, int device, char *text, size_t size)
{
	const char *no_gpu = strcmp(requested, "auto") == 0 ? ops_cuda_unusable_reason() : NULL;
	struct cpu_features m;

	if (o->query_device) {
		describe_gpu(o, device, text, size);
		return;
	}
	ops_cpu_features(&m);
	if (strcmp(o->name, "cpu") == 0)
		snprintf(text, size, "the processor (%s%s)%s%s", m.level, m.tiles ? ", AMX" : "",
			 no_gpu ? ", no GPU: " : "", no_gpu ? no_gpu : "");
	else
		snprintf(text, size, "the processor, backend %s", o->name);
}
