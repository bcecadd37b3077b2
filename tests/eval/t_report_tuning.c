/* t_report_tuning.c - made-up tunings, and what the report says of gains and losses */
#include "tests/test.h"

#include <stdio.h>
#include <string.h>

#include "eval/report/answers.h"
#include "share/base/buf.h"
#include "share/base/file.h"

struct tuning {
	double before, after, interval, p;
	int sentences; /* 0: no record */
};

/* h helped, f forgot: y, n or ?, Y and N where the verdict is clear; - does not apply. */
static const struct {
	const char *name, *expected;
	struct tuning own, general;
} tunings[] = {
	{ "helped", "YN", { 20, 25, 1, 0.001, 1000 }, { 30, 31, 1, 0.002, 1000 } },
	{ "helped-forgot", "YY", { 20, 25, 1, 0.001, 1000 }, { 30, 24, 1, 0.001, 1000 } },
	{ "helped-a-little", "yn", { 20, 20.8, 1, 0.03, 1000 }, { 30, 29.8, 1, 0.4, 1000 } },
	{ "helped-forgot-a-little",
	  "yy",
	  { 20, 20.8, 1, 0.03, 1000 },
	  { 30, 29.2, 1, 0.02, 1000 } },
	{ "hurt", "NY", { 20, 15, 1, 0.001, 1000 }, { 30, 10, 1, 0.001, 1000 } },
	{ "unchanged", "nn", { 20, 20.1, 1, 0.6, 1000 }, { 30, 30, 1, 0.6, 1000 } },
	/* equal translations: p is small, but there is no difference */
	{ "equal", "nn", { 20, 20, 1, 0.001, 1000 }, { 30, 30, 1, 0.001, 1000 } },
	{ "no-translations", "??", { 0.01, 0.6, 0, 0.001, 1000 }, { 0.6, 0.01, 0, 0.001, 1000 } },
	{ "small-set", "??", { 20, 20.4, 4, 0.3, 200 }, { 30, 29, 4, 0.2, 200 } },
	{ "wide-set", "??", { 20, 20.4, 3, 0.3, 400 }, { 30, 29, 3, 0.2, 400 } },
	{ "small-set-large-gain", "Y?", { 20, 30, 4, 0.001, 200 }, { 30, 29, 4, 0.2, 200 } },
	{ "tiny-set", "??", { 20, 30, 4, 0.001, 60 }, { 30, 20, 4, 0.001, 60 } },
	{ "no-general", "Y?", { 20, 25, 1, 0.001, 1000 }, { .sentences = 0 } },
	{ "no-own", "?Y", { .sentences = 0 }, { 30, 20, 1, 0.001, 1000 } },
};

static void add_record(struct buf *b, const char *set, const char *role, const struct tuning *t)
{
	if (t->sentences)
		buf_printf(b,
			   "{\"v\":1,\"kind\":\"tune\",\"t\":5,\"set\":\"%s\",\"role\":\"%s\","
			   "\"sentences\":%d,\"tok\":\"13a\",\"before\":%g,\"before_interval\":%g,"
			   "\"after\":%g,\"after_interval\":%g,\"p\":%g}\n",
			   set, role, t->sentences, t->before, t->interval, t->after, t->interval,
			   t->p);
}

static bool write_tuning(const char *name, const struct tuning *own, const struct tuning *general,
			 const char *start_from)
{
	struct buf b = { 0 };
	struct err e = { 0 };
	char path[600];
	int rc;

	snprintf(path, sizeof(path), "%s/runs/%s", test_folder(), name);
	rc = file_make_folders(path, &e);
	snprintf(path, sizeof(path), "%s/runs/%s/recipe.ini", test_folder(), name);
	buf_printf(&b, "[train]\nsteps = 10\n%s%s\n", *start_from ? "start_from = " : "",
		   start_from);
	if (!rc)
		rc = file_write_buf(path, &b, &e);
	buf_clear(&b);
	buf_add_str(&b, "{\"kind\":\"start\",\"t\":0,\"step\":0,\"ranks\":1}\n");
	/* an earlier comparison does not count */
	add_record(&b, "test", "own", &(struct tuning){ 1, 2, 1, 0.5, own->sentences });
	add_record(&b, "test", "own", own);
	add_record(&b, "general", "general", general);
	snprintf(path, sizeof(path), "%s/runs/%s/journal.jsonl", test_folder(), name);
	if (!rc)
		rc = file_write_buf(path, &b, &e);
	buf_free(&b);
	return check_err(rc, 0);
}

static char letter(const struct answers *a, const char *id)
{
	for (size_t i = 0; i < a->n; i++) {
		const struct answer *x = &a->all[i];

		if (strcmp(x->id, id) != 0)
			continue;
		if (x->is_inapplicable)
			return '-';
		if (x->verdict == VERDICT_UNKNOWN)
			return '?';
		return x->verdict == VERDICT_YES ? (x->confidence == CONFIDENCE_CLEAR ? 'Y' : 'y')
						 : (x->confidence == CONFIDENCE_CLEAR ? 'N' : 'n');
	}
	return '!';
}

static void check_verdicts(const char *name, const char *expected)
{
	struct evidence v = { 0 };
	struct answers a = { 0 };
	struct err e = { 0 };
	char got[3] = "";

	if (check_int(evidence_open(&v, test_folder(), name, &e), 0) &&
	    check_int(answers_find(&a, &v, &e), 0)) {
		got[0] = letter(&a, "tuning-helped");
		got[1] = letter(&a, "tuning-forgot");
	}
	if (strcmp(got, expected) != 0)
		test_fail(__FILE__, __LINE__, "%s: %s, not %s", name, got, expected);
	answers_free(&a);
	evidence_close(&v);
}

TEST(report_tuning_verdicts)
{
	for (size_t i = 0; i < ARRAY_LEN(tunings); i++)
		if (write_tuning(tunings[i].name, &tunings[i].own, &tunings[i].general, "news"))
			check_verdicts(tunings[i].name, tunings[i].expected);
}

TEST(report_tuning_needs_a_comparison)
{
	static const struct tuning none = { .sentences = 0 };

	if (write_tuning("started", &none, &none, "news"))
		check_verdicts("started", "??");
	if (write_tuning("plain", &none, &none, ""))
		check_verdicts("plain", "--");
}
