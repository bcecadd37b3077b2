/* t_openseq2seq.c - conversion of logs of OpenSeq2Seq to journals */
#include "tests/test.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "share/format/json.h"
#include "train/record/openseq2seq.h"

/* A field of record number i of a kind; NAN: there is none. */
static double field_of(const struct buf *journal, const char *kind, int i, const char *field)
{
	const char *line = buf_text(journal), *end;
	struct err e;
	double v = NAN;

	for (; (end = strchr(line, '\n')) != NULL; line = end + 1) {
		struct json *r = json_parse(line, (size_t)(end - line), &e);

		if (check(r != NULL) && !strcmp(json_text(json_get(r, "kind"), ""), kind) &&
		    i-- == 0)
			v = json_number(json_get(r, field), NAN);
		json_free(r);
	}
	return v;
}

static bool reads(const char *text, struct buf *journal, struct openseq2seq *seen)
{
	struct err e = { 0 };

	return check_err(openseq2seq_read(text, strlen(text), "old", 2000, journal, seen, &e), 0);
}

TEST(openseq2seq_log_of_a_training)
{
	struct buf journal = { 0 };
	struct openseq2seq seen;

	if (!reads("*** Building graph on Horovod rank: 3\n"
		   "*** Total trainable parameters: 60,880,896\n"
		   "***     Validation loss: 9.8312\n***     Eval BLUE score: 0.0012\n"
		   "*** Epoch 0, global step 0: *** Train loss: 9.9001 time per step = 0:00:12.3\n"
		   "*** Train Source[0]:     *** Global step 7: \n"
		   "*** Global step 48: loss = 7.5000, time per step = 0:00:1.500\n"
		   "***     Validation loss: 7.25\n***     Eval BLUE score: 0.0512\n"
		   "*** Global step 96: loss = nan, time per step = 0:01:1.5\n"
		   "*** Global step 144: loss = 6.5000, time per step = 0:00:2.0\n"
		   "***     Validation loss: 6.25\n"
		   "*** Global step 192: loss = 6.0000, time per step = 0:00:2.000\n"
		   "***     Validation loss: 6.05\n***     Eval BLUE score: 0.1\n"
		   "*** Finished training\n*** Avg time per step: 1.710s\n",
		   &journal, &seen))
		return;
	check_int(seen.trains, 5);
	check_int(seen.evals, 4);
	check_int(seen.starts, 1);
	check_int(seen.ranks, 4);
	check_int(seen.parameters, 60880896);
	check(seen.finished && seen.avg_step_s == 1.71 && isnan(seen.avg_objects));
	check(field_of(&journal, "train", 1, "loss") == 7.5);
	check(isnan(field_of(&journal, "train", 2, "loss")));
	check(field_of(&journal, "train", 2, "step_s") == 61.5);
	check(field_of(&journal, "eval", 0, "step") == 0);
	/* between 48 and 96, and between 144 and 192: 90 and 180 are round and fit */
	check_int(seen.eval_every, 90);
	check(field_of(&journal, "eval", 1, "step") == 90);
	check(field_of(&journal, "eval", 2, "step") == 180);
	check(field_of(&journal, "eval", 3, "step") ==
	      192); /* the last evaluation: at the last step */
	check(field_of(&journal, "eval", 1, "pseudo_bleu") == 0.0512);
	check(isnan(field_of(&journal, "eval", 1, "bleu")));
	check(isnan(field_of(&journal, "eval", 2, "pseudo_bleu")));
	/* the time of the end is that of the file; steps have their logged durations */
	check(field_of(&journal, "stop", 0, "t") == 2000);
	check(fabs(field_of(&journal, "train", 4, "t") - 2000) < 1e-9);
	check(fabs(field_of(&journal, "train", 3, "t") - (2000 - 48 * 2.0)) < 1e-9);
	buf_free(&journal);
}

TEST(openseq2seq_log_of_a_restart)
{
	struct buf journal = { 0 };
	struct openseq2seq seen;

	if (!reads("*** Global step 0: loss = 9, time per step = 0:00:1.0\n"
		   "*** Global step 100: loss = 8, time per step = 0:00:1.0\n"
		   "*** Global step 200: loss = 7, time per step = 0:00:1.0\n"
		   "*** Validation loss: 7.5\n"
		   "*** Global step 150: loss = 7.5, time per step = 0:00:1.0\n",
		   &journal, &seen))
		return;
	check_int(seen.starts, 2);
	check(!seen.finished);
	check(field_of(&journal, "start", 1, "step") == 149);
	check(field_of(&journal, "start", 1, "attempt") == 2);
	check(field_of(&journal, "eval", 0, "step") == 150);
	check(isnan(field_of(&journal, "stop", 0, "t")));
	buf_free(&journal);
}

TEST(openseq2seq_log_of_something_else)
{
	static const char text[] = "*** Hello\nGlobal step 7: loss = 3\n*** Global step x:\n";
	struct buf journal = { 0 };
	struct openseq2seq seen;
	struct err e = { 0 };

	check_int(openseq2seq_read(text, sizeof(text) - 1, "r", 0, &journal, &seen, &e), ERR_DATA);
	check(strstr(e.text, "Global step") != NULL);
	check_int(openseq2seq_read(NULL, 0, "r", 0, &journal, &seen, &e), ERR_DATA);
	buf_free(&journal);
}
