/* sp_kind.c - the parts of a split text: see sp_kind.h */
#include "data/sentencepiece/sp_kind.h"

#include <stdlib.h>

#include "share/base/mem.h"

int sp_split_add(struct sp_split *s, const struct sp_part *part, struct err *e)
{
	if (mem_grow(&s->parts, &s->cap, s->n + 1, sizeof(*s->parts), e))
		return e->code;
	s->parts[s->n++] = *part;
	return 0;
}

void sp_split_reverse(struct sp_split *s)
{
	for (size_t i = 0; i < s->n / 2; i++) {
		struct sp_part other = s->parts[s->n - 1 - i];

		s->parts[s->n - 1 - i] = s->parts[i];
		s->parts[i] = other;
	}
}

void sp_split_free(struct sp_split *s)
{
	free(s->parts);
	*s = (struct sp_split){ 0 };
}
