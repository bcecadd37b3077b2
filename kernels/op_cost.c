/* op_cost.c - counts of FLOPs and bytes; see op_cost.h */
#include "kernels/op_cost.h"

#include <assert.h>
#include <string.h>

#include "kernels/ops/panels.h"

/* Each function has all arguments of its op and uses few of them. */
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

static struct op_cost bytes_moved(double n)
{
	return (struct op_cost){ .bytes = n };
}

struct op_cost op_cost_matmul(struct dev *d, struct tensor out, struct tensor a, struct tensor b,
			      struct matmul_how how)
{
	static const char *const kinds[2][2] = { { "a b", "a b^T" }, { "a^T b", "a^T b^T" } };
	double inner = (double)(how.a_transposed ? a.rows : a.cols);

	assert(inner == (double)(how.b_transposed ? b.cols : b.rows));

	return (struct op_cost){
		.kind = kinds[how.a_transposed][how.b_transposed],
		.flops = 2 * tensor_elements(out) * inner,
		.bytes = tensor_bytes(a) + tensor_bytes(b) +
			 tensor_bytes(out) * (how.accumulate ? 2 : 1),
	};
}

struct op_cost op_cost_pack(struct dev *d, struct tensor packed, struct tensor b)
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

static struct op_cost packed_product(struct tensor a, struct tensor packed, double out_bytes)
{
	return (struct op_cost){
		.kind = precision_of(packed),
		.flops = 2 * tensor_elements(a) * (double)packed.rows,
		.bytes = tensor_bytes(a) + tensor_bytes(packed) + out_bytes,
	};
}

struct op_cost op_cost_linear(struct dev *d, struct tensor out, struct tensor a,
			      struct tensor packed, const float *bias, bool relu)
{
	return packed_product(a, packed, tensor_bytes(out));
}

struct op_cost op_cost_linear_top_k(struct dev *d, float *values, int32_t *ids, struct tensor a,
				    struct tensor packed, const float *bias, int64_t n_real,
				    int32_t k)
{
	return packed_product(a, packed, 8.0 * (double)a.rows * k);
}

struct op_cost op_cost_embed(struct dev *d, struct tensor out, struct tensor table,
			     const int32_t *ids, const int32_t *positions, struct embed_how how,
			     struct dropout drop)
{
	return bytes_moved(2 * tensor_bytes(out));
}

struct op_cost op_cost_embed_grad(struct dev *d, struct tensor dtable, struct tensor dout,
				  const int32_t *ids, float scale, struct dropout drop)
{
	return bytes_moved(3 * tensor_bytes(dout));
}

struct op_cost op_cost_norm(struct dev *d, struct tensor out, float *mean, float *rstd,
			    struct tensor x, const float *scale, const float *shift,
			    struct norm_how how)
{
	return bytes_moved(tensor_bytes(out) + tensor_bytes(x));
}

struct op_cost op_cost_norm_grad(struct dev *d, struct tensor dx, float *dscale, float *dshift,
				 struct tensor dout, struct tensor x, const float *mean,
				 const float *rstd, const float *scale, struct norm_how how,
				 bool accumulate)
{
	return bytes_moved(tensor_bytes(dout) + tensor_bytes(x) +
			   tensor_bytes(dx) * (accumulate ? 2 : 1));
}

struct op_cost op_cost_add_norm(struct dev *d, struct tensor sum, struct tensor out, float *mean,
				float *rstd, struct tensor residual, struct tensor branch,
				const float *bias, const float *scale, const float *shift,
				struct norm_how how, struct dropout drop)
{
	return bytes_moved(tensor_bytes(sum) + tensor_bytes(out) + tensor_bytes(residual) +
			   tensor_bytes(branch));
}

struct op_cost op_cost_add_norm_grad(struct dev *d, struct tensor dsum, struct tensor dbranch,
				     float *dbias, float *dscale, float *dshift, struct tensor dout,
				     struct tensor sum, const float *mean, const float *rstd,
				     const float *scale, struct norm_how how, struct dropout drop)
{
	return bytes_moved(2 * tensor_bytes(dsum) + tensor_bytes(dbranch) + tensor_bytes(dout) +
			   tensor_bytes(sum));
}

struct op_cost op_cost_relu_dropout(struct dev *d, struct tensor x, const float *bias,
				    struct dropout drop)
{
	return bytes_moved(2 * tensor_bytes(x));
}

struct op_cost op_cost_relu_dropout_grad(struct dev *d, struct tensor dx, float *dbias,
					 struct tensor y, struct dropout drop)
{
	return bytes_moved(2 * tensor_bytes(dx) + tensor_bytes(y));
}

struct op_cost op_cost_activate(struct dev *d, struct tensor out, struct tensor x,
				const float *bias, enum activation act, struct dropout drop)
{
	return bytes_moved(tensor_bytes(out) + tensor_bytes(x));
}

struct op_cost op_cost_activate_grad(struct dev *d, struct tensor dx, float *dbias,
				     struct tensor dout, struct tensor x, const float *bias,
				     enum activation act, struct dropout drop)
{
	return bytes_moved(tensor_bytes(dx) + tensor_bytes(dout) + tensor_bytes(x));
}

struct op_cost op_cost_column_sums(struct dev *d, float *sums, struct tensor x)
{
	return bytes_moved(tensor_bytes(x));
}

struct op_cost op_cost_rotate(struct dev *d, struct tensor x, struct tensor waves,
			      const int32_t *positions, int32_t heads, bool back)
{
	return bytes_moved(2 * tensor_bytes(x));
}

struct op_cost op_cost_ssru(struct dev *d, struct tensor out, struct tensor state, struct tensor x,
			    const float *bias, const int32_t *start, int32_t n, int32_t longest)
{
	return bytes_moved(tensor_bytes(out) + tensor_bytes(state) + tensor_bytes(x));
}

struct op_cost op_cost_ssru_grad(struct dev *d, struct tensor dx, float *dbias, struct tensor dout,
				 struct tensor state, struct tensor x, const float *bias,
				 const int32_t *start, int32_t n, int32_t longest)
{
	return bytes_moved(tensor_bytes(dout) + tensor_bytes(state) + tensor_bytes(x) +
			   tensor_bytes(dx));
}

struct op_cost op_cost_ssru_step(struct dev *d, struct tensor out, struct tensor states,
				 struct tensor x, const float *bias, const int32_t *from,
				 const int32_t *to)
{
	return bytes_moved(3 * tensor_bytes(out) + tensor_bytes(x));
}

/* q k^T and weights v: for each pair of a query and a visible key, 2 D FLOPs in each product. */
struct op_cost op_cost_attention(struct dev *d, struct tensor out, float *lse, struct tensor q,
				 struct tensor k, struct tensor v, struct attention_shape shape,
				 struct dropout drop)
{
	return (struct op_cost){ .flops = 4 * (double)shape.pairs * (double)q.cols,
				 .bytes = tensor_bytes(out) + tensor_bytes(q) + tensor_bytes(k) +
					  tensor_bytes(v) };
}

/* Five products: the scores again, dout v^T, and the products for dq, dk and dv. */
struct op_cost op_cost_attention_grad(struct dev *d, struct tensor dq, struct tensor dk,
				      struct tensor dv, struct tensor dout, struct tensor out,
				      const float *lse, struct tensor q, struct tensor k,
				      struct tensor v, struct attention_shape shape,
				      struct dropout drop)
{
	return (struct op_cost){ .flops = 10 * (double)shape.pairs * (double)q.cols,
				 .bytes = tensor_bytes(dout) + tensor_bytes(out) +
					  2 * (tensor_bytes(q) + tensor_bytes(k) +
					       tensor_bytes(v)) };
}

struct op_cost op_cost_cross_entropy(struct dev *d, struct tensor dlogits, float *loss, float *nll,
				     struct tensor logits, const int32_t *targets, int64_t n_real,
				     float smoothing, float grad_scale)
{
	return bytes_moved(tensor_bytes(logits) + (grad_scale != 0 ? tensor_bytes(dlogits) : 0));
}

struct op_cost op_cost_cross_entropy_pairs(struct dev *d, struct tensor da, struct tensor db,
					   float *loss, float *nll, struct tensor a,
					   struct tensor b, const int32_t *targets, int64_t n_real,
					   float smoothing, float weight, float grad_scale)
{
	return bytes_moved(tensor_bytes(a) + tensor_bytes(b) +
			   (grad_scale != 0 ? tensor_bytes(da) + tensor_bytes(db) : 0));
}

struct op_cost op_cost_add(struct dev *d, struct tensor x, struct tensor y)
{
	return bytes_moved(2 * tensor_bytes(x) + tensor_bytes(y));
}

struct op_cost op_cost_copy(struct dev *d, struct tensor out, struct tensor x)
{
	return bytes_moved(tensor_bytes(out) + tensor_bytes(x));
}

struct op_cost op_cost_zero(struct dev *d, void *p, size_t n_bytes)
{
	return bytes_moved((double)n_bytes);
}

struct op_cost op_cost_sum_squares(struct dev *d, double *out, const float *x, int64_t n)
{
	return bytes_moved(4.0 * (double)n);
}

struct op_cost op_cost_row_sums(struct dev *d, double *out, struct tensor x)
{
	return bytes_moved(tensor_bytes(x));
}

struct op_cost op_cost_adam(struct dev *d, float *param, float *m, float *v, const float *grad,
			    int64_t n, struct adam_step step)
{
	return bytes_moved((7 * 4.0 + (step.bf16_params ? 2.0 : 0)) * (double)n);
}

struct op_cost op_cost_scale(struct dev *d, float *x, int64_t n, float by)
{
	return bytes_moved(2 * 4.0 * (double)n);
}

struct op_cost op_cost_blend(struct dev *d, float *x, const float *y, int64_t n, float share)
{
	return bytes_moved(3 * 4.0 * (double)n);
}

/* Unknown: the number of cache rows that are read is in device memory. */
struct op_cost op_cost_attention_step(struct dev *d, struct tensor out, float *weights,
				      struct tensor q, struct tensor k, struct tensor v,
				      const int32_t *index, const int32_t *length,
				      int64_t index_stride, int32_t heads)
{
	return bytes_moved(0);
}

struct op_cost op_cost_gather_rows(struct dev *d, struct tensor out, struct tensor x,
				   const int32_t *index)
{
	return bytes_moved(2 * tensor_bytes(out));
}

struct op_cost op_cost_scatter_rows(struct dev *d, struct tensor out, struct tensor x,
				    const int32_t *index)
{
	return bytes_moved(2 * tensor_bytes(x));
}

struct op_cost op_cost_top_k(struct dev *d, float *values, int32_t *ids, struct tensor logits,
			     int64_t n_real, int32_t k)
{
	return bytes_moved(tensor_bytes(logits));
}
