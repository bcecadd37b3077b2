/* text_layout.c - see text_layout.h */
#include "eval/server/text_layout.h"

#include <stdlib.h>
#include <string.h>

#include "share/base/mem.h"
#include "share/base/util.h"

static bool is_layout_space(char c)
{
	return c == ' ' || c == '\t' || c == '\r' || c == '\n';
}

static int layout_add_piece(struct text_layout *l, const char *kept, size_t n_kept, size_t unit,
			    struct err *e)
{
	if (mem_grow(&l->pieces, &l->cap, l->n + 1, sizeof(*l->pieces), e))
		return e->code;
	l->pieces[l->n++] = (struct layout_piece){ l->n_inputs, l->kept.len, n_kept, 0, unit };
	buf_add(&l->kept, kept, n_kept);
	return buf_check(&l->kept, e);
}

int layout_add_kept(struct text_layout *l, const char *text, struct err *e)
{
	if (layout_add_piece(l, text, strlen(text), LAYOUT_NONE, e))
		return e->code;
	l->n_inputs++;
	return 0;
}

int layout_add(struct text_layout *l, struct translation_job *job, const char *text, bool is_whole,
	       struct err *e)
{
	size_t at = 0;

	for (;;) {
		size_t begin = at, end;

		while (is_layout_space(text[begin]))
			begin++;
		if (!text[begin])
			break;
		end = begin + (is_whole ? strlen(text + begin) : strcspn(text + begin, "\n"));
		while (is_layout_space(text[end - 1]))
			end--;
		if (queue_job_add(job, text + begin, end - begin, e) ||
		    layout_add_piece(l, text + at, begin - at, job->n - 1, e))
			return e->code;
		l->pieces[l->n - 1].n_chars = job->texts[job->n - 1].n_chars;
		at = end;
	}
	return layout_add_kept(l, text + at, e);
}

void layout_write(const struct text_layout *l, const struct translation_job *job, size_t input,
		  size_t h, struct buf *out)
{
	for (size_t i = 0; i < l->n; i++) {
		const struct layout_piece *p = &l->pieces[i];
		const struct queue_text *x = p->unit == LAYOUT_NONE ? NULL : &job->texts[p->unit];

		if (p->input != input)
			continue;
		buf_add(out, buf_text(&l->kept) + p->at, p->n_kept);
		if (x && x->n_best)
			buf_add_str(out, x->best[MIN(h, x->n_best - 1)]);
	}
}

void layout_free(struct text_layout *l)
{
	buf_free(&l->kept);
	free(l->pieces);
	*l = (struct text_layout){ .n = 0 };
}
