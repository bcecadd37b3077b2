/*
 * trainer_gpu.c - the GPU that a rank uses; see trainer_gpu.h
 *
 * Usually every process of a host sees all its GPUs, and the ranks of the host take them in order.
 * Some launchers (srun --gpus-per-task, containers) show each rank its own GPUs by
 * CUDA_VISIBLE_DEVICES, and CUDA numbers those from 0. So a rank whose set differs from the sets of
 * all other ranks on its host counts within its own set.
 */
#include "train/trainer/trainer_gpu.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "share/base/mem.h"

int64_t gpu_view_index(const struct gpu_view *all, int n, int rank, int64_t first)
{
	int64_t earlier = 0;
	bool is_alone = true, is_own = true;

	assert(rank >= 0 && rank < n);
	for (int i = 0; i < n; i++) {
		if (i == rank || strcmp(all[i].host, all[rank].host) != 0)
			continue;
		is_alone = false;
		earlier += i < rank;
		if (!strcmp(all[i].visible, all[rank].visible))
			is_own = false;
	}
	return first + (is_own && !is_alone ? 0 : earlier);
}

static struct gpu_view view_of_rank(void)
{
	const char *visible = getenv("CUDA_VISIBLE_DEVICES");
	struct gpu_view v;

	memset(&v, 0, sizeof(v));
	gethostname(v.host, sizeof(v.host) - 1);
	snprintf(v.visible, sizeof(v.visible), "%s", visible ? visible : "");
	return v;
}

/* The first rank decides for all, because gather() is for the first rank only. */
int trainer_choose_gpu(struct comm *c, int64_t first, int *gpu, struct err *e)
{
	const struct gpu_view mine = view_of_rank();
	struct gpu_view *all = NULL;
	int64_t *index = mem_alloc((size_t)c->size, sizeof(*index), e);
	int rc = index ? 0 : e->code;

	if (!rc && c->rank == 0 && !(all = mem_alloc((size_t)c->size, sizeof(*all), e)))
		rc = e->code;
	if (!rc)
		rc = c->gather(c, &mine, sizeof(mine), all, e);
	for (int i = 0; !rc && all && i < c->size; i++)
		index[i] = gpu_view_index(all, c->size, i, first);
	if (!rc)
		rc = c->broadcast(c, index, (size_t)c->size * sizeof(*index), 0, e);
	if (!rc)
		*gpu = (int)index[c->rank];
	free(all);
	free(index);
	return rc;
}
