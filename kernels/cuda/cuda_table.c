/* cuda_table.c - see cuda.h: the GPU backend as a table. */
#include "kernels/cuda/cuda.h"
#include "kernels/cuda/cuda_queue.h"

const struct ops *ops_cuda(void)
{
	static const struct ops table = {
		.name = "cuda",
		.own_memory = true,
		.usable = cuda_usable,
		.look = cuda_look,
		.open = cuda_open,
		.close = cuda_close,
		.alloc = cuda_alloc,
		.release = cuda_release,
		.to_device = cuda_to_device,
		.to_host = cuda_to_host,
		.sync = cuda_sync,
		.fetch = cuda_fetch,
		.reserve = cuda_reserve,
		.needs = cuda_needs,
		.send = cuda_send,
		.turn = cuda_turn,
		.wants_rounded = true,
		.loss_rows = 256, /* of 32,000 floats, 33 MB: less than the L2 of 40 and more */
		.open_queue = cuda_queue_open,
		.graph_begin = cuda_graph_begin,
		.graph_pause = cuda_graph_pause,
		.graph_resume = cuda_graph_resume,
		.graph_end = cuda_graph_end,
		.graph_play = cuda_graph_play,
#define OP(name, args, names) .name = cuda_##name,
#include "kernels/ops/ops.def"
#undef OP
	};

	return &table;
}

const char *ops_cuda_trouble(void)
{
	return cuda_trouble();
}
