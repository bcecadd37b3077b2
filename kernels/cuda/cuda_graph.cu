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

#define MOST_GRAPHS 192
#define WITHOUT	    " (cuda_graphs = no does without)"

struct graph {
	struct graph_key key;
	uint64_t used;			/* when, by cuda_graphs.clock; 0: an empty place */
	int n;
	cudaGraphExec_t *piece;		/* (n) owned; NULL: it has come once */
};

struct cuda_graphs {
	struct graph graph[MOST_GRAPHS];
	uint64_t clock;
	struct graph *now;		/* which begin() was about; NULL: it runs as it is called */
	bool capturing;			/* it is between begin and end */
};

static void forget(struct graph *g)
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
	for (int i = 0; i < MOST_GRAPHS; i++)
		forget(&d->graphs->graph[i]);
}

void cuda_graphs_close(struct dev *d)
{
	cuda_graphs_drop(d);
	free(d->graphs);
	d->graphs = NULL;
}

/* That of the key, or the place that has been without use for longest. */
static struct graph *place_of(struct cuda_graphs *all, const struct graph_key *key)
{
	struct graph *oldest = &all->graph[0];

	for (int i = 0; i < MOST_GRAPHS; i++) {
		struct graph *g = &all->graph[i];

		if (g->used && !memcmp(&g->key, key, sizeof(*key)))
			return g;
		if (g->used < oldest->used)
			oldest = g;
	}
	return oldest;
}

static void begin_piece(struct dev *d)
{
	/* Only this thread's calls have to be such as can be captured. */
	cuda_note(d, cudaStreamBeginCapture(d->stream, cudaStreamCaptureModeThreadLocal),
		  "beginning a graph" WITHOUT);
}

/* What was captured is told the GPU, and kept. */
static void end_piece(struct dev *d, struct graph *g)
{
	cudaGraph_t captured = NULL;
	cudaGraphExec_t *more = NULL, piece = NULL;

	cuda_note(d, cudaStreamEndCapture(d->stream, &captured), "ending a graph" WITHOUT);
	if (captured) {
		cuda_note(d, cudaGraphInstantiate(&piece, captured, 0), "making a graph" WITHOUT);
		(void)cudaGraphDestroy(captured);
	}
	if (piece)
		more = (cudaGraphExec_t *)realloc(g->piece, (size_t)(g->n + 1) * sizeof(*more));
	if (!more) {
		cuda_note(d, cudaErrorMemoryAllocation, "keeping a graph" WITHOUT);
		if (piece)
			(void)cudaGraphExecDestroy(piece);
		return;
	}
	g->piece = more;
	g->piece[g->n++] = piece;
	cuda_note(d, cudaGraphLaunch(piece, d->stream), "starting a graph" WITHOUT);
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
	g = place_of(all, key);
	if (g->used && !memcmp(&g->key, key, sizeof(*key))) {
		g->used = ++all->clock;
		all->now = g;
		all->capturing = g->n == 0;
		if (all->capturing)
			begin_piece(d);
		return g->n;
	}
	if (g->n)
		(void)cudaStreamSynchronize(d->stream);
	forget(g);
	g->key = *key;
	g->used = ++all->clock;
	all->now = NULL;
	return 0;
}

void cuda_graph_pause(struct dev *d)
{
	if (d->graphs && d->graphs->capturing)
		end_piece(d, d->graphs->now);
}

void cuda_graph_resume(struct dev *d)
{
	if (d->graphs && d->graphs->capturing)
		begin_piece(d);
}

void cuda_graph_end(struct dev *d)
{
	if (!d->graphs || !d->graphs->capturing)
		return;
	end_piece(d, d->graphs->now);
	d->graphs->capturing = false;
	if (d->fault.code) /* one that lacks something is none */
		forget(d->graphs->now);
}

void cuda_graph_play(struct dev *d, int piece)
{
	const struct graph *g = d->graphs ? d->graphs->now : NULL;

	if (g && piece < g->n)
		cuda_note(d, cudaGraphLaunch(g->piece[piece], d->stream),
			  "starting a graph" WITHOUT);
}
