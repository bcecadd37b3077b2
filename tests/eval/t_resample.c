/* t_resample.c - random numbers of NumPy 2, confidence and paired tests against sacreBLEU 2.6.0. */
#include "tests/test.h"

#include <stdlib.h>
#include <string.h>

#include "eval/metrics/resample.h"
#include "share/base/file.h"
#include "share/base/lines.h"

TEST(resample_pcg64)
{
	static const struct {
		uint64_t seed, numbers[3];
	} cases[] = {
		{ 12345, { 0x3a32b18db2ffc19d, 0x51171315c9e4c4de, 0xcc2024823444efd9 } },
		{ 0, { 0xa30febcfd9c2825f, 0x4510bdf882d9d721, 0x0a7d3da94ecde8b8 } },
		{ (UINT64_C(1) << 40) + 5,
		  { 0x01369aef039fedeb, 0x5f61b40473314316, 0x9654aaeeea6ebe77 } },
	};
	struct pcg64 r;

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		pcg64_seed(&r, cases[i].seed);
		for (int k = 0; k < 3; k++)
			check(pcg64_u64(&r) == cases[i].numbers[k]);
	}
}

TEST(resample_choice)
{
	static const uint32_t first[] = { 2100, 682, 2369, 951, 613 };
	struct pcg64 r;
	uint64_t sum = 0;
	uint32_t last = 0;

	pcg64_seed(&r, RESAMPLE_SEED);
	for (int i = 0; i < 100000; i++) {
		last = pcg64_below(&r, 3004);
		if (i < 5)
			check_int(last, first[i]);
		sum += last;
	}
	check_int(last, 1126);
	check_int(sum, 150015073);
	pcg64_seed(&r, RESAMPLE_SEED); /* three of ten numbers are rejected */
	sum = 0;
	for (int i = 0; i < 1000; i++)
		sum += last = pcg64_below(&r, 3000000000u);
	check_int(last, 1401603177);
	check_int(sum, 1507660891901);
	pcg64_seed(&r, RESAMPLE_SEED);
	check_int(pcg64_below(&r, 1), 0);
	check(pcg64_u64(&r) == 0x3a32b18db2ffc19d);
}

TEST(resample_coins)
{
	static const uint64_t rows[] = { 0xdb2ffc19d, 0x6f1d1958c, 0x4c5727931, 0x9dfb2a22e,
					 0x202482344 };
	struct pcg64 r;

	pcg64_seed(&r, RESAMPLE_SEED);
	for (int i = 0; i < 5; i++) { /* 37 coins each */
		uint64_t row = pcg64_coins(&r, 4);

		row |= (uint64_t)pcg64_coins(&r, 32) << 4;
		row |= (uint64_t)pcg64_coins(&r, 1) << 36;
		check(row == rows[i]);
	}
}

/* ---- three synthetic segments ------------------------------------------ */

static const char *const three[][3] = {
	{ "the cat sat on the mat .", "", "a quick brown fox, jumps over it" },
	{ "there is a cat on the mat .", "", "a quick brown fox leaps over it" },
	{ "the cat is on the mat .", "nothing", "The quick brown fox jumps over the dog" },
};

static struct metric_options usual(enum metric_kind kind)
{
	return (struct metric_options){ kind, bleu_defaults, chrf_defaults, { false } };
}

static void fill(struct metric *m, enum metric_kind kind, const char *const *texts, size_t n)
{
	struct metric_options o = usual(kind);
	struct err e = { 0 };

	check_int(metric_open(m, &o, &e), 0);
	for (size_t i = 0; i < n; i++) {
		struct score_text h = { texts[i], strlen(texts[i]) },
				  r = { three[2][i], strlen(three[2][i]) };

		check_int(metric_add(m, &h, &r, 1, &e), 0);
	}
}

TEST(resample_few_segments)
{
	static const struct {
		double score[2], mean[2], interval[2], bootstrap;
	} want[] = {
		[METRIC_BLEU] = { { 30.94087405597132, 27.774893209363533 },
				  { 30.29402636, 26.45937436 },
				  { 24.44615097, 19.13014696 },
				  0.14385614385614387 },
		[METRIC_CHRF] = { { 58.65432998285628, 49.38744454775707 },
				  { 54.59797364, 45.99253544 },
				  { 33.58636475, 28.51882935 },
				  0.000999000999000999 },
		[METRIC_TER] = { { 37.5, 50 },
				 { 40.690853, 53.14854 },
				 { 42.857143, 28.571428 },
				 0.14385614385614387 },
	};
	struct err e = { 0 };

	for (int k = METRIC_BLEU; k <= METRIC_TER; k++) {
		struct metric m[2];
		struct score_confidence c;
		double p;

		for (int i = 0; i < 2; i++) {
			fill(&m[i], (enum metric_kind)k, three[i], 3);
			check_near(metric_score(&m[i]), want[k].score[i], 1e-9);
			check_int(resample_confidence(&m[i], RESAMPLE_SEED, RESAMPLE_DRAWS, &c, &e),
				  0);
			check_near(c.mean, want[k].mean[i], 2e-5);
			check_near(c.interval, want[k].interval[i], 2e-5);
		}
		check_int(resample_bootstrap(&m[0], &m[1], RESAMPLE_SEED, RESAMPLE_DRAWS, &p, &e),
			  0);
		check_near(p, want[k].bootstrap, 1e-12);
		check_int(resample_randomisation(&m[0], &m[1], RESAMPLE_SEED, RESAMPLE_SHUFFLES, &p,
						 &e),
			  0);
		check_near(p, 1. / 10001, 1e-12);
		/* A system does not differ from itself. */
		check_int(resample_bootstrap(&m[0], &m[0], RESAMPLE_SEED, 100, &p, &e), 0);
		check_near(p, 1. / 101, 1e-12);
		metric_close(&m[0]);
		metric_close(&m[1]);
	}
}

TEST(resample_hostile)
{
	static const char *const empty[] = { "", "", "" };
	struct metric m, none, one;
	struct score_confidence c;
	struct err e = { 0 };
	double p;

	fill(&none, METRIC_BLEU, empty, 0);
	check_err(resample_confidence(&none, 1, 10, &c, &e), ERR_DATA);
	check_err(resample_randomisation(&none, &none, 1, 10, &p, &e), ERR_DATA);
	fill(&one, METRIC_BLEU, three[0], 1);
	check_int(resample_confidence(&one, 1, 10, &c, &e), 0);
	check_near(c.mean, metric_score(&one), 1e-12);
	check_near(c.interval, 0, 0);
	check_int(resample_confidence(&one, 1, 1, &c, &e), 0);
	check_err(resample_confidence(&one, 1, 0, &c, &e), ERR_USAGE);
	for (int k = METRIC_BLEU; k <= METRIC_TER; k++) { /* nothing matches at all */
		fill(&m, (enum metric_kind)k, empty, 3);
		check_int(resample_confidence(&m, 1, 10, &c, &e), 0);
		check_near(c.mean, k == METRIC_TER ? 100 : 0, 1e-12);
		check_int(resample_randomisation(&m, &m, 1, 10, &p, &e), 0);
		check_near(p, 1. / 11, 1e-12);
		metric_close(&m);
	}
	fill(&m, METRIC_BLEU, three[0], 3);
	check_err(resample_bootstrap(&one, &m, 1, 10, &p, &e), ERR_DATA);
	metric_close(&m);
	metric_close(&one);
	metric_close(&none);
}

/* ---- real systems ------------------------------------------------------ */

/* The first 200 segments of a system; false: no data. */
static bool read_system(struct metric *m, const struct metric_options *o, const char *name)
{
	struct lines h, r;
	struct err e = { 0 };
	char *path = file_path(&e, "systems/newstest2017.%s.en-de.txt", name);
	bool has = test_data("systems/reference.txt") != NULL;

	if (!has || !check_int(lines_open(&h, test_data(path), &e), 0) ||
	    !check_int(lines_open(&r, test_data("systems/reference.txt"), &e), 0)) {
		free(path);
		return false;
	}
	check_int(metric_open(m, o, &e), 0);
	while (m->n < 200 && lines_next(&h, &e) > 0 && lines_next(&r, &e) > 0) {
		struct score_text ours = { h.text, h.len }, theirs = { r.text, r.len };

		check_int(metric_add(m, &ours, &theirs, 1, &e), 0);
	}
	lines_close(&h);
	lines_close(&r);
	free(path);
	return true;
}

TEST(resample_real_systems)
{
	static const struct {
		enum metric_kind kind;
		int word_order;
		double mean, interval, bootstrap, randomisation;
	} want[] = {
		{ METRIC_BLEU, 0, 22.92523343, 2.41008404, 0.3356643356643357, 0.8569143085691431 },
		{ METRIC_CHRF, 0, 53.808903, 1.8572273, 0.2727272727272727, 0.7364263573642635 },
		{ METRIC_CHRF, 2, 51.03257, 1.7837772, 0.2937062937062937, 0.7932206779322067 },
		{ METRIC_TER, 0, 66.044785, 3.11055, 0.36063936063936064, 0.8901109889011098 },
	};
	struct err e = { 0 };

	for (size_t i = 0; i < sizeof(want) / sizeof(want[0]); i++) {
		struct metric_options o = usual(want[i].kind);
		struct metric a, b;
		struct score_confidence c;
		double p;

		o.chrf.word_order = want[i].word_order;
		if (!read_system(&a, &o, "TALP-UPC.4834") || !read_system(&b, &o, "online-A.0"))
			return;
		check_int(resample_confidence(&b, RESAMPLE_SEED, RESAMPLE_DRAWS, &c, &e), 0);
		check_near(c.mean, want[i].mean, 2e-5);
		check_near(c.interval, want[i].interval, 2e-5);
		check_int(resample_bootstrap(&a, &b, RESAMPLE_SEED, RESAMPLE_DRAWS, &p, &e), 0);
		check_near(p, want[i].bootstrap, 1e-12);
		check_int(resample_randomisation(&a, &b, RESAMPLE_SEED, RESAMPLE_SHUFFLES, &p, &e),
			  0);
		check_near(p, want[i].randomisation, 1e-12);
		metric_close(&a);
		metric_close(&b);
	}
}

/* ---- tokenised BLEU ---------------------------------------------------- */

static double tokenised(const char *hypothesis, const char *reference, bool lowercase, bool split)
{
	struct bleu_options o = { SCORE_MULTI_BLEU, BLEU_EXP, -1, lowercase, false, split };
	const struct score_text h = { hypothesis, strlen(hypothesis) },
				r = { reference, strlen(reference) };
	struct bleu_score s = { 0 };
	struct err e = { 0 };
	struct bleu *b = bleu_new(&o, &e);

	if (check_int(bleu_add(b, &h, &r, 1, &e), 0))
		bleu_score(b, &s);
	bleu_free(b);
	return s.score;
}

TEST(resample_multi_bleu)
{
	/* tokens are split at ASCII white space, and nothing is smoothed */
	check_near(tokenised("a b c d", "a b c d", false, false), 100, 1e-9);
	check_near(tokenised("a b c x", "a b c d", false, false), 0, 1e-9);
	check_near(tokenised("a\xC2\xA0"
			     "b c d e f",
			     "a b c d e f", false, false),
		   54.75, 5e-3);
	check_near(tokenised("A\tb  c d\r", "a b c d", true, false), 100, 1e-9);
	check_near(tokenised("\xC3\x84 b c d e", "\xC3\xA4 b c d e", true, false), 66.87, 5e-3);
	/* "a-b c-d" is six tokens; "-", "-x", "x-" and "- -" are no compounds. */
	check_near(tokenised("a-b c-d", "a-b c-x", false, false), 0, 1e-9);
	check_near(tokenised("a-b c-d", "a-b c-x", false, true), 75.98, 5e-3);
	check_near(tokenised("- -x x- - -", "- -x x- - -", false, true), 100, 1e-9);
	check_near(tokenised("", "a", false, true), 0, 0);
	check_near(tokenised("a b c d", "", false, true), 0, 0);
}
