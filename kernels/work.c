/* work.c - see work.h */
#include "kernels/work.h"

#include "kernels/ops/panels.h"

/* Every op has its function with all of the op's arguments; most look at few of them. */
#pragma GCC diagnostic ignored "-Wunused-parameter"

static double tensor_elements(struct tensor t)
{
	return (double)t.rows * (double)t.cols;
}

static double tensor_bytes(struct tensor t)
{
	size_t n;

	if (tensor_is_packed(t))
		return panel_bytes(t, &n) ? (double)n : 0;
	return tensor_elements(t) * (double)dtype_bytes(t.dtype);
}

static struct work bytes_moved(double n)
{
	return (struct work){ .bytes = n };
}

struct work work_matmul(struct dev *d, struct tensor out, struct tensor a, struct tensor b,
			struct matmul_how how)
{
	static const char *const kinds[2][2] = { { "a b", "a b^T" }, { "a^T b", "a^T b^T" } };
	double inner = (double)(how.a_transposed ? a.rows : a.cols);

	return (struct work){
		.kind = kinds[how.a_transposed][how.b_transposed],
		.flops = 2 * tensor_elements(out) * inner,
		.bytes = tensor_bytes(a) + tensor_bytes(b) +
			 tensor_bytes(out) * (how.accumulate ? 2 : 1),
	};
}

struct work work_pack(struct dev *d, struct tensor packed, struct tensor b)
{
	return bytes_moved(tensor_bytes(b) + tensor_bytes(packed));
}

static const char *precision_of(struct tensor packed)
{
	return !tensor_is_packed(packed)	   ? "not packed"
	       : packed.dtype == DTYPE_PACKED_INT8 ? "int8"
	       : packed.dtype == DTYPE_PACKED_BF16 ? "bf16"
						   : "fp32";
}

static struct work packed_product(struct tensor a, struct tensor packed, double out_bytes)
{
	return (struct work){
		.kind = precision_of(packed),
		.flops = 2 * tensor_elements(a) * (double)packed.rows,
		.bytes = tensor_bytes(a) + tensor_bytes(packed) + out_bytes,
	};
}

struct work work_linear(struct dev *d, struct tensor out, struct tensor a, struct tensor packed,
			const float *bias, bool relu)
{
	return packed_product(a, packed, tensor_bytes(out));
}

struct work work_linear_top_k(struct dev *d, float *values, int32_t *ids, struct tensor a,
			      struct tensor packed, int64_t n_real, int32_t k)
{
	return packed_product(a, packed, 8.0 * (double)a.rows * k);
}

struct work work_embed(struct dev *d, struct tensor out, struct tensor table, const int32_t *ids,
		       const int32_t *positions, float scale, struct dropout drop)
{
	return bytes_moved(2 * tensor_bytes(out));
}

struct work work_embed_grad(struct dev *d, struct tensor dtable, struct tensor dout,
			    const int32_t *ids, float scale, struct dropout drop)
{
	return bytes_moved(3 * tensor_bytes(dout));
}

struct work work_norm(struct dev *d, struct tensor out, float *mean, float *rstd, struct tensor x,
		      const float *scale, const float *shift)
{
	return bytes_moved(tensor_bytes(out) + tensor_bytes(x));
}

struct work work_norm_grad(struct dev *d, struct tensor dx, float *dscale, float *dshift,
			   struct tensor dout, struct tensor x, const float *mean,
			   const float *rstd, const float *scale, bool accumulate)
{
	return bytes_moved(tensor_bytes(dout) + tensor_bytes(x) +
			   tensor_bytes(dx) * (accumulate ? 2 : 1));
}

struct work work_add_norm(struct dev *d, struct tensor sum, struct tensor out, float *mean,
			  float *rstd, struct tensor residual, struct tensor branch,
			  const float *bias, const float *scale, const float *shift,
			  struct dropout drop)
{
	return bytes_moved(tensor_bytes(sum) + tensor_bytes(out) + tensor_bytes(residual) +
			   tensor_bytes(branch));
}

struct work work_add_norm_grad(struct dev *d, struct tensor dsum, struct tensor dbranch,
			       float *dbias, float *dscale, float *dshift, struct tensor dout,
			       struct tensor sum, const float *mean, const float *rstd,
			       const float *scale, struct dropout drop)
{
	return bytes_moved(2 * tensor_bytes(dsum) + tensor_bytes(dbranch) + tensor_bytes(dout) +
			   tensor_bytes(sum));
}

struct work work_relu_dropout(struct dev *d, struct tensor x, const float *bias,
			      struct dropout drop)
{
	return bytes_moved(2 * tensor_bytes(x));
}

struct work work_relu_dropout_grad(struct dev *d, struct tensor dx, float *dbias, struct tensor y,
				   struct dropout drop)
{
	return bytes_moved(2 * tensor_bytes(dx) + tensor_bytes(y));
}

/* Both products of the scores: 2 D operations a pair and product. */
struct work work_attention(struct dev *d, struct tensor out, float *lse, struct tensor q,
			   struct tensor k, struct tensor v, struct attention_shape shape,
			   struct dropout drop)
{
	return (struct work){ .flops = 4 * (double)shape.pairs * (double)q.cols,
			      .bytes = tensor_bytes(out) + tensor_bytes(q) + tensor_bytes(k) +
				       tensor_bytes(v) };
}

/* The scores again, and four products of gradients. */
struct work work_attention_grad(struct dev *d, struct tensor dq, struct tensor dk, struct tensor dv,
				struct tensor dout, struct tensor out, const float *lse,
				struct tensor q, struct tensor k, struct tensor v,
				struct attention_shape shape, struct dropout drop)
{
	return (struct work){ .flops = 10 * (double)shape.pairs * (double)q.cols,
			      .bytes = tensor_bytes(dout) + tensor_bytes(out) +
				       2 * (tensor_bytes(q) + tensor_bytes(k) + tensor_bytes(v)) };
}

struct work work_cross_entropy(struct dev *d, struct tensor dlogits, float *loss, float *nll,
			       struct tensor logits, const int32_t *targets, int64_t n_real,
			       float smoothing, float grad_scale)
{
	return bytes_moved(tensor_bytes(logits) + (grad_scale != 0 ? tensor_bytes(dlogits) : 0));
}

struct work work_add(struct dev *d, struct tensor x, struct tensor y)
{
	return bytes_moved(2 * tensor_bytes(x) + tensor_bytes(y));
}

struct work work_copy(struct dev *d, struct tensor out, struct tensor x)
{
	return bytes_moved(tensor_bytes(out) + tensor_bytes(x));
}

struct work work_zero(struct dev *d, void *p, size_t n_bytes)
{
	return bytes_moved((double)n_bytes);
}

struct work work_sum_squares(struct dev *d, double *out, const float *x, int64_t n)
{
	return bytes_moved(4.0 * (double)n);
}

struct work work_row_sums(struct dev *d, double *out, struct tensor x)
{
	return bytes_moved(tensor_bytes(x));
}

struct work work_adam(struct dev *d, float *param, float *m, float *v, const float *grad, int64_t n,
		      struct adam_step step)
{
	return bytes_moved((7 * 4.0 + (step.rounded ? 2.0 : 0)) * (double)n);
}

struct work work_scale(struct dev *d, float *x, int64_t n, float by)
{
	return bytes_moved(2 * 4.0 * (double)n);
}

struct work work_blend(struct dev *d, float *x, const float *y, int64_t n, float share)
{
	return bytes_moved(3 * 4.0 * (double)n);
}

/* How many rows of the cache are read, only the backend knows. */
struct work work_attention_step(struct dev *d, struct tensor out, float *weights, struct tensor q,
				struct tensor k, struct tensor v, const int32_t *index,
				const int32_t *length, int64_t index_stride, int32_t heads)
{
	return bytes_moved(0);
}

struct work work_gather_rows(struct dev *d, struct tensor out, struct tensor x,
			     const int32_t *index)
{
	return bytes_moved(2 * tensor_bytes(out));
}

struct work work_scatter_rows(struct dev *d, struct tensor out, struct tensor x,
			      const int32_t *index)
{
	return bytes_moved(2 * tensor_bytes(x));
}

struct work work_top_k(struct dev *d, float *values, int32_t *ids, struct tensor logits,
		       int64_t n_real, int32_t k)
{
	return bytes_moved(tensor_bytes(logits));
}
