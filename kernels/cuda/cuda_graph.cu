/*
 * cuda_graph.cu - see ops.h, struct graph_key: ops that come again and again, as CUDA graphs.
 *
 * What is called under a key for the first time runs as it is called: kernels are loaded then, algorithms
 * of products chosen, scratch memory taken. The second time it is captured, and from then on one call starts
 * all of it. A key that never comes back costs nothing but its entry.
 */
#include "kernels/cuda/cuda.cuh"

#include <stdlib.h>
#include <string.h>

#define MAX_GRAPHS   192
#define DISABLE_HINT " (cuda_graphs = no does without)"

struct graph {
	struct graph_key key;
	uint64_t last_used; /* when, by cuda_graphs.clock; 0: an empty place */
	int n;
	cudaGraphExec_t *piece; /* (n) owned; NULL: it has come once */
};

struct cuda_graphs {
	struct graph graph[MAX_GRAPHS];
	uint64_t clock;
	struct graph *current; /* which begin() was about; NULL: it runs as it is called */
	bool capturing;	       /* it is between begin and end */
};

static void graph_discard(struct graph *g)
{
	for (int i = 0; i < g->n; i++)
		(void)cudaGraphExecDestroy(g->piece[i]);
	free(g->piece);
	memset(g, 0, sizeof(*g));
}

void cuda_graphs_drop(struct dev *d)
{
	if (!d->graphs)
		return;
	if (d->stream)
		(void)cudaStreamSynchronize(d->stream); /* some may be running */
	for (int i = 0; i < MAX_GRAPHS; i++)
		graph_discard(&d->graphs->graph[i]);
}

void cuda_graphs_close(struct dev *d)
{
	cuda_graphs_drop(d);
	free(d->graphs);
	d->graphs = NULL;
}

/* That of the key, or the place that has been without use for longest. */
static struct graph *graph_find_slot(struct cuda_graphs *all, const struct graph_key *key)
{
	struct graph *oldest = &all->graph[0];

	for (int i = 0; i < MAX_GRAPHS; i++) {
		struct graph *g = &all->graph[i];

		if (g->last_used && !memcmp(&g->key, key, sizeof(*key)))
			return g;
		if (g->last_used < oldest->last_used)
			oldest = g;
	}
	return oldest;
}

static void graph_begin_piece(struct dev *d)
{
	/* Only this thread's calls have to be such as can be captured. */
	cuda_check(d, cudaStreamBeginCapture(d->stream, cudaStreamCaptureModeThreadLocal),
		   "beginning a graph" DISABLE_HINT);
}

/* What was captured is told the GPU, and kept. */
static void graph_end_piece(struct dev *d, struct graph *g)
{
	cudaGraph_t captured = NULL;
	cudaGraphExec_t *more = NULL, piece = NULL;

	cuda_check(d, cudaStreamEndCapture(d->stream, &captured), "ending a graph" DISABLE_HINT);
	if (captured) {
		cuda_check(d, cudaGraphInstantiate(&piece, captured, 0),
			   "making a graph" DISABLE_HINT);
		(void)cudaGraphDestroy(captured);
	}
	if (piece)
		more = (cudaGraphExec_t *)realloc(g->piece, (size_t)(g->n + 1) * sizeof(*more));
	if (!more) {
		cuda_check(d, cudaErrorMemoryAllocation, "keeping a graph" DISABLE_HINT);
		if (piece)
			(void)cudaGraphExecDestroy(piece);
		return;
	}
	g->piece = more;
	g->piece[g->n++] = piece;
	cuda_check(d, cudaGraphLaunch(piece, d->stream), "starting a graph" DISABLE_HINT);
}

int cuda_graphs_open(struct dev *d, struct err *e)
{
	d->graphs = (struct cuda_graphs *)mem_alloc(1, sizeof(*d->graphs), e);
	return d->graphs ? 0 : e->code;
}

int cuda_graph_begin(struct dev *d, const struct graph_key *key)
{
	struct cuda_graphs *all = d->graphs;
	struct graph *g;

	if (!all || d->fault.code)
		return 0;
	g = graph_find_slot(all, key);
	if (g->last_used && !memcmp(&g->key, key, sizeof(*key))) {
		g->last_used = ++all->clock;
		all->current = g;
		all->capturing = g->n == 0;
		if (all->capturing)
			graph_begin_piece(d);
		return g->n;
	}
	if (g->n)
		(void)cudaStreamSynchronize(d->stream);
	graph_discard(g);
	g->key = *key;
	g->last_used = ++all->clock;
	all->current = NULL;
	return 0;
}

void cuda_graph_pause(struct dev *d)
{
	if (d->graphs && d->graphs->capturing)
		graph_end_piece(d, d->graphs->current);
}

void cuda_graph_resume(struct dev *d)
{
	if (d->graphs && d->graphs->capturing)
		graph_begin_piece(d);
}

void cuda_graph_end(struct dev *d)
{
	if (!d->graphs || !d->graphs->capturing)
		return;
	graph_end_piece(d, d->graphs->current);
	d->graphs->capturing = false;
	if (d->fault.code) /* one that lacks something is none */
		graph_discard(d->graphs->current);
}

void cuda_graph_replay(struct dev *d, int piece)
{
	const struct graph *g = d->graphs ? d->graphs->current : NULL;

	if (g && piece < g->n)
		cuda_check(d, cudaGraphLaunch(g->piece[piece], d->stream),
			   "starting a graph" DISABLE_HINT);
}
