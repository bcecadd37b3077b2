/* t_tune.c - the options that tune proposes, with their reasons */
#include "tests/test.h"

#include <math.h>
#include <string.h>

#include "share/base/buf.h"
#include "train/launch/tune/tune_plan.h"

static bool plan(struct conf *c, const struct tune_facts *f, struct buf *out)
{
	struct err e = { 0 };

	buf_clear(out);
	return check_err(tune_plan_training(c, f, out, &e), 0);
}

/* Every proposal is one line with a reason, and the recipe is one that trains. */
TEST(tune_plan_is_sane_for_all_sizes)
{
	static const int64_t tokens[] = { 1, 1000, 200000, 200001, 2000000, 9999999, 400000000 };
	static const int32_t widths[] = { 16, 128, 512, 1024, 8192 };
	struct buf out = { 0 };

	for (size_t i = 0; i < ARRAY_LEN(tokens); i++)
		for (size_t k = 0; k < ARRAY_LEN(widths); k++) {
			const struct tune_facts f = { widths[k], tokens[i] / 20 + 1, tokens[i],
						      i % 2 ? 1000 : 60 };
			struct conf c;
			struct err e = { 0 };
			size_t lines = 0, reasons = 0;

			if (!check_err(conf_init(&c, &e), 0) || !plan(&c, &f, &out))
				return;
			for (const char *at = buf_text(&out); *at; at += strcspn(at, "\n") + 1) {
				const char *reason = strstr(at, ": ");

				lines++;
				reasons += reason && reason < strchr(at, '\n');
			}
			check(lines >= 10);
			check_int((int64_t)reasons, (int64_t)lines);
			check(c.steps >= 100 && c.steps <= 50000);
			check(c.warmup >= 10 && c.warmup < c.steps);
			check(c.eval_every >= 5 && c.eval_every * 8 <= c.steps);
			check(c.save_every == c.eval_every && c.patience > 0);
			check(c.peak_rate > 1e-6 && c.peak_rate < 5e-3);
			check((c.stop_metric == BEST_LOSS) == (f.dev_pairs < 500));
			check_int(c.stop_metric, c.best_metric);
			conf_free(&c);
		}
	buf_free(&out);
}

TEST(tune_plan_follows_the_sizes)
{
	struct tune_facts f = { 512, 10000, 200000, 1000 };
	struct buf out = { 0 };
	struct conf small, wide, large;
	struct err e = { 0 };

	if (conf_init(&small, &e) || conf_init(&wide, &e) || conf_init(&large, &e))
		return;
	plan(&small, &f, &out);
	f.d_model = 1024;
	plan(&wide, &f, &out);
	check_near(wide.peak_rate, small.peak_rate / sqrt(2), 1e-6);
	f.tokens *= 50;
	plan(&large, &f, &out);
	check(large.steps > small.steps && large.batch_tokens > small.batch_tokens);
	conf_free(&small);
	conf_free(&wide);
	conf_free(&large);
	buf_free(&out);
}

/* What the user gave stays, and the line says where it came from; a second plan is the same. */
TEST(tune_plan_keeps_what_is_given)
{
	const struct tune_facts f = { 256, 3000, 60000, 300 };
	struct buf out = { 0 }, again = { 0 };
	struct conf c;
	struct err e = { 0 };

	if (conf_init(&c, &e) || conf_set(&c, "steps", "77", "command line", &e) ||
	    conf_set(&c, "schedule", "constant", "my.ini:3", &e) || !plan(&c, &f, &out))
		return;
	check_int(c.steps, 77);
	check(strstr(buf_text(&out), "  steps = 77 (command line)\n") != NULL);
	check(strstr(buf_text(&out), "  schedule = constant (my.ini:3)\n") != NULL);
	check(plan(&c, &f, &again));
	check_str(buf_text(&again), buf_text(&out));
	conf_free(&c);
	/* noam has its own rate */
	if (conf_init(&c, &e) || conf_set(&c, "schedule", "noam", "command line", &e) ||
	    conf_set(&c, "noam_factor", "0.2", "command line", &e) || !plan(&c, &f, &out))
		return;
	check(c.peak_rate == 0);
	conf_free(&c);
	buf_free(&out);
	buf_free(&again);
}
