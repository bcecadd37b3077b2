/* parallel.c - reader of two parallel texts in step (see parallel.h) */
#include "data/prep/parallel.h"
#include <stdlib.h>

#include "share/base/file.h"
#include "share/base/text.h"

static int parallel_open_text(struct parallel_text *t, const char *path, bool repair, struct err *e)
{
	*t = (struct parallel_text){ .path = path, .is_sgm = sgm_has_suffix(path) };
	if (t->is_sgm) {
		if (sgm_open(&t->sgm, path, e))
			return e->code;
		t->sgm.in.repair = repair;
		return 0;
	}
	if (lines_open_file(&t->lines, path, e))
		return e->code;
	t->lines.repair = repair;
	return 0;
}

static int parallel_next_text(struct parallel_text *t, struct err *e)
{
	int got;

	if (t->is_sgm) {
		got = sgm_next(&t->sgm, e);
		t->text = t->sgm.text;
		t->len = t->sgm.len;
	} else {
		got = lines_next(&t->lines, e);
		t->text = t->lines.text;
		t->len = t->lines.len;
	}
	return got;
}

static void parallel_close_text(struct parallel_text *t)
{
	if (t->is_sgm)
		sgm_close(&t->sgm);
	else
		lines_close(&t->lines);
}

int parallel_open(struct parallel_reader *p, const char *source, const char *target, bool repair,
		  struct err *e)
{
	p->number = 0;
	if (parallel_open_text(&p->source, source, repair, e))
		return e->code;
	if (parallel_open_text(&p->target, target, repair, e)) {
		parallel_close_text(&p->source);
		return e->code;
	}
	return 0;
}

int parallel_lengths_differ(const char *source, int64_t n_source, const char *target,
			    int64_t n_target, struct err *e)
{
	return err_set(e, ERR_DATA,
		       "%s has %lld line%s, but %s has %lld: both files need the same number of "
		       "lines, because line N of the target translates line N of the source",
		       source, (long long)n_source, text_plural(n_source), target,
		       (long long)n_target);
}

/* One text ended after n lines, the other has at least n + 1: count them all for the message. */
static int parallel_length_error(struct parallel_reader *p, bool source_ended, struct err *e)
{
	struct parallel_text *rest = source_ended ? &p->target : &p->source;
	int64_t n = p->number, more = n + 1;
	int got;

	while ((got = parallel_next_text(rest, e)) > 0)
		more++;
	if (got < 0)
		return e->code;
	return parallel_lengths_differ(p->source.path, source_ended ? n : more, p->target.path,
				       source_ended ? more : n, e);
}

int parallel_next(struct parallel_reader *p, struct err *e)
{
	int source = parallel_next_text(&p->source, e), target;

	if (source < 0)
		return source;
	target = parallel_next_text(&p->target, e);
	if (target < 0)
		return target;
	if (source != target)
		return parallel_length_error(p, !source, e);
	p->number += source;
	return source;
}

void parallel_close(struct parallel_reader *p)
{
	parallel_close_text(&p->source);
	parallel_close_text(&p->target);
}

int parallel_each_pair(const char *folder, const char *set, const char *source, const char *target,
		       parallel_visitor visit, void *context, struct err *e)
{
	char *first = file_path(e, "%s/%s.%s", folder, set, source);
	char *second = first ? file_path(e, "%s/%s.%s", folder, set, target) : NULL;
	struct parallel_reader in;
	int got = second ? parallel_open(&in, first, second, false, e) : e->code;

	if (!got) {
		while ((got = parallel_next(&in, e)) > 0 && !(got = visit(context, &in, e)))
			;
		parallel_close(&in);
	}
	free(first);
	free(second);
	return got < 0 ? got : 0;
}
