/*
 * cpu_levels.c - ops_cpu(): the table of the highest level that the machine supports
 *
 * The vector code of this backend is compiled up to three times: plain, x86-64-v3, x86-64-v4.
 */
#ifdef HAVE_CONFIG_H
#include "config.h"
#endif

#include "kernels/cpu/cpu.h"

#include "kernels/ops/cpu_level.h"

#include <assert.h>

const struct ops *cpu_table_plain(void);
const struct ops *cpu_table_v3(void);
const struct ops *cpu_table_v4(void);

#if defined(__x86_64__)
static bool machine_is_v3(void)
{
	return ops_cpu_allowed_level() >= CPU_LEVEL_AVX2 && __builtin_cpu_supports("avx2") &&
	       __builtin_cpu_supports("fma") && __builtin_cpu_supports("bmi2");
}

static bool machine_is_v4(void)
{
	return ops_cpu_allowed_level() >= CPU_LEVEL_AVX512 && machine_is_v3() &&
	       __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
	       __builtin_cpu_supports("avx512cd") && __builtin_cpu_supports("avx512dq") &&
	       __builtin_cpu_supports("avx512vl");
}

static bool machine_has_bf16(void)
{
	return ops_cpu_allowed_level() >= CPU_LEVEL_BF16 && machine_is_v4() &&
	       __builtin_cpu_supports("avx512bf16");
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

enum cpu_level ops_cpu_level(void)
{
	struct cpu_features m;
	int i = CPU_VARIANTS - 1;

	while (i > 0 && !cpu_variant(i))
		i--;
	ops_cpu_features(&m);
	return m.tiles ? CPU_LEVEL_AMX : m.bf16 ? CPU_LEVEL_BF16 : (enum cpu_level)i;
}

const char *ops_cpu_level_name(enum cpu_level level)
{
	static const char *const names[] = {
		[CPU_LEVEL_PLAIN] = "plain",	[CPU_LEVEL_AVX2] = "AVX2",
		[CPU_LEVEL_AVX512] = "AVX-512", [CPU_LEVEL_BF16] = "AVX-512-BF16",
		[CPU_LEVEL_AMX] = "AMX",
	};

	return (size_t)level < ARRAY_LEN(names) ? names[level] : "unknown";
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
