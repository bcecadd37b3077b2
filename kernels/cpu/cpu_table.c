/* cpu_table.c - the table of the CPU backend for one machine level; see cpu.h */
#include "kernels/cpu/cpu.h"

const struct ops *CPU(table)(void);

static bool cpu_is_usable(void)
{
	return true;
}

const struct ops *CPU(table)(void)
{
	static const struct ops table = {
		.name = "cpu",
		.usable = cpu_is_usable,
		.open = cpu_open,
		.close = cpu_close,
		.alloc = cpu_alloc,
		.release = cpu_release,
		.to_device = cpu_copy,
		.to_host = cpu_copy,
		.sync = cpu_sync,
		.reserve = cpu_reserve,
		.multiplies_bf16 = cpu_multiplies_bf16,
#define OP(name, args, names) .name = CPU(name),
#include "kernels/ops/ops.def"
#undef OP
	};

	return &table;
}
