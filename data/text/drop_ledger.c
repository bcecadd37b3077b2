/* drop_ledger.c - writer of ledger.tsv, the dropped pairs (see clean.h) */
#include <stdlib.h>
#include <string.h>

#include "data/text/clean.h"
#include "share/base/file.h"
#include "share/base/mem.h"

struct drop_ledger {
	struct outfile out;
	int64_t counts[CLEAN_N_RULES];
};

struct drop_ledger *drop_ledger_create(const char *path, struct err *e)
{
	struct drop_ledger *l = mem_alloc(1, sizeof(*l), e);

	if (!l)
		return NULL;
	if (outfile_open(&l->out, path, e)) {
		free(l);
		return NULL;
	}
	/* outfile_commit() reports write errors */
	fputs("file\tline\trule\tsource\ttarget\n", l->out.stream);
	return l;
}

/* Length of a prefix of the text that fits and ends between two UTF-8 characters. */
static size_t cut_at_char_start(const char *text, size_t n)
{
	size_t end = DROP_LEDGER_TEXT_BYTES;

	if (n <= end)
		return n;
	while (end > 0 && ((unsigned char)text[end] & 0xC0) == 0x80)
		end--;
	return end;
}

/* Replace control characters, so that a tab or LF in a name or text cannot break the table. */
static void drop_write_field(FILE *out, const char *text, size_t n, char instead)
{
	size_t i, first = 0;

	for (i = 0; i < n; i++) {
		if ((unsigned char)text[i] >= ' ' && text[i] != 0x7F)
			continue;
		fwrite(text + first, 1, i - first, out);
		putc(instead, out);
		first = i + 1;
	}
	fwrite(text + first, 1, n - first, out);
}

int drop_ledger_add(struct drop_ledger *l, const struct dropped_pair *line, struct err *e)
{
	FILE *out = l->out.stream;

	if (line->rule <= CLEAN_KEEP || line->rule >= CLEAN_N_RULES)
		return err_set(e, ERR_INTERNAL, "%s:%lld: rule %d does not drop pairs", line->file,
			       (long long)line->line, (int)line->rule);
	l->counts[line->rule]++;
	drop_write_field(out, line->file, strlen(line->file), '?');
	fprintf(out, "\t%lld\t%s\t", (long long)line->line, clean_rule_name(line->rule));
	drop_write_field(out, line->source, cut_at_char_start(line->source, line->n_source), ' ');
	putc('\t', out);
	drop_write_field(out, line->target, cut_at_char_start(line->target, line->n_target), ' ');
	if (putc('\n', out) == EOF || ferror(out))
		return err_set_errno(e, ERR_IO, "%s: cannot be written", l->out.path);
	return 0;
}

int64_t drop_ledger_count(const struct drop_ledger *l, enum clean_rule rule)
{
	return rule > CLEAN_KEEP && rule < CLEAN_N_RULES ? l->counts[rule] : 0;
}

int drop_ledger_finish(struct drop_ledger *l, struct err *e)
{
	int rc = outfile_commit(&l->out, e);

	free(l);
	return rc;
}

void drop_ledger_cancel(struct drop_ledger *l)
{
	if (!l)
		return;
	outfile_abandon(&l->out);
	free(l);
}
