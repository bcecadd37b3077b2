/* cuda_table.c - the GPU backend as a table; see cuda.h */
#include "kernels/cuda/cuda.h"
#include "kernels/cuda/cuda_queue.h"

const struct ops *ops_cuda(void)
{
	static const struct ops table = {
		.name = "cuda",
		.has_device_memory = true,
		.usable = cuda_usable,
		.query_device = cuda_query_device,
		.open = cuda_open,
		.close = cuda_close,
		.alloc = cuda_alloc,
		.release = cuda_release,
		.to_device = cuda_to_device,
		.to_host = cuda_to_host,
		.sync = cuda_sync,
		.to_host_and_sync = cuda_to_host_and_sync,
		.reserve = cuda_reserve,
		.memory_needs = cuda_memory_needs,
		.to_device_async = cuda_to_device_async,
		.swap_staging = cuda_swap_staging,
		.multiplies_bf16 = cuda_multiplies_bf16,
		.prefers_bf16_weights = true,
		/* 2,048 x 32,000 logits in bf16 = 131 MB. Fewer rows stay in the L2 cache, but start
		   more kernels and read the weights more often: share/doc/gpu/measured.md */
		.loss_rows = 2048,
		.loss_in_place = true,
		.open_queue = cuda_queue_open,
		.count_slow_products = cuda_count_slow_products,
		.save_choices = cuda_save_choices,
		.load_choices = cuda_load_choices,
		.count_choices = cuda_count_choices,
		.graph_begin = cuda_graph_begin,
		.graph_pause = cuda_graph_pause,
		.graph_resume = cuda_graph_resume,
		.graph_end = cuda_graph_end,
		.graph_replay = cuda_graph_replay,
#define OP(name, args, names) .name = cuda_##name,
#include "kernels/ops/ops.def"
#undef OP
	};

	return &table;
}

const char *ops_cuda_unusable_reason(void)
{
	return cuda_unusable_reason();
}
