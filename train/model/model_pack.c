/*
 * model_pack.c - weights packed for decoding; see model.h and kernels/ops/panels.h
 *
 * A step of decoding multiplies few rows by all weights, so the time to read the weights bounds it.
 * model_pack() copies them once: into fewer bytes (bf16, int8), and into panels, the order in which
 * the kernel reads them. It visits all weights twice, first to count the bytes of the one block.
 */
#include "train/model/model_internal.h"

#include <assert.h>

#include "kernels/ops/panels.h"
#include "share/base/file.h"

void model_refresh_rounded(struct model *m)
{
	if (m->rounded && m->rounded_is_stale)
		m->ops->copy(m->dev,
			     (struct tensor){ m->rounded, 1, m->floats, m->floats, DTYPE_BF16 },
			     tensor_f32(m->param, 1, m->floats));
	m->rounded_is_stale = false;
}

void model_discard_rounded(struct model *m)
{
	if (!m->rounded)
		return;
	m->ops->release(m->dev, m->rounded);
	m->rounded = NULL;
	model_set_views(&m->weights, m->params, m->n_params, m->param, NULL);
}

struct packing {
	struct model *m;
	enum dtype precision;
	size_t bytes; /* so far; while m->packed is NULL, pack_one() only counts them */
};

static bool pack_one(void *context, struct tensor *view)
{
	struct packing *p = context;
	struct tensor packed = { NULL, view->rows, view->cols, 0, p->precision };
	size_t bytes;

	if (!panel_bytes(packed, &bytes) || bytes > SIZE_MAX / 4)
		return false;
	if (p->m->packed) {
		packed.data = (char *)p->m->packed + p->bytes;
		p->m->ops->pack(p->m->dev, packed, *view);
		if (p->m->is_mapped)
			map_drop_pages(view->data,
				       (size_t)(view->rows * view->cols) * sizeof(float));
		*view = packed;
	}
	return !__builtin_add_overflow(p->bytes, (bytes + 63) / 64 * 64, &p->bytes);
}

/*
 * Do products of this precision read the weights as they are? A GPU multiplies plain rows, floats or
 * the bf16 copy, on tensor cores by cuBLASLt, which cannot read panels.
 */
static bool multiplies_plain_rows(const struct model *m, enum dtype precision)
{
	return m->ops->prefers_bf16_weights &&
	       precision == (m->rounded ? DTYPE_PACKED_BF16 : DTYPE_PACKED_F32);
}

int model_pack(struct model *m, enum dtype precision, struct err *e)
{
	struct packing p = { .m = m, .precision = precision };
	size_t counted;

	if (!m->ops->pack)
		return err_set(e, ERR_UNAVAILABLE, "backend %s has no packed weights",
			       m->ops->name);
	if (m->packed || m->grad)
		return err_set(e, ERR_INTERNAL,
			       "the model has packed its weights already, or is reserved for "
			       "training");
	if (multiplies_plain_rows(m, precision)) {
		model_refresh_rounded(m);
		return m->ops->sync(m->dev, e);
	}
	model_discard_rounded(m);
	if (!model_each_weight(m, pack_one, &p))
		return err_set(e, ERR_NOMEM, "the packed weights do not fit into memory");
	m->packed = m->ops->alloc(m->dev, p.bytes, e);
	if (!m->packed)
		return e->code;
	counted = p.bytes;
	p.bytes = 0;
	model_each_weight(m, pack_one, &p);
	assert(p.bytes == counted);
	(void)counted;
	return m->ops->sync(m->dev, e);
}

void model_linear(const struct model *m, struct tensor out, struct tensor in, struct tensor weight,
		  struct tensor bias, bool relu)
{
	if (bias.data || relu || tensor_is_packed(weight))
		m->ops->linear(m->dev, out, in, weight, bias.data, relu);
	else
		m->ops->matmul(m->dev, out, in, weight,
			       (struct matmul_how){ .b_transposed = true });
}
