/* line_flow.c - see line_flow.h */
#include "share/base/line_flow.h"

#include <assert.h>
#include <stdlib.h>

#include "share/base/flow.h"
#include "share/base/lines.h"
#include "share/base/mem.h"

#define BLOCK_BYTES ((size_t)256 << 10)

struct line_block {
	struct buf text, out;
	int64_t first; /* number of its first line */
	bool is_waiting;
	int rc; /* result of the lines; out has those before the failure */
	struct err e;
};

struct line_flow_run_state {
	const struct line_flow *f;
	struct lines in;
};

static int line_flow_read_block(void *context, void *slot, struct err *e)
{
	struct line_flow_run_state *r = context;
	struct line_block *b = slot;

	b->first = r->in.number + 1;
	return lines_read_block(&r->in, BLOCK_BYTES, &b->text, &b->is_waiting, e);
}

static int line_flow_process_lines(struct line_flow_run_state *r, int worker, struct line_block *b,
				   struct err *e)
{
	struct lines in;
	int got;

	if (lines_open_memory(&in, r->in.name, b->text.data, b->text.len, b->first, e))
		return e->code;
	in.repair = r->f->repair;
	while ((got = lines_next(&in, e)) > 0) {
		got = r->f->line(r->f->context, worker, in.text, in.len, &b->out, e);
		if (got)
			break;
	}
	if (!got)
		got = buf_check(&b->out, e);
	lines_close(&in);
	return got;
}

static int line_flow_process_block(void *context, int worker, void *slot, struct err *e)
{
	struct line_block *b = slot;

	(void)e; /* reported when the block is consumed, after the output before it */
	buf_clear(&b->out);
	b->rc = line_flow_process_lines(context, worker, b, &b->e);
	return 0;
}

static int line_flow_emit_block(void *context, void *slot, struct err *e)
{
	struct line_flow_run_state *r = context;
	struct line_block *b = slot;

	if (r->f->take && b->out.len && r->f->take(r->f->context, &b->out, b->is_waiting, e))
		return e->code;
	if (b->rc)
		*e = b->e;
	return b->rc;
}

int line_flow_run(const struct line_flow *f, const char *path, struct err *e)
{
	struct line_flow_run_state r = { .f = f };
	int n_blocks = f->threads + 2, rc;
	struct line_block *blocks = mem_alloc((size_t)n_blocks, sizeof(*blocks), e);
	struct flow flow = { line_flow_read_block,
			     line_flow_process_block,
			     line_flow_emit_block,
			     &r,
			     blocks,
			     sizeof(*blocks),
			     n_blocks,
			     f->threads > 1 ? f->threads : 0 };

	assert(f->line && f->threads >= 0);
	if (!blocks)
		return e->code;
	rc = lines_open(&r.in, path, e);
	if (!rc) {
		rc = flow_run(&flow, e);
		lines_close(&r.in);
	}
	for (int i = 0; i < n_blocks; i++) {
		buf_free(&blocks[i].text);
		buf_free(&blocks[i].out);
	}
	free(blocks);
	return rc;
}
