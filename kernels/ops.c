/*
 * ops.c - choose a backend at run time; the interface is ops/ops.h.
 *
 * The vector code of the CPU backend is compiled up to three times (plain, x86-64-v3, x86-64-v4);
 * ops_cpu() returns the table of the highest level that the machine supports.
 */
#ifdef HAVE_CONFIG_H
#include "config.h"
#endif

#include "kernels/ops/ops.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

#include "kernels/cpu/cpu.h"

const struct ops *cpu_table_plain(void);
const struct ops *cpu_table_v3(void);
const struct ops *cpu_table_v4(void);

#if defined(__x86_64__)
static bool machine_is_v3(void)
{
	return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") &&
	       __builtin_cpu_supports("bmi2");
}

static bool machine_is_v4(void)
{
	return machine_is_v3() && __builtin_cpu_supports("avx512f") &&
	       __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512cd") &&
	       __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl");
}

static bool machine_has_bf16(void)
{
	return machine_is_v4() && __builtin_cpu_supports("avx512bf16");
}

static bool machine_is_intel(void)
{
	return __builtin_cpu_is("intel");
}

static bool machine_has_vnni(void)
{
	return machine_is_v4() && __builtin_cpu_supports("avx512vnni");
}
#else
#define machine_is_v3()	   false
#define machine_is_v4()	   false
#define machine_has_bf16() false
#define machine_is_intel() false
#define machine_has_vnni() false
#endif

const struct ops *cpu_variant(int i)
{
#ifdef HAVE_VECTOR_VARIANTS
	if (i == 2)
		return machine_is_v4() ? cpu_table_v4() : NULL;
	if (i == 1)
		return machine_is_v3() ? cpu_table_v3() : NULL;
#endif
	return i == 0 ? cpu_table_plain() : NULL;
}

const struct ops *ops_cpu(void)
{
	const struct ops *table = NULL;

	for (int i = CPU_VARIANTS - 1; i >= 0 && !table; i--)
		table = cpu_variant(i);
	return table;
}

void ops_cpu_features(struct cpu_features *m)
{
	static const char *const levels[] = { "plain", "AVX2", "AVX-512" };
	const int machine = machine_is_v4() ? 2 : machine_is_v3() ? 1 : 0;
	int used = CPU_VARIANTS - 1;

	while (used > 0 && !cpu_variant(used))
		used--;
	assert(used < (int)ARRAY_LEN(levels));
	*m = (struct cpu_features){
		.level = levels[used],
		.has_unbuilt_level = used < machine,
		.bf16 = used == 2 && machine_has_bf16(),
		.vnni = used == 2 ? machine_has_vnni() : used == 1 && cpu_has_avx_vnni(),
	};
	m->has_slow_bf16 = m->bf16 && machine_is_intel();
	m->tiles = used == 2 && cpu_can_use_tiles();
	m->has_unused_tiles = cpu_has_tiles() && !m->tiles;
}

bool cpu_features_prefer_bf16(const struct cpu_features *m)
{
	return m->tiles || (m->bf16 && !m->has_slow_bf16);
}

bool cpu_multiplies_bf16(int device)
{
	struct cpu_features m;

	(void)device;
	ops_cpu_features(&m);
	return cpu_features_prefer_bf16(&m);
}

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
		snprintf(text, size, "the processor (%s)%s%s", m.level, no_gpu ? ", no GPU: " : "",
			 no_gpu ? no_gpu : "");
	else
		snprintf(text, size, "the processor, backend %s", o->name);
}
