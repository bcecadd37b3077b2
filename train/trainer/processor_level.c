/* processor_level.c - see processor_level.h */
#include "train/trainer/processor_level.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

/* Write the name of the host that the lowest rank with the common level is on. */
static int find_lowest_host(struct processor_level *p, struct comm *c, enum cpu_level own,
			    struct err *e)
{
	/* ranks from the end, so that the maximum is the first */
	int64_t first = own == p->common ? c->size - c->rank : 0;

	if (c->max_ints(c, &first, 1, e))
		return e->code;
	if (gethostname(p->lowest_host, sizeof(p->lowest_host) - 1))
		snprintf(p->lowest_host, sizeof(p->lowest_host), "a host");
	p->lowest_host[sizeof(p->lowest_host) - 1] = 0;
	return c->broadcast(c, p->lowest_host, sizeof(p->lowest_host), c->size - (int)first, e);
}

int processor_level_agree(struct processor_level *p, struct comm *c, struct err *e)
{
	const enum cpu_level own = ops_cpu_level();
	int64_t levels[] = { -(int64_t)own, (int64_t)own };

	*p = (struct processor_level){ .common = own, .highest = own };
	if (c->size == 1)
		return 0;
	if (c->max_ints(c, levels, 2, e))
		return e->code;
	p->common = (enum cpu_level)(-levels[0]);
	p->highest = (enum cpu_level)levels[1];
	if (p->common == p->highest)
		return 0;
	if (own > p->common && setenv("WERKBANK_CPU", ops_cpu_level_name(p->common), 1))
		return err_set_errno(e, ERR_INTERNAL, "cannot set the level of the processor");
	return find_lowest_host(p, c, own, e);
}

int processor_level_record(const struct processor_level *p, struct run_records *r)
{
	if (p->common == p->highest)
		return 0;
	return run_records_event(
		r, "info",
		"the processors of the hosts differ: all ranks compute with %s, the "
		"highest level of %s, not with %s, so that their results stay equal",
		ops_cpu_level_name(p->common), p->lowest_host, ops_cpu_level_name(p->highest));
}
