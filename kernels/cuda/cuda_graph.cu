/*
 * cuda_graph.cu - capture and replay of ops as CUDA graphs; the interface is struct graph_key in ops.h.
 *
 * A training step launches hundreds of short kernels; at some batch sizes the launches take longer
 * than the kernels. A graph launches all of them by one call. The life of a key:
 *
 *	1st time	ops run normally: kernels are loaded, algorithms of products chosen, scratch
 *			memory allocated. Only the key is stored.
 *	2nd time	ops are captured, piece by piece, and each piece is launched at its end.
 *	from the 3rd	each piece is replayed by one launch.
 *
 * A key that never returns costs only an entry of the table. The table has MAX_GRAPHS entries; a new
 * key replaces the least recently used one. When scratch memory grows, all graphs are dropped,
 * because they contain its old address. A fault during capture discards the incomplete graph. When
 * a graph cannot be instantiated, which takes memory, all others are discarded and it is tried again.
 */
#include "kernels/cuda/cuda.cuh"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#define MAX_GRAPHS   192
#define DISABLE_HINT " (set cuda_graphs = no to run without graphs)"

struct graph {
	struct graph_key key;
	uint64_t last_used; /* by cuda_graphs.clock; 0: an empty entry */
	int n;
	cudaGraphExec_t *piece; /* (n) owned; NULL: the key was seen once, nothing captured yet */
};

struct cuda_graphs {
	struct graph graph[MAX_GRAPHS];
	uint64_t clock;
	struct graph *current; /* the graph of the last begin(); NULL: ops run normally */
	bool capturing;	       /* between begin and end of the second time */
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
		(void)cudaStreamSynchronize(d->stream); /* graphs may still be running */
	for (int i = 0; i < MAX_GRAPHS; i++)
		graph_discard(&d->graphs->graph[i]);
}

void cuda_graphs_close(struct dev *d)
{
	cuda_graphs_drop(d);
	free(d->graphs);
	d->graphs = NULL;
}

/* The entry of the key, or the least recently used entry. */
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
	/* Thread-local: other threads may make calls that cannot be captured. */
	cuda_check(d, cudaStreamBeginCapture(d->stream, cudaStreamCaptureModeThreadLocal),
		   "starting the capture of a graph" DISABLE_HINT);
}

/* Discard all graphs but the current one: each takes memory of the GPU. */
static void discard_other_graphs(struct dev *d)
{
	(void)cudaStreamSynchronize(d->stream);
	for (int i = 0; i < MAX_GRAPHS; i++)
		if (&d->graphs->graph[i] != d->graphs->current)
			graph_discard(&d->graphs->graph[i]);
}

/* NULL: failed, also after all other graphs were discarded; stored in d->fault. */
static cudaGraphExec_t instantiate_graph(struct dev *d, cudaGraph_t captured)
{
	cudaGraphExec_t piece = NULL;

	if (cudaGraphInstantiate(&piece, captured, 0) != cudaSuccess) {
		(void)cudaGetLastError();
		discard_other_graphs(d);
		piece = NULL;
		cuda_check(d, cudaGraphInstantiate(&piece, captured, 0),
			   "instantiating a graph" DISABLE_HINT);
	}
	return piece;
}

/* End the capture, append the piece to g, and launch it: captured ops have not run yet. */
static void graph_end_piece(struct dev *d, struct graph *g)
{
	cudaGraph_t captured = NULL;
	cudaGraphExec_t *more = NULL, piece = NULL;

	assert(g && d->graphs->capturing);
	cuda_check(d, cudaStreamEndCapture(d->stream, &captured),
		   "ending the capture of a graph" DISABLE_HINT);
	if (captured) {
		piece = instantiate_graph(d, captured);
		(void)cudaGraphDestroy(captured);
	}
	if (piece)
		more = (cudaGraphExec_t *)realloc(g->piece, (size_t)(g->n + 1) * sizeof(*more));
	if (!more) {
		cuda_check(d, cudaErrorMemoryAllocation, "storing a graph" DISABLE_HINT);
		if (piece)
			(void)cudaGraphExecDestroy(piece);
		return;
	}
	g->piece = more;
	g->piece[g->n++] = piece;
	cuda_check(d, cudaGraphLaunch(piece, d->stream), "launching a graph" DISABLE_HINT);
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
	if (g->n) /* the replaced graph may still be running */
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
	if (d->fault.code) /* discard an incomplete graph */
		graph_discard(d->graphs->current);
}

void cuda_graph_replay(struct dev *d, int piece)
{
	const struct graph *g = d->graphs ? d->graphs->current : NULL;

	if (g && piece < g->n)
		cuda_check(d, cudaGraphLaunch(g->piece[piece], d->stream),
			   "launching a graph" DISABLE_HINT);
	else if (!d->fault.code) /* an op between two pieces has moved scratch memory */
		err_set(&d->fault, ERR_INTERNAL,
			"GPU %d: a graph was discarded while it was replayed" DISABLE_HINT,
			d->device);
}
