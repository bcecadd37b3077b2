/* optimizer.c - see optimizer.h */
#include "train/optim/optimizer.h"

#include <string.h>

enum { OPTIMIZER_DECAY = 1, OPTIMIZER_MAY_DECAY = 2, OPTIMIZER_FACTORED = 4 };

static const struct optimizer_row {
	const char *name;
	enum optimizer_kind state;
	unsigned uses;
} optimizers[N_OPTIMIZERS] = {
#define OPTIMIZER(name, state, uses) [OPTIMIZER_##name] = { #name, OPTIMIZER_##state, uses },
#include "train/optim/optimizers.def"
};

const char *optimizer_name(enum optimizer_kind kind)
{
	return optimizers[kind].name;
}

bool optimizer_find(const char *name, enum optimizer_kind *kind)
{
	for (int i = 0; i < N_OPTIMIZERS; i++)
		if (!strcmp(name, optimizers[i].name)) {
			*kind = (enum optimizer_kind)i;
			return true;
		}
	*kind = OPTIMIZER_adam; /* older releases had no other, and did not name it */
	return !*name;
}

bool optimizer_has_state_of(enum optimizer_kind kind, enum optimizer_kind other)
{
	return optimizers[kind].state == optimizers[other].state;
}

bool optimizer_is_factored(enum optimizer_kind kind)
{
	return optimizers[kind].uses & OPTIMIZER_FACTORED;
}

int optimizer_check_conf(const struct conf *c, int ranks, struct err *e)
{
	const struct optimizer_row *row = &optimizers[c->optimizer];

	if ((row->uses & OPTIMIZER_DECAY) && !(c->weight_decay > 0))
		return err_set(
			e, ERR_CONFIG,
			"the optimizer %s needs weight_decay, and weight_decay is not given: "
			"add for example --weight-decay 0.01, or choose --optimizer adam",
			row->name);
	if (!(row->uses & OPTIMIZER_MAY_DECAY) && c->weight_decay > 0)
		return err_set(
			e, ERR_CONFIG,
			"weight_decay is %.6g, but the optimizer %s has no weight decay: set "
			"weight_decay to 0, or optimizer to adamw",
			c->weight_decay, row->name);
	if (ranks < 2 || !(row->uses & OPTIMIZER_FACTORED))
		return 0;
	if (c->shard_optimizer)
		return err_set(
			e, ERR_CONFIG,
			"the optimizer %s needs whole matrices, but shard_optimizer splits "
			"them over %d ranks: set shard_optimizer to no, or optimizer to adam",
			row->name, ranks);
	if (c->local_steps > 1)
		return err_set(e, ERR_CONFIG,
			       "local_steps %lld averages Adam's moments, which the optimizer %s "
			       "does not have: set local_steps to 1, or optimizer to adam",
			       (long long)c->local_steps, row->name);
	return 0;
}

int optimizer_check_backend(const struct conf *c, const struct ops *ops, struct err *e)
{
	if (!optimizer_is_factored((enum optimizer_kind)c->optimizer) || !ops->has_device_memory)
		return 0;
	return err_set(e, ERR_CONFIG,
		       "the optimizer %s runs on CPUs only, but this run computes on a GPU: choose "
		       "--optimizer adam or adamw, or --backend cpu",
		       optimizer_name((enum optimizer_kind)c->optimizer));
}

bool optimizer_decays(const struct model_param *p)
{
	return p->init != INIT_one && p->init != INIT_zero;
}
