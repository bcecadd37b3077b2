/* text_counts.c - see text_counts.h */
#include "data/words/text_counts.h"

#include <stdlib.h>

#include "share/base/mem.h"

int text_counts_add(struct text_counts *c, const char *text, size_t n, int64_t count, struct err *e)
{
	int32_t i, known = c->texts.n;

	if (mem_grow(&c->counts, &c->cap, (size_t)known + 1, sizeof(*c->counts), e) ||
	    intern_add(&c->texts, text, n, &i, e))
		return e->code;
	if (i == known)
		c->counts[i] = 0;
	c->counts[i] += count;
	return 0;
}

void text_counts_free(struct text_counts *c)
{
	intern_free(&c->texts);
	free(c->counts);
	*c = (struct text_counts){ 0 };
}
