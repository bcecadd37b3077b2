/*
 * optim_steps.c - prints what our schedules and optimizers do, so that pytorch_optim.py can compare it with PyTorch
 *
 *	optim_steps rates STEPS OPTION VALUE...		the learning rate of each step, one a line
 *	optim_steps updates STEPS OPTION VALUE...	a small model: a line of JSON lists its tensors; then come
 *		its weights, as floats. For each step it reads a gradient of all weights from standard input,
 *		and writes the weights after the update. The rate is that of the schedule.
 *
 * OPTION VALUE are those of a recipe.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "share/base/util.h"
#include "train/optim/adam.h"
#include "train/optim/schedule.h"

static int fail(const struct err *e)
{
	fprintf(stderr, "optim_steps: %s\n", e->text);
	return 1;
}

static void print_tensors(const struct model_param *params, size_t n)
{
	putchar('[');
	for (size_t i = 0; i < n; i++)
		printf("%s{\"name\":\"%s\",\"rows\":%lld,\"cols\":%lld,\"decays\":%s}",
		       i ? "," : "", params[i].name, (long long)params[i].rows,
		       (long long)params[i].cols, optimizer_decays(&params[i]) ? "true" : "false");
	puts("]");
}

static int update(const struct conf *c, const struct rate_schedule *s, struct model *m,
		  struct err *e)
{
	const size_t n = (size_t)model_floats(m);
	struct adam a;

	if (adam_open(&a, m, c->beta1, c->beta2, c->epsilon, e) ||
	    adam_choose(&a, (enum optimizer_kind)c->optimizer, c->weight_decay, e))
		return e->code;
	fwrite(model_param_arena(m), sizeof(float), n, stdout);
	fflush(stdout);
	for (int64_t step = 0; step < c->steps; step++) {
		if (fread(model_grad_arena(m), sizeof(float), n, stdin) != n) {
			adam_close(&a);
			return err_set(e, ERR_DATA, "the gradient of step %lld is incomplete",
				       (long long)step);
		}
		adam_apply(&a, step, schedule_rate(s, step), 1);
		fwrite(model_param_arena(m), sizeof(float), n, stdout);
		fflush(stdout);
	}
	adam_close(&a);
	return 0;
}

static int print_updates(const struct conf *c, const struct rate_schedule *s, struct err *e)
{
	const struct model_shape shape = { .d_model = 32,
					   .d_ff = 48,
					   .heads = 4,
					   .encoder_layers = 1,
					   .decoder_layers = 1,
					   .vocabulary = 64,
					   .real_vocabulary = 61 };
	const struct dev_options options = { .threads = 1 };
	struct model_param *params = NULL;
	const struct ops *ops = ops_find("cpu", e);
	struct model *m = ops ? model_new(&shape, ops, &options, e) : NULL;
	int64_t floats;
	size_t n;
	int rc = m ? model_reserve_training(m, 16, 4, e) : e->code;

	if (!rc)
		rc = model_init(m, 1, e) || model_params(&shape, &params, &n, &floats, e) ? e->code
											  : 0;
	if (!rc) {
		print_tensors(params, n);
		rc = update(c, s, m, e);
	}
	free(params);
	model_free(m);
	return rc;
}

int main(int argc, char **argv)
{
	struct conf c;
	struct err e = { 0 };
	struct rate_schedule s;
	int rc = conf_init(&c, &e);

	if (!rc && argc > 2)
		rc = conf_set(&c, "steps", argv[2], "command line", &e);
	for (int i = 3; !rc && i + 1 < argc; i += 2)
		rc = conf_set(&c, argv[i], argv[i + 1], "command line", &e);
	if (rc || schedule_check_conf(&c, &e) || optimizer_check_conf(&c, 1, &e))
		return fail(&e);
	s = schedule_from_conf(&c, 32);
	if (argc > 1 && !strcmp(argv[1], "updates"))
		rc = print_updates(&c, &s, &e);
	else
		for (int64_t i = 0; i < c.steps; i++)
			printf("%.17g\n", schedule_rate(&s, i));
	conf_free(&c);
	return rc ? fail(&e) : 0;
}
