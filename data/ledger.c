/* ledger.c - see clean.h */
#include <stdlib.h>

#include "data/clean.h"
#include "share/base/file.h"
#include "share/base/mem.h"

struct ledger {
	struct outfile out;
	int64_t counts[CLEAN_N_RULES];
};

struct ledger *ledger_create(const char *path, struct err *e)
{
	struct ledger *l = mem_alloc(1, sizeof(*l), e);

	if (!l)
		return NULL;
	if (outfile_open(&l->out, path, e)) {
		free(l);
		return NULL;
	}
	/* outfile_commit() finds what failed to be written */
	fputs("file\tline\trule\n", l->out.stream);
	return l;
}

int ledger_drop(struct ledger *l, const char *file, int64_t line, enum clean_rule rule,
		struct err *e)
{
	if (rule <= CLEAN_KEEP || rule >= CLEAN_N_RULES)
		return err_set(e, ERR_INTERNAL, "%s:%lld: %d is no rule that drops a pair",
			       file, (long long)line, (int)rule);
	l->counts[rule]++;
	/* a name with a tab or LF in it must not break the table */
	for (; *file; file++)
		putc((unsigned char)*file < ' ' ? '?' : *file, l->out.stream);
	if (fprintf(l->out.stream, "\t%lld\t%s\n", (long long)line, clean_rule_name(rule)) < 0)
		return err_set_errno(e, ERR_IO, "%s: cannot be written", l->out.path);
	return 0;
}

int64_t ledger_count(const struct ledger *l, enum clean_rule rule)
{
	return rule > CLEAN_KEEP && rule < CLEAN_N_RULES ? l->counts[rule] : 0;
}

int ledger_finish(struct ledger *l, struct err *e)
{
	int rc = outfile_commit(&l->out, e);

	free(l);
	return rc;
}

void ledger_cancel(struct ledger *l)
{
	if (!l)
		return;
	outfile_abandon(&l->out);
	free(l);
}
