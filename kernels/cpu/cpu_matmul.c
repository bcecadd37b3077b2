/*
 * cpu_matmul.c - matrix products by oneDNN, used on machines with AMX tiles for bf16 (cpu_dev.c).
 *
 *	out (M, N) = or += a (M, K) b (K, N)
 *
 * Creating a oneDNN primitive takes longer than a small product, so primitives are cached in a hash
 * table; the key holds everything a primitive depends on: shapes, strides, types, transposition. The
 * memory objects of a primitive own no memory; before each product their pointers are set to the
 * tensors. A key that oneDNN does not support is cached too, with a NULL primitive, and its
 * products go to cpu_gemm.c.
 *
 * Float inputs are rounded to bf16 into scratch memory first (OpenMP, rows). Scratch memory of
 * oneDNN itself comes from CPU_SCRATCH_ONEDNN. Division of work between threads is oneDNN's; it
 * repeats its bits for the same number of threads.
 *
 * The C interfaces of oneDNN 2 and 3 differ; the section "the two versions" hides that. Without
 * oneDNN this file consists of three empty functions.
 */
#ifdef HAVE_CONFIG_H
#include "config.h"
#endif

#include "kernels/cpu/cpu.h"

#ifndef HAVE_ONEDNN

struct cpu_onednn *cpu_onednn_open(void)
{
	return NULL;
}

void cpu_onednn_close(struct cpu_onednn *o)
{
	(void)o;
}

bool cpu_onednn_matmul(struct dev *d, struct tensor out, struct tensor a, struct tensor b,
		       struct matmul_how how, cpu_to_bf16 *to_bf16)
{
	(void)d, (void)out, (void)a, (void)b, (void)how, (void)to_bf16;
	return false;
}

#else

#include <assert.h>
#include <oneapi/dnnl/dnnl.h>
#include <stdlib.h>
#include <string.h>
#ifdef _OPENMP
#include <omp.h>
#endif

#include "share/base/mem.h"

/* Everything a primitive depends on; compared byte by byte, so it has no padding. */
struct key {
	int64_t rows, cols, inner;
	int64_t out_stride, a_stride, b_stride;
	int32_t a_transposed, b_transposed, accumulate;
	int32_t out_bf16, a_bf16, b_bf16;
};

enum { A, B, OUT, N_OPERANDS };

struct product {
	struct key key;
	dnnl_primitive_t primitive; /* NULL: not supported by this library or machine */
	dnnl_memory_t memory[N_OPERANDS];
	dnnl_memory_t scratch; /* NULL: none needed */
	size_t scratch_bytes;
};

_Static_assert(sizeof(struct key) == 6 * sizeof(int64_t) + 6 * sizeof(int32_t), "no padding");

struct cpu_onednn {
	dnnl_engine_t engine;
	dnnl_stream_t stream;
	struct product *products;   /* open addressing; key.rows 0: an empty slot */
	size_t n_products, n_slots; /* n_slots is a power of two, at least twice n_products */
};

struct cpu_onednn *cpu_onednn_open(void)
{
	struct cpu_onednn *o = calloc(1, sizeof(*o));

	dnnl_set_primitive_cache_capacity(0);
	if (o && dnnl_engine_create(&o->engine, dnnl_cpu, 0) == dnnl_success &&
	    dnnl_stream_create(&o->stream, o->engine, dnnl_stream_default_flags) == dnnl_success)
		return o;
	cpu_onednn_close(o);
	return NULL;
}

static void product_free(struct product *p)
{
	for (int i = 0; i < N_OPERANDS; i++)
		if (p->memory[i])
			dnnl_memory_destroy(p->memory[i]);
	if (p->scratch)
		dnnl_memory_destroy(p->scratch);
	if (p->primitive)
		dnnl_primitive_destroy(p->primitive);
	memset(p->memory, 0, sizeof(p->memory));
	p->scratch = NULL;
	p->primitive = NULL;
}

void cpu_onednn_close(struct cpu_onednn *o)
{
	if (!o)
		return;
	for (size_t i = 0; i < o->n_slots; i++)
		product_free(&o->products[i]);
	if (o->stream)
		dnnl_stream_destroy(o->stream);
	if (o->engine)
		dnnl_engine_destroy(o->engine);
	free(o->products);
	free(o);
}

/* ---- the two versions ------------------------------------------------------ */

struct layout {
	dnnl_dims_t dims, strides;
	dnnl_data_type_t type;
};

#if DNNL_VERSION_MAJOR >= 3

static dnnl_status_t create_memory(dnnl_memory_t *m, const struct layout *l, dnnl_engine_t engine)
{
	dnnl_memory_desc_t desc;
	dnnl_status_t status =
		dnnl_memory_desc_create_with_strides(&desc, 2, l->dims, l->type, l->strides);

	if (status == dnnl_success) {
		status = dnnl_memory_create(m, desc, engine, DNNL_MEMORY_NONE);
		dnnl_memory_desc_destroy(desc);
	}
	return status;
}

static dnnl_status_t create_scratch(struct product *p, const_dnnl_primitive_desc_t desc,
				    dnnl_engine_t engine)
{
	const_dnnl_memory_desc_t scratch =
		dnnl_primitive_desc_query_md(desc, dnnl_query_scratchpad_md, 0);

	p->scratch_bytes = scratch ? dnnl_memory_desc_get_size(scratch) : 0;
	return p->scratch_bytes ? dnnl_memory_create(&p->scratch, scratch, engine, DNNL_MEMORY_NONE)
				: dnnl_success;
}

static dnnl_status_t create_desc(dnnl_primitive_desc_t *desc, const struct layout l[N_OPERANDS],
				 const_dnnl_primitive_attr_t attributes, dnnl_engine_t engine)
{
	dnnl_memory_desc_t md[N_OPERANDS] = { NULL };
	dnnl_status_t status = dnnl_success;

	for (int i = 0; i < N_OPERANDS && status == dnnl_success; i++)
		status = dnnl_memory_desc_create_with_strides(&md[i], 2, l[i].dims, l[i].type,
							      l[i].strides);
	if (status == dnnl_success)
		status = dnnl_matmul_primitive_desc_create(desc, engine, md[A], md[B], NULL,
							   md[OUT], attributes);
	for (int i = 0; i < N_OPERANDS; i++)
		if (md[i])
			dnnl_memory_desc_destroy(md[i]);
	return status;
}

static dnnl_status_t append_sum(dnnl_post_ops_t ops)
{
	return dnnl_post_ops_append_sum(ops, 1.0f, 0, dnnl_data_type_undef);
}

#else

static dnnl_status_t create_memory(dnnl_memory_t *m, const struct layout *l, dnnl_engine_t engine)
{
	dnnl_memory_desc_t desc;
	dnnl_status_t status =
		dnnl_memory_desc_init_by_strides(&desc, 2, l->dims, l->type, l->strides);

	return status == dnnl_success ? dnnl_memory_create(m, &desc, engine, DNNL_MEMORY_NONE)
				      : status;
}

static dnnl_status_t create_scratch(struct product *p, const_dnnl_primitive_desc_t desc,
				    dnnl_engine_t engine)
{
	const dnnl_memory_desc_t *scratch =
		dnnl_primitive_desc_query_md(desc, dnnl_query_scratchpad_md, 0);

	p->scratch_bytes = scratch ? dnnl_memory_desc_get_size(scratch) : 0;
	return p->scratch_bytes ? dnnl_memory_create(&p->scratch, scratch, engine, DNNL_MEMORY_NONE)
				: dnnl_success;
}

static dnnl_status_t create_desc(dnnl_primitive_desc_t *desc, const struct layout l[N_OPERANDS],
				 const_dnnl_primitive_attr_t attributes, dnnl_engine_t engine)
{
	dnnl_memory_desc_t md[N_OPERANDS];
	dnnl_matmul_desc_t matmul;
	dnnl_status_t status = dnnl_success;

	for (int i = 0; i < N_OPERANDS && status == dnnl_success; i++)
		status = dnnl_memory_desc_init_by_strides(&md[i], 2, l[i].dims, l[i].type,
							  l[i].strides);
	if (status == dnnl_success)
		status = dnnl_matmul_desc_init(&matmul, &md[A], &md[B], NULL, &md[OUT]);
	return status == dnnl_success
		       ? dnnl_primitive_desc_create(desc, &matmul, attributes, engine, NULL)
		       : status;
}

static dnnl_status_t append_sum(dnnl_post_ops_t ops)
{
	return dnnl_post_ops_append_sum(ops, 1.0f);
}

#endif

/* ---- primitives and their cache -------------------------------------------- */

static dnnl_status_t create_attributes(dnnl_primitive_attr_t *attributes, bool accumulate)
{
	dnnl_post_ops_t ops = NULL;
	dnnl_status_t status = dnnl_primitive_attr_create(attributes);

	if (status == dnnl_success)
		status = dnnl_primitive_attr_set_scratchpad_mode(*attributes,
								 dnnl_scratchpad_mode_user);
	if (status != dnnl_success || !accumulate)
		return status;
	status = dnnl_post_ops_create(&ops);
	if (status == dnnl_success)
		status = append_sum(ops);
	if (status == dnnl_success)
		status = dnnl_primitive_attr_set_post_ops(*attributes, ops);
	if (ops)
		dnnl_post_ops_destroy(ops);
	return status;
}

static struct layout layout_of(int64_t rows, int64_t cols, int64_t stride, bool transposed,
			       bool bf16)
{
	return (struct layout){
		.dims = { rows, cols },
		.strides = { transposed ? 1 : stride, transposed ? stride : 1 },
		.type = bf16 ? dnnl_bf16 : dnnl_f32,
	};
}

/* Create the primitive of p->key; on failure p->primitive stays NULL. */
static void product_create(struct cpu_onednn *o, struct product *p)
{
	const struct key *k = &p->key;
	struct layout layout[N_OPERANDS] = {
		[A] = layout_of(k->rows, k->inner, k->a_stride, k->a_transposed, k->a_bf16),
		[B] = layout_of(k->inner, k->cols, k->b_stride, k->b_transposed, k->b_bf16),
		[OUT] = layout_of(k->rows, k->cols, k->out_stride, false, k->out_bf16),
	};
	dnnl_primitive_attr_t attributes = NULL;
	dnnl_primitive_desc_t desc = NULL;
	dnnl_status_t status = create_attributes(&attributes, k->accumulate);

	if (status == dnnl_success)
		status = create_desc(&desc, layout, attributes, o->engine);
	if (status == dnnl_success)
		status = create_scratch(p, desc, o->engine);
	for (int i = 0; i < N_OPERANDS && status == dnnl_success; i++)
		status = create_memory(&p->memory[i], &layout[i], o->engine);
	if (status == dnnl_success)
		status = dnnl_primitive_create(&p->primitive, desc);
	if (desc)
		dnnl_primitive_desc_destroy(desc);
	if (attributes)
		dnnl_primitive_attr_destroy(attributes);
	if (status != dnnl_success)
		product_free(p);
}

/* The slot of the key, or the empty slot where it belongs. */
static struct product *onednn_find_slot(const struct cpu_onednn *o, const struct key *key)
{
	const unsigned char *bytes = (const unsigned char *)key;
	uint64_t hash = 0xCBF29CE484222325u; /* FNV-1a */
	size_t i;

	assert(o->n_slots > o->n_products && (o->n_slots & (o->n_slots - 1)) == 0);
	for (size_t at = 0; at < sizeof(*key); at++)
		hash = (hash ^ bytes[at]) * 0x100000001B3u;
	for (i = hash & (o->n_slots - 1); o->products[i].key.rows; i = (i + 1) & (o->n_slots - 1))
		if (memcmp(&o->products[i].key, key, sizeof(*key)) == 0)
			break;
	return &o->products[i];
}

/*
 * Batches have many sizes; a full table is emptied, so that it does not grow without limit. The
 * cache of oneDNN itself would keep the same primitives once more, so it is switched off.
 */
static bool onednn_grow_table(struct cpu_onednn *o)
{
	struct cpu_onednn bigger = *o;
	struct err ignored;

	if (o->n_slots > o->n_products * 2)
		return true;
	if (o->n_products >= CPU_ONEDNN_PRODUCTS) {
		for (size_t i = 0; i < o->n_slots; i++)
			product_free(&o->products[i]);
		memset(o->products, 0, o->n_slots * sizeof(*o->products));
		o->n_products = 0;
		return true;
	}
	bigger.n_slots = o->n_slots ? o->n_slots * 2 : 64;
	bigger.products = mem_alloc(bigger.n_slots, sizeof(*bigger.products), &ignored);
	if (!bigger.products)
		return false;
	for (size_t i = 0; i < o->n_slots; i++)
		if (o->products[i].key.rows)
			*onednn_find_slot(&bigger, &o->products[i].key) = o->products[i];
	free(o->products);
	*o = bigger;
	return true;
}

static struct product *product_for(struct cpu_onednn *o, const struct key *key)
{
	struct product *p;

	if (!onednn_grow_table(o))
		return NULL;
	p = onednn_find_slot(o, key);
	if (!p->key.rows) {
		p->key = *key;
		o->n_products++;
		product_create(o, p);
	}
	return p->primitive ? p : NULL;
}

/* ---- products ------------------------------------------------------------------ */

/* Replace t by a copy rounded to bf16, dense, in scratch memory. */
static bool round_to_bf16(struct dev *d, struct tensor *t, enum cpu_scratch which,
			  cpu_to_bf16 *to_bf16)
{
	int64_t rows = t->rows, cols = t->cols, stride = t->stride;
	const float *from = t->data;
	uint16_t *to = cpu_scratch(d, which, (size_t)rows, (size_t)cols * sizeof(*to));

	if (!to)
		return false;
#pragma omp parallel for num_threads(d->threads) schedule(static)
	for (int64_t r = 0; r < rows; r++)
		to_bf16(to + r * cols, from + r * stride, cols);
	*t = (struct tensor){ to, rows, cols, cols, DTYPE_BF16 };
	return true;
}

static bool round_inputs(struct dev *d, struct tensor *a, struct tensor *b, cpu_to_bf16 *to_bf16)
{
	return (a->dtype == DTYPE_BF16 || round_to_bf16(d, a, CPU_SCRATCH_A, to_bf16)) &&
	       (b->dtype == DTYPE_BF16 || round_to_bf16(d, b, CPU_SCRATCH_B, to_bf16));
}

bool cpu_onednn_matmul(struct dev *d, struct tensor out, struct tensor a, struct tensor b,
		       struct matmul_how how, cpu_to_bf16 *to_bf16)
{
	bool rounded = d->bf16 || a.dtype == DTYPE_BF16 || b.dtype == DTYPE_BF16;
	struct key key = {
		.rows = out.rows,
		.cols = out.cols,
		.inner = how.a_transposed ? a.rows : a.cols,
		.out_stride = out.stride,
		.out_bf16 = out.dtype == DTYPE_BF16,
		.a_stride = rounded && a.dtype == DTYPE_F32 ? a.cols : a.stride,
		.a_bf16 = rounded,
		.b_stride = rounded && b.dtype == DTYPE_F32 ? b.cols : b.stride,
		.b_bf16 = rounded,
		.a_transposed = how.a_transposed,
		.b_transposed = how.b_transposed,
		.accumulate = how.accumulate,
	};
	dnnl_exec_arg_t args[N_OPERANDS + 1] = { { DNNL_ARG_SRC, NULL },
						 { DNNL_ARG_WEIGHTS, NULL },
						 { DNNL_ARG_DST, NULL } };
	struct product *p;
	void *scratch = NULL;

	if (key.inner == 0 || (rounded && !d->bf16 && a.dtype != b.dtype))
		return false;
#ifdef _OPENMP
	omp_set_num_threads(d->threads); /* the only way to tell oneDNN a number of threads */
#endif
	p = product_for(d->onednn, &key);
	if (!p || (rounded && !round_inputs(d, &a, &b, to_bf16)))
		return false;
	if (p->scratch_bytes &&
	    !(scratch = cpu_scratch(d, CPU_SCRATCH_ONEDNN, p->scratch_bytes, 1)))
		return false;
	dnnl_memory_set_data_handle(p->memory[A], a.data);
	dnnl_memory_set_data_handle(p->memory[B], b.data);
	dnnl_memory_set_data_handle(p->memory[OUT], out.data);
	for (int i = 0; i < N_OPERANDS; i++)
		args[i].memory = p->memory[i];
	if (scratch) {
		dnnl_memory_set_data_handle(p->scratch, scratch);
		args[N_OPERANDS] = (dnnl_exec_arg_t){ DNNL_ARG_SCRATCHPAD, p->scratch };
	}
	return dnnl_primitive_execute(p->primitive, d->onednn->stream, N_OPERANDS + !!scratch,
				      args) == dnnl_success;
}

#endif
