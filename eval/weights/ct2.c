/* ct2.c - writes model.bin of CTranslate2; see ct2.h */
#include "eval/weights/ct2.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "share/base/mem.h"
#include "share/base/text.h"

enum type { FLOAT, INT8, INT16 };

static const uint32_t type_bytes[] = { [FLOAT] = 4, [INT8] = 1, [INT16] = 2 };

/* A variable of the file: weights, the scales of their rows, or one number. */
struct ct2_variable {
	char name[104];
	enum type type;
	const struct weight_item *item; /* borrowed; NULL: a number */
	bool scales;			/* the variable is the scales of the item's rows */
	int number;
};

struct alias {
	const char *name, *same_as;
};

/* ---- the list of variables ---------------------------------------------------------------- */

struct ct2_variable_list {
	const struct weight_store *weights; /* borrowed */
	struct ct2_variable *items;	    /* owned */
	size_t n, cap;
	struct alias aliases[8];
	size_t n_aliases;
};

static int add_ct2_variable(struct ct2_variable_list *l, const char *name, const char *end,
			    struct ct2_variable v, struct err *e)
{
	if (mem_grow(&l->items, &l->cap, l->n + 1, sizeof(*l->items), e))
		return e->code;
	snprintf(v.name, sizeof(v.name), "%s%s", name, end);
	l->items[l->n++] = v;
	return 0;
}

/* CTranslate2 quantises the weights of products and embeddings, but neither biases nor positions. */
static int add_weights(struct ct2_variable_list *l, bool int8, struct err *e)
{
	for (size_t i = 0; i < l->weights->n; i++) {
		const struct weight_item *x = &l->weights->items[i];
		const bool packed = int8 && text_ends_with(x->name, "/weight");
		const struct ct2_variable v = { .type = packed ? INT8 : FLOAT, .item = x },
					  scales = { .type = FLOAT, .item = x, .scales = true };

		if (add_ct2_variable(l, x->name, "", v, e) ||
		    (packed && add_ct2_variable(l, x->name, "_scale", scales, e)))
			return e->code;
	}
	return 0;
}

static int add_number(struct ct2_variable_list *l, const char *name, enum type type, int value,
		      struct err *e)
{
	const struct ct2_variable v = { .type = type, .number = value };

	return add_ct2_variable(l, name, "", v, e);
}

/* A name without a tensor of its own is that of another tensor. */
static void add_alias(struct ct2_variable_list *l, const char *name, const char *same_as)
{
	assert(l->n_aliases < ARRAY_LEN(l->aliases));
	if (!weight_store_find(l->weights, name))
		l->aliases[l->n_aliases++] = (struct alias){ name, same_as };
}

static int by_variable_name(const void *a, const void *b)
{
	const struct ct2_variable *x = a, *y = b;

	return strcmp(x->name, y->name);
}

static int fill_list(struct ct2_variable_list *l, bool int8, struct err *e)
{
	const struct model_shape *s = l->weights->shape;

	if (add_weights(l, int8, e))
		return e->code;
#define CT2_NUMBER(foreign_name, type, value)                                                      \
	if (add_number(l, foreign_name, type, value, e))                                           \
		return e->code;
#define CT2_ALIAS(foreign_name, same) add_alias(l, foreign_name, same);
#include "eval/weights/ct2.def"
	qsort(l->items, l->n, sizeof(*l->items), by_variable_name);
	return 0;
}

/* ---- writing ------------------------------------------------------------------------------ */

/* The stream remembers failures: ct2_write() checks ferror() at the end. */
static void put_ct2_bytes(FILE *out, const void *bytes, size_t n)
{
	(void)!fwrite(bytes, 1, n, out);
}

static void put_ct2_number(FILE *out, uint32_t value, size_t bytes)
{
	unsigned char b[4];

	for (size_t i = 0; i < bytes; i++)
		b[i] = (unsigned char)(value >> 8 * i);
	put_ct2_bytes(out, b, bytes);
}

static void put_ct2_text(FILE *out, const char *text)
{
	size_t n = strlen(text) + 1;

	put_ct2_number(out, (uint32_t)n, 2);
	put_ct2_bytes(out, text, n);
}

/* The factor that maps a row to -127 ... 127; 1 for a row of zeros. */
static float row_scale(const float *x, int64_t n)
{
	float amax = 0;

	for (int64_t i = 0; i < n; i++)
		amax = fmaxf(amax, fabsf(x[i]));
	return 127 / (amax > 0 ? amax : 127);
}

static void put_ct2_row(FILE *out, const struct ct2_variable *v, const float *x, int8_t *integers)
{
	const int64_t cols = v->item->cols;
	float scale;

	if (v->type != INT8 && !v->scales) {
		put_ct2_bytes(out, x, (size_t)cols * sizeof(*x));
		return;
	}
	scale = row_scale(x, cols);
	if (v->scales) {
		put_ct2_bytes(out, &scale, sizeof(scale));
		return;
	}
	for (int64_t i = 0; i < cols; i++)
		integers[i] = (int8_t)rintf(x[i] * scale);
	put_ct2_bytes(out, integers, (size_t)cols);
}

static void put_variable(FILE *out, const struct weight_store *weights,
			 const struct ct2_variable *v, float *x, int8_t *integers)
{
	const struct weight_item *item = v->item;
	int64_t dims[] = { 0, 0 }, elements = 1;
	int n_dims = 0;

	if (item && (v->scales || item->n_dims == 2))
		dims[n_dims++] = item->rows;
	if (item && !v->scales)
		dims[n_dims++] = item->cols;
	put_ct2_text(out, v->name);
	put_ct2_number(out, (uint32_t)n_dims, 1);
	for (int i = 0; i < n_dims; i++) {
		put_ct2_number(out, (uint32_t)dims[i], 4);
		elements *= dims[i];
	}
	put_ct2_number(out, v->type, 1);
	put_ct2_number(out, (uint32_t)elements * type_bytes[v->type], 4);
	if (!item) {
		put_ct2_number(out, (uint32_t)v->number, type_bytes[v->type]);
		return;
	}
	for (int64_t r = 0; r < item->rows; r++) {
		weight_store_row(weights, item, r, x);
		put_ct2_row(out, v, x, integers);
	}
}

static int check_ct2_sizes(const struct weight_store *weights, struct err *e)
{
	for (size_t i = 0; i < weights->n; i++)
		if (weights->items[i].rows * weights->items[i].cols > UINT32_MAX / 4)
			return err_set(e, ERR_DATA,
				       "%s is larger than 4 GiB, the limit of a tensor in "
				       "CTranslate2's format",
				       weights->items[i].name);
	return 0;
}

int ct2_write(FILE *out, const struct weight_store *weights, bool int8, struct err *e)
{
	struct ct2_variable_list l = { .weights = weights };
	const size_t widest = (size_t)weight_store_widest(weights);
	float *x = mem_alloc(widest, sizeof(*x), e);
	int8_t *integers = mem_alloc(widest, sizeof(*integers), e);
	int rc = x && integers ? fill_list(&l, int8, e) : e->code;

	if (!rc)
		rc = check_ct2_sizes(weights, e);
	if (!rc) {
		put_ct2_number(out, CT2_FILE_VERSION, 4);
		put_ct2_text(out, "TransformerSpec");
		put_ct2_number(out, CT2_SPEC_REVISION, 4);
		put_ct2_number(out, (uint32_t)l.n, 4);
		for (size_t i = 0; i < l.n; i++)
			put_variable(out, weights, &l.items[i], x, integers);
		put_ct2_number(out, (uint32_t)l.n_aliases, 4);
		for (size_t i = 0; i < l.n_aliases; i++) {
			put_ct2_text(out, l.aliases[i].name);
			put_ct2_text(out, l.aliases[i].same_as);
		}
		if (ferror(out))
			rc = err_set_errno(e, ERR_IO, "cannot write the weights");
	}
	free(l.items);
	free(integers);
	free(x);
	return rc;
}
