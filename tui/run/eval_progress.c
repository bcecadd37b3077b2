/* eval_progress.c - see eval_progress.h */
#include "tui/run/eval_progress.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "share/base/number_format.h"
#include "share/base/util.h"

void eval_progress_add_record(struct eval_progress *p, const struct json *record)
{
	/* the evaluation has ended, or failed with an event */
	static const char *const ends[] = { "eval", "train", "event", "start", "stop" };
	const char *kind = json_text(json_get(record, "kind"), "");

	if (!strcmp(kind, "evaluating"))
		*p = (struct eval_progress){ json_number(json_get(record, "t"), 0),
					     json_number(json_get(record, "expected_s"), 0) };
	for (size_t i = 0; i < ARRAY_LEN(ends); i++)
		if (!strcmp(kind, ends[i]))
			p->since = 0;
}

const char *eval_progress_text(const struct eval_progress *p, double now, char *text, size_t n)
{
	char spent[NUMBER_TEXT_BYTES];

	format_duration(spent, fmax(now - p->since, 0));
	if (p->expected_s > 0)
		snprintf(text, n, "%s of about %s", spent, DURATION_TEXT(p->expected_s));
	else
		snprintf(text, n, "%s", spent);
	return text;
}
