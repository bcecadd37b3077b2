/*
 * cpu_features.c - the level that WERKBANK_CPU allows, and instructions beyond the machine levels of
 * cpu_levels.c that the compiler's __builtin_cpu_supports() does not know everywhere: the tile unit (Intel AMX, cpu_tiles.h) and AVX-VNNI.
 */
#include "kernels/cpu/cpu.h"

#include "kernels/ops/cpu_level.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>
#if defined(__x86_64__)
#include <cpuid.h>
#endif
#if CPU_COMPILES_TILES
#include <sys/syscall.h>
#include <unistd.h>
#endif

enum cpu_level ops_cpu_allowed_level(void)
{
	const char *asked = getenv("WERKBANK_CPU");

	for (int i = CPU_LEVEL_PLAIN; asked && i <= CPU_LEVEL_AMX; i++)
		if (!strcasecmp(asked, ops_cpu_level_name((enum cpu_level)i)))
			return (enum cpu_level)i;
	return CPU_LEVEL_AMX;
}

bool cpu_has_avx_vnni(void)
{
#if CPU_COMPILES_AVX_VNNI
	/* bit 4 of EAX, leaf 7, subleaf 1; with AVX2, whose registers the system saves */
	unsigned a, b, c, d;

	return __builtin_cpu_supports("avx2") && __get_cpuid_count(7, 1, &a, &b, &c, &d) &&
	       (a & 1u << 4);
#else
	return false;
#endif
}

#if CPU_COMPILES_TILES
/* Bits of CPUID leaf 7, EDX: AMX-BF16, AMX-TILE, AMX-INT8. */
#define AMX_BITS (1u << 22 | 1u << 24 | 1u << 25)

bool cpu_has_tiles(void)
{
	unsigned a, b, c, d;

	return __get_cpuid_count(7, 0, &a, &b, &c, &d) && (d & AMX_BITS) == AMX_BITS;
}

/*
 * The kernel saves tiles only for processes that have asked (Linux 5.16: arch_prctl(2),
 * ARCH_REQ_XCOMP_PERM). The permission holds for all threads, also for later ones; asking again does
 * no harm. The sandboxes of share/base do not refuse the call to commands that compute.
 */
static bool tiles_are_permitted(void)
{
	enum { REQUEST = 0x1023, TILE_DATA = 18 };

	return syscall(SYS_arch_prctl, REQUEST, TILE_DATA) == 0;
}

bool cpu_can_use_tiles(void)
{
	const char *asked = getenv("WERKBANK_TILES");

	return ops_cpu_allowed_level() >= CPU_LEVEL_AMX && cpu_has_tiles() &&
	       __builtin_cpu_supports("avx512bf16") && !(asked && !strcmp(asked, "0")) &&
	       tiles_are_permitted();
}
#else
bool cpu_has_tiles(void)
{
	return false;
}

bool cpu_can_use_tiles(void)
{
	return false;
}
#endif
