/*
 * cpu_level.h - the vector level of the CPU backend, which all ranks of a training must share.
 *
 * Two levels give other last bits. A process uses the highest one that the machine supports, this
 * build has, and WERKBANK_CPU allows: a name of ops_cpu_level_name(), in upper or lower case; other
 * values allow all.
 */
#ifndef WERKBANK_KERNELS_OPS_CPU_LEVEL_H
#define WERKBANK_KERNELS_OPS_CPU_LEVEL_H

enum cpu_level {
	CPU_LEVEL_PLAIN,
	CPU_LEVEL_AVX2,
	CPU_LEVEL_AVX512,
	CPU_LEVEL_BF16, /* AVX-512 with products of bf16 */
	CPU_LEVEL_AMX
};

enum cpu_level ops_cpu_level(void);
const char *ops_cpu_level_name(enum cpu_level level); /* "plain", "AVX2", … "AMX" */
/* What WERKBANK_CPU allows, whatever the machine supports. */
enum cpu_level ops_cpu_allowed_level(void);

#endif
