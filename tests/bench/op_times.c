/* op_times.c - a table of ops that repeats and times calls; see op_times.h */
#include "tests/bench/op_times.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "kernels/op_cost.h"
#include "share/base/clock.h"
#include "share/base/mem.h"
#include "share/base/util.h"

#define MAX_ENTRIES 500

struct op_times {
	const struct ops *ops; /* borrowed */
	struct ops table;
	struct op_times_how how;
	bool started;
	double begun; /* of the repeat that runs */
	double seconds[OP_TIMES_MAX];
	size_t n;
	struct op_time entry[MAX_ENTRIES];
};

static struct op_times *current; /* the table's functions get no other argument of ours */

/* ---- text of the arguments -------------------------------------------------------------- */

enum argument { TENSOR, PRODUCT_HOW, SENTENCES, INT64, SIZE, NORM_HOW, ACTIVATION_NAME, NOT_SHOWN };

#define ARGUMENT_OF(x)                                                                             \
	_Generic((x), struct tensor                                                                \
		 : TENSOR, struct matmul_how                                                       \
		 : PRODUCT_HOW, struct attention_shape                                             \
		 : SENTENCES, int64_t                                                              \
		 : INT64, size_t                                                                   \
		 : SIZE, struct norm_how                                                           \
		 : NORM_HOW, enum activation                                                       \
		 : ACTIVATION_NAME, default                                                        \
		 : NOT_SHOWN)

static void show_tensor(char *to, size_t n, const struct tensor *t)
{
	static const char *const types[] = { "f32", "bf16", "packed f32", "packed bf16",
					     "packed int8" };

	snprintf(to, n, "%lldx%lld %s", (long long)t->rows, (long long)t->cols, types[t->dtype]);
}

/* Append an argument to the text; `text` has room for n bytes. */
static void show_argument(char *text, size_t n, enum argument kind, const void *x)
{
	static const char *const norms[] = { "layer norm", "RMS norm", "no norm" };
	static const char *const activations[] = {
#define ACTIVATION(name, text) text,
#include "share/base/activations.def"
	};
	const size_t used = strlen(text);
	const struct attention_shape *s = x;
	char one[80] = "";

	if (kind == TENSOR)
		show_tensor(one, sizeof(one), x);
	else if (kind == PRODUCT_HOW && ((const struct matmul_how *)x)->accumulate)
		snprintf(one, sizeof(one), "+=");
	else if (kind == SENTENCES)
		snprintf(one, sizeof(one), "%d sentences to %dx%d%s, %d heads", s->n, s->max_q,
			 s->max_k, s->causal ? " causal" : "", s->heads);
	else if (kind == INT64)
		snprintf(one, sizeof(one), "%lld", (long long)*(const int64_t *)x);
	else if (kind == SIZE)
		snprintf(one, sizeof(one), "%zu bytes", *(const size_t *)x);
	else if (kind == NORM_HOW)
		snprintf(one, sizeof(one), "%s", norms[((const struct norm_how *)x)->kind]);
	else if (kind == ACTIVATION_NAME)
		snprintf(one, sizeof(one), "%s", activations[*(const enum activation *)x]);
	if (*one)
		snprintf(text + used, n - used, "%s%s", used ? ", " : "", one);
}

/* SHOW_ALL(a, b, …) shows up to 14 arguments. */
#define SHOW(x)		 SHOW_AS(ARGUMENT_OF(x), x)
#define SHOW_AS(kind, x) show_argument(shapes, sizeof(shapes), kind, &(x));

#define SHOW_1(x)						       SHOW(x)
#define SHOW_2(x, ...)						       SHOW(x) SHOW_1(__VA_ARGS__)
#define SHOW_3(x, ...)						       SHOW(x) SHOW_2(__VA_ARGS__)
#define SHOW_4(x, ...)						       SHOW(x) SHOW_3(__VA_ARGS__)
#define SHOW_5(x, ...)						       SHOW(x) SHOW_4(__VA_ARGS__)
#define SHOW_6(x, ...)						       SHOW(x) SHOW_5(__VA_ARGS__)
#define SHOW_7(x, ...)						       SHOW(x) SHOW_6(__VA_ARGS__)
#define SHOW_8(x, ...)						       SHOW(x) SHOW_7(__VA_ARGS__)
#define SHOW_9(x, ...)						       SHOW(x) SHOW_8(__VA_ARGS__)
#define SHOW_10(x, ...)						       SHOW(x) SHOW_9(__VA_ARGS__)
#define SHOW_11(x, ...)						       SHOW(x) SHOW_10(__VA_ARGS__)
#define SHOW_12(x, ...)						       SHOW(x) SHOW_11(__VA_ARGS__)
#define SHOW_13(x, ...)						       SHOW(x) SHOW_12(__VA_ARGS__)
#define SHOW_14(x, ...)						       SHOW(x) SHOW_13(__VA_ARGS__)
#define SHOW_PICK(a, b, c, d, e, f, g, h, i, j, k, l, m, n, pick, ...) pick
#define SHOW_ALL(...)                                                                              \
	SHOW_PICK(__VA_ARGS__, SHOW_14, SHOW_13, SHOW_12, SHOW_11, SHOW_10, SHOW_9, SHOW_8,        \
		  SHOW_7, SHOW_6, SHOW_5, SHOW_4, SHOW_3, SHOW_2, SHOW_1, )                        \
	(__VA_ARGS__)

/* ---- taking times ----------------------------------------------------------------------- */

static double clock_of(const struct op_times *t)
{
	struct timespec now;

	if (!t->how.processor_time || clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now))
		return clock_mono_s();
	return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

/* A failed wait shows at the next sync() of the step too. */
static void wait_for(const struct op_times *t, struct dev *d)
{
	struct err e;

	if (t->ops->sync(d, &e))
		fprintf(stderr, "op_times: %s\n", e.text);
}

static bool is_wanted(const struct op_times *t, const struct op_time *x)
{
	bool any = t->how.n_words == 0;

	for (int i = 0; i < t->how.n_words; i++)
		any |= strstr(x->op, t->how.words[i]) || strstr(x->shapes, t->how.words[i]);
	return any;
}

/* Count a call. Returns its entry if this is the first one of these shapes, to be timed; or NULL. */
static struct op_time *note_call(struct op_times *t, struct dev *d, const char *op,
				 const char *shapes, struct op_cost cost)
{
	struct op_time *x = t->entry;

	if (!t->started)
		return NULL;
	while (x < t->entry + t->n &&
	       (x->op != op || x->kind != cost.kind || strcmp(x->shapes, shapes) != 0))
		x++;
	if (x == t->entry + MAX_ENTRIES)
		return NULL;
	x->calls++;
	if (x < t->entry + t->n)
		return NULL;
	t->n++;
	x->op = op;
	x->kind = cost.kind;
	x->flops = cost.flops;
	x->bytes = cost.bytes;
	snprintf(x->shapes, sizeof(x->shapes), "%s", shapes);
	if (!is_wanted(t, x))
		return NULL;
	wait_for(t, d);
	t->begun = clock_of(t);
	return x;
}

static int compare_doubles(const void *a, const void *b)
{
	const double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

/* Repeat number i has been enqueued. */
static void end_repeat(struct op_times *t, struct dev *d, struct op_time *x, int i)
{
	double now;

	wait_for(t, d);
	now = clock_of(t);
	t->seconds[i] = (now - t->begun) / (double)t->how.calls;
	t->begun = now;
	if (i + 1 < t->how.repeats)
		return;
	qsort(t->seconds, (size_t)t->how.repeats, sizeof(t->seconds[0]), compare_doubles);
	x->best = t->seconds[0];
	x->median = t->seconds[t->how.repeats / 2];
}

#define OP(name, args, names)                                                                      \
	static void timed_##name args                                                              \
	{                                                                                          \
		struct op_times *timer = current;                                                  \
		struct op_time *timed;                                                             \
		char shapes[240] = "";                                                             \
                                                                                                   \
		timer->ops->name names;                                                            \
		SHOW_ALL names;                                                                    \
		timed = note_call(timer, d, #name, shapes, op_cost_##name names);                  \
		for (int repeat = 0; timed && repeat < timer->how.repeats; repeat++) {             \
			for (int64_t call = 0; call < timer->how.calls; call++)                    \
				timer->ops->name names;                                            \
			end_repeat(timer, d, timed, repeat);                                       \
		}                                                                                  \
	}
#include "kernels/ops/ops.def"
#undef OP

/* ---- the table -------------------------------------------------------------------------- */

/* Batches are padded for a backend with graphs, but nothing is captured. */
static int begin_no_graph(struct dev *d, const struct graph_key *key)
{
	(void)d;
	(void)key;
	return 0;
}

static void change_no_graph(struct dev *d)
{
	(void)d;
}

struct op_times *op_times_new(const struct ops *ops, const struct op_times_how *how, struct err *e)
{
	struct op_times *t = mem_alloc(1, sizeof(*t), e);

	if (!t)
		return NULL;
	t->ops = ops;
	t->how = *how;
	t->table = *ops;
	if (ops->graph_begin) {
		t->table.graph_begin = begin_no_graph;
		t->table.graph_pause = t->table.graph_resume = t->table.graph_end = change_no_graph;
	}
#define OP(name, args, names) t->table.name = ops->name ? timed_##name : NULL;
#include "kernels/ops/ops.def"
#undef OP
	current = t;
	return t;
}

void op_times_free(struct op_times *t)
{
	current = NULL;
	free(t);
}

const struct ops *op_times_ops(const struct op_times *t)
{
	return &t->table;
}

void op_times_start(struct op_times *t)
{
	memset(t->entry, 0, sizeof(t->entry));
	t->n = 0;
	t->started = true;
}

const struct op_time *op_times_list(const struct op_times *t, size_t *n)
{
	*n = t->n;
	return t->entry;
}
