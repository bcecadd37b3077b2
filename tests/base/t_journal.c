/* t_journal.c - JSON, and the journal of a run. */
#include "tests/test.h"

#include <fcntl.h>
#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <unistd.h>

#include "share/base/file.h"
#include "share/base/rng.h"
#include "share/base/util.h"
#include "share/format/json.h"
#include "share/workspace/journal.h"
#include "share/workspace/run_end.h"

TEST(json_write_and_read_back)
{
	struct buf b = { 0 };
	struct err e = { 0 };
	struct json_writer w = { .out = &b };
	const struct json *v;
	struct json *root;

	json_open(&w, '{');
	json_put_str(&w, "text \"quoted\"", "tab\t nl\n esc\x1B del\x7F bad\xFF \xC3\xA4");
	json_key(&w, "list");
	json_open(&w, '[');
	json_int(&w, INT64_MIN);
	json_real(&w, 0.1);
	json_real(&w, NAN);
	json_bool(&w, true);
	json_null(&w);
	json_close(&w, ']');
	json_key(&w, "empty");
	json_open(&w, '{');
	json_close(&w, '}');
	json_close(&w, '}');
	check_str(buf_text(&b), "{\"text \\\"quoted\\\"\":\"tab\\t nl\\n esc\\u001b del\\u007f "
				"bad\xEF\xBF\xBD \xC3\xA4\","
				"\"list\":[-9223372036854775808,0.1,null,true,null],\"empty\":{}}");
	root = json_parse(b.data, b.len, &e);
	if (!check(root != NULL))
		goto out;
	check_str(json_text(json_get(root, "text \"quoted\""), ""),
		  "tab\t nl\n esc\x1B del\x7F bad\xEF\xBF\xBD \xC3\xA4");
	v = json_get(root, "list");
	check_int(json_len(v), 5);
	check(json_integer(json_at(v, 0), 0) == INT64_MIN);
	check(json_number(json_at(v, 1), 0) == 0.1);
	check(isnan(json_number(json_at(v, 2), NAN)));
	check(json_boolean(json_at(v, 3), false));
	check(json_at(v, 5) == NULL && json_get(v, "x") == NULL && json_get(NULL, "x") == NULL);
	check_str(json_member(root, 2, &v), "empty");
	check(json_len(v) == 0 && json_member(root, 3, &v) == NULL);
	check_str(json_text(NULL, "fallback"), "fallback");
out:
	json_free(root);
	buf_free(&b);
}

TEST(json_numbers_keep_their_digits)
{
	static const char text[] = "{\"a\":9007199254740993 ,\"b\":[-0.50,1e300],\"c\":\"1\"}";
	static const char *const want[] = { "-0.50", "1e300" };
	struct err e = { 0 };
	struct json *root = json_parse(text, strlen(text), &e);
	const struct json *b = json_get(root, "b");
	const char *digits;
	size_t n = json_number_digits(json_get(root, "a"), text, strlen(text), &digits);

	check_int(n, 16);
	check(!strncmp(digits, "9007199254740993", 16));
	for (size_t i = 0; i < 2; i++) {
		n = json_number_digits(json_at(b, i), text, strlen(text), &digits);
		check_int(n, strlen(want[i]));
		check(!strncmp(digits, want[i], n));
	}
	check_int(json_number_digits(b, text, strlen(text), &digits), 0);
	check_int(json_number_digits(json_get(root, "c"), text, strlen(text), &digits), 0);
	check_int(json_number_digits(NULL, text, strlen(text), &digits), 0);
	json_free(root);
}

TEST(json_refuses_what_is_not_json)
{
	static const char *const bad[] = {
		"",
		"{",
		"}",
		"[1,]",
		"{\"a\":}",
		"{\"a\" 1}",
		"{a:1}",
		"01",
		"1.",
		".5",
		"1e",
		"+1",
		"-",
		"tru",
		"nul",
		"\"",
		"\"\\x\"",
		"\"\\u12\"",
		"\"\\u000\x10\"", /* in ASCII 32 below a 0 */
		"\"\\ud800\\u0041\"",
		"\"a\nb\"",
		"[1 2]",
		"1 2",
		"\"\xFF\"",
		"1e999",
		"{\"a\":1,}",
		("[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[["
		 "[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[1]]]]]]]]]]]]]]]]"
		 "]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]"),
	};
	static const char *const good[] = {
		"0",
		"-0",
		" [ ] ",
		"{}",
		"\"\\ud83d\\ude00\"",
		"\"\\uAbCd\"",
		"1E+2",
		"123456789012345678901234567890",
		"true",
		"null",
	};
	struct err e = { 0 };

	for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
		struct json *v = json_parse(bad[i], strlen(bad[i]), &e);

		if (v)
			test_fail(__FILE__, __LINE__, "accepted: %s", bad[i]);
		json_free(v);
	}
	for (size_t i = 0; i < ARRAY_LEN(good); i++) {
		struct json *v = json_parse(good[i], strlen(good[i]), &e);

		if (!v)
			test_fail(__FILE__, __LINE__, "refused: %s: %s", good[i], e.text);
		json_free(v);
	}
}

/*
 * Random damage to a good document: never a crash (sanitizers watch), and what is accepted can be
 * walked.
 */
TEST(json_survives_damage)
{
	static const char text[] = "{\"kind\":\"train\",\"loss\":[1.5e-3,2,\"\\u00e4\\n\"],\"x\":{"
				   "\"y\":[[],{}],\"z\":null}}";
	struct rng_key key = rng_key_make(1, RNG_TEST, 0, 0);
	char damaged[sizeof(text)];
	struct err e;

	for (uint64_t i = 0; i < 20000; i++) {
		size_t n = sizeof(text) - 1, at = rng_u32(key, 3 * i) % n;
		struct json *v;

		memcpy(damaged, text, sizeof(text));
		damaged[at] = (char)rng_u32(key, 3 * i + 1);
		if (i & 1)
			n = rng_u32(key, 3 * i + 2) % (n + 1);
		v = json_parse(damaged, n, &e);
		if (v) {
			const struct json *child;

			for (size_t m = 0; json_member(v, m, &child); m++)
				json_len(child);
		}
		json_free(v);
	}
}

TEST(journal_written_and_followed)
{
	struct err e = { 0 };
	char *path = file_path(&e, "%s/journal.jsonl", test_folder());
	struct journal_reader *r = journal_reader_open(path, &e);
	struct journal *j;
	struct json_writer *w;
	const struct json *v = NULL;
	int fd;

	check_int(journal_next(r, &v, &e), 0); /* not there yet */
	j = journal_open(path, &e);
	if (!check(j != NULL))
		goto out;
	w = journal_begin(j, "train", 7);
	json_put_real(w, "loss", 2.5);
	check_int(journal_end(j, &e), 0);
	check_int(journal_next(r, &v, &e), 1);
	check_str(json_text(json_get(v, "kind"), ""), "train");
	check_int(json_integer(json_get(v, "step"), -1), 7);
	check_near(json_number(json_get(v, "loss"), 0), 2.5, 0);
	check_int(journal_next(r, &v, &e), 0);
	journal_free(j);
	journal_reader_rest(r); /* goes on at the same place, even in the middle of a line */

	/* A killed writer's half line, a line that is no record, one that is far too long. */
	fd = open(path, O_WRONLY | O_APPEND);
	check(write(fd, "garbage\n", 8) == 8);
	for (int i = 0; i < 3000; i++)
		check(write(fd, "0123456789", 10) == 10);
	check(write(fd, "\n{\"kind\":\"tr", 12) == 12);
	close(fd);
	check_int(journal_next(r, &v, &e), 0);
	journal_reader_rest(r);
	j = journal_open(path, &e);
	journal_begin(j, "stop", -1);
	check_int(journal_end(j, &e), 0);
	check_int(journal_next(r, &v, &e), 1);
	check_str(json_text(json_get(v, "kind"), ""), "stop");
	check(json_get(v, "step") == NULL);
	check_int(journal_bad_lines(r), 3);

	w = journal_begin(j, "event", 1);
	json_key(w, "text");
	for (int i = 0; i < 500; i++)
		json_str(w, "0123456789");
	check_err(journal_end(j, &e), ERR_INTERNAL);
	journal_free(j);
out:
	journal_reader_free(r);
	free(path);
}

TEST(journal_tells_how_much_was_read)
{
	enum { RECORDS = 20000 };
	struct err e = { 0 };
	char *path = file_path(&e, "%s/journal.jsonl", test_folder());
	struct journal_reader *r = journal_reader_open(path, &e);
	struct buf text = { 0 };
	const struct json *v = NULL;
	double before = 0, share = 0;
	int n = 0;

	check_near(journal_read_share(r), 1, 0); /* not there yet */
	for (int i = 0; i < RECORDS; i++)
		buf_printf(&text, "{\"v\":1,\"kind\":\"train\",\"step\":%d,\"loss\":0.125}\n", i);
	check_int(file_write_buf(path, &text, &e), 0);
	for (; journal_next(r, &v, &e) > 0; n++, before = share) {
		share = journal_read_share(r);
		check(share >= before);
		if (!n)
			check(share < 0.5);
	}
	check_int(n, RECORDS);
	check_near(share, 1, 0);
	buf_free(&text);
	journal_reader_free(r);
	free(path);
}

/* A disk that is full for a while costs the records of that while. */
TEST(journal_goes_on_after_a_full_disk)
{
	struct rlimit limit, small;
	struct err e = { 0 };
	const struct json *record;
	struct journal_reader *r;
	struct journal *j;
	char path[600];
	int n = 0;

	snprintf(path, sizeof(path), "%s/journal.jsonl", test_folder());
	j = journal_open(path, &e);
	if (!check(j != NULL) || !check_err(getrlimit(RLIMIT_FSIZE, &limit), 0))
		return;
	journal_begin(j, "train", 1);
	check_err(journal_end(j, &e), 0);
	small = limit;
	small.rlim_cur = 80; /* in the middle of the second */
	signal(SIGXFSZ, SIG_IGN);
	check_err(setrlimit(RLIMIT_FSIZE, &small), 0);
	for (int step = 2; step < 4; step++) {
		journal_begin(j, "train", step);
		check_err(journal_end(j, &e), ERR_IO);
	}
	check_err(setrlimit(RLIMIT_FSIZE, &limit), 0);
	signal(SIGXFSZ, SIG_DFL);
	journal_begin(j, "train", 4);
	check_err(journal_end(j, &e), 0);
	journal_free(j);
	r = journal_reader_open(path, &e);
	while (r && journal_next(r, &record, &e) > 0)
		check_int(json_integer(json_get(record, "step"), -1), n++ ? 4 : 1);
	check_int(n, 2);
	check_int(journal_bad_lines(r), 1);
	journal_reader_free(r);
}

/* ---- why a run ended ---- */

static struct run_end end_of(const char *record, const char *state, const char *asked_by)
{
	const struct run_limits limits = { .step = 9, .steps = 20, .minutes = 42, .exit = 70 };
	struct err e = { 0 };
	struct json *v = json_parse(record, strlen(record), &e);
	struct run_end end = { 0 };

	run_end_read(&end, v);
	run_end_complete(&end, state, asked_by, &limits);
	json_free(v);
	return end;
}

TEST(run_end_is_completed)
{
	struct run_end end;

	/* the record knows */
	end = end_of("{\"reason\":\"finished\",\"why\":\"patience\",\"text\":\"words\"}",
		     "finished", NULL);
	check_int(end.why, RUN_END_PATIENCE);
	check_str(end.text, "words");
	/* an older record: the limits decide */
	check_str(end_of("{\"reason\":\"finished\"}", NULL, NULL).text, "42 minutes are over");
	check_str(end_of("{\"reason\":\"failed\"}", NULL, NULL).text, "exit status 70");
	check_str(end_of("{\"reason\":\"asked\"}", "stopped", "walltime").text,
		  "the walltime is over");
	check_str(end_of("{\"reason\":\"asked\"}", "stopped", "preemption").text,
		  "the batch system preempted the job");
	check_str(end_of("{\"reason\":\"asked\"}", "stopped", "somebody").text, "on request");
	/* no record: the launcher ended the run */
	check_str(end_of("{}", "stopped", "user").text, "by the user");
	check_str(end_of("{}", "failed", NULL).text, "exit status 70");
	check_str(end_of("{\"reason\":\"finished\"}", "running", NULL).text, "");
}

TEST(run_end_names_the_option_that_goes_on)
{
	const struct run_limits limits = { .steps = 20, .minutes = 1, .patience = 5 };
	static const struct {
		enum run_end_why why;
		const char *text, *option, *value;
	} cases[] = {
		{ RUN_END_STEPS, "step 0 of 20", "--steps", "40" },
		{ RUN_END_MINUTES, "1 minute is over", "--max-minutes", "2" },
		{ RUN_END_PATIENCE, "no better BLEU in 5 evaluations (patience)", "--patience",
		  "10" },
		{ RUN_END_REQUEST, "on request", NULL, NULL },
	};
	struct run_end end;
	const char *option;
	char value[32];

	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		run_end_set(&end, cases[i].why, &limits);
		check_str(end.text, cases[i].text);
		if (check((run_end_longer(&end, &limits, &option, value) != NULL) ==
			  (cases[i].value != NULL)) &&
		    cases[i].value) {
			check_str(option, cases[i].option);
			check_str(value, cases[i].value);
		}
	}
	/* resumed with fewer steps than the run has made */
	run_end_set(&end, RUN_END_STEPS, &(struct run_limits){ .step = 60, .steps = 20 });
	check_str(end.text, "60 steps are made, 20 were planned");
	check_str(run_end_longer(&end, &(struct run_limits){ .step = 60, .steps = 20 }, &option,
				 value),
		  "120");
	/* twice 0 steps would not train on */
	run_end_set(&end, RUN_END_STEPS, &(struct run_limits){ .steps = 0 });
	check(!run_end_longer(&end, &(struct run_limits){ .steps = 0 }, &option, value));
}
