/* resample.c - NumPy's random numbers, bootstrap and approximate randomisation; see resample.h */
#include "eval/metrics/resample.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "share/base/mem.h"
#include "share/base/util.h"

/* ---- SeedSequence (NumPy; after O'Neill's seed_seq_fe) ------------------ */

#define POOL 4

static uint32_t hash_seed_word(uint32_t value, uint32_t *constant, uint32_t factor)
{
	value ^= *constant;
	*constant *= factor;
	value *= *constant;
	return value ^ value >> 16;
}

static uint32_t mix_seed_words(uint32_t x, uint32_t y)
{
	uint32_t sum = 0xCA01F9DDu * x - 0x4973F715u * y;

	return sum ^ sum >> 16;
}

/* SeedSequence(seed).generate_state(4, np.uint64). */
static void expand_seed(uint64_t seed, uint64_t out[4])
{
	uint32_t pool[POOL] = { (uint32_t)seed, (uint32_t)(seed >> 32) };
	uint32_t constant = 0x43B0D7E5u, halves[8];

	for (int i = 0; i < POOL; i++)
		pool[i] = hash_seed_word(pool[i], &constant, 0x931E8875u);
	for (int from = 0; from < POOL; from++)
		for (int to = 0; to < POOL; to++)
			if (from != to)
				pool[to] = mix_seed_words(
					pool[to],
					hash_seed_word(pool[from], &constant, 0x931E8875u));
	constant = 0x8B51F9DDu;
	for (int i = 0; i < 8; i++)
		halves[i] = hash_seed_word(pool[i % POOL], &constant, 0x58F38DEDu);
	for (int i = 0; i < 4; i++)
		out[i] = (uint64_t)halves[2 * i + 1] << 32 | halves[2 * i];
}

/* ---- PCG64 ------------------------------------------------------------- */

static unsigned __int128 make_wide_number(uint64_t high, uint64_t low)
{
	return (unsigned __int128)high << 64 | low;
}

static void pcg64_step(struct pcg64 *r)
{
	r->state = r->state * make_wide_number(0x2360ED051FC65DA4u, 0x4385DF649FCCF645u) +
		   r->increment;
}

void pcg64_seed(struct pcg64 *r, uint64_t seed)
{
	uint64_t words[4];

	expand_seed(seed, words);
	memset(r, 0, sizeof(*r));
	r->increment = make_wide_number(words[2], words[3]) << 1 | 1;
	pcg64_step(r);
	r->state += make_wide_number(words[0], words[1]);
	pcg64_step(r);
}

uint64_t pcg64_u64(struct pcg64 *r)
{
	uint64_t folded;
	unsigned turn;

	pcg64_step(r);
	folded = (uint64_t)(r->state >> 64) ^ (uint64_t)r->state;
	turn = (unsigned)(r->state >> 122);
	return folded >> turn | folded << (-turn & 63);
}

/* Half a number: the lower half first. */
static uint32_t pcg64_u32(struct pcg64 *r)
{
	uint64_t both;

	if (r->has_upper_half) {
		r->has_upper_half = false;
		return r->upper_half;
	}
	both = pcg64_u64(r);
	r->has_upper_half = true;
	r->upper_half = (uint32_t)(both >> 32);
	return (uint32_t)both;
}

uint32_t pcg64_below(struct pcg64 *r, uint32_t n)
{
	uint64_t product;

	assert(n > 0);
	if (n == 1) /* like NumPy, draw no number */
		return 0;
	product = (uint64_t)pcg64_u32(r) * n;
	if ((uint32_t)product < n) {
		uint32_t least = -n % n;

		while ((uint32_t)product < least)
			product = (uint64_t)pcg64_u32(r) * n;
	}
	return (uint32_t)(product >> 32);
}

uint32_t pcg64_coins(struct pcg64 *r, int n)
{
	uint64_t coins = r->coins;
	uint32_t taken;

	assert(n > 0 && n <= 32);

	if (r->n_coins < (uint32_t)n) {
		coins |= (uint64_t)pcg64_u32(r) << r->n_coins;
		r->n_coins += 32;
	}
	taken = (uint32_t)(coins & ((UINT64_C(1) << n) - 1));
	r->coins = (uint32_t)(coins >> n);
	r->n_coins -= (uint32_t)n;
	return taken;
}

/* ---- bootstrap --------------------------------------------------------- */

static int check_size(const struct metric *m, int64_t trials, struct err *e)
{
	if (m->n == 0 || m->n > UINT32_MAX)
		return err_set(e, ERR_DATA, "cannot resample %zu segments", m->n);
	if (trials < 1)
		return err_set(e, ERR_USAGE, "%lld resamples are too few: at least 1 is needed",
			       (long long)trials);
	return 0;
}

/* The scores of all draws; the caller frees them. NULL: failure. */
static double *draw_scores(const struct metric *m, uint64_t seed, int64_t draws, struct err *e)
{
	double *scores =
		check_size(m, draws, e) ? NULL : mem_alloc((size_t)draws, sizeof(*scores), e);
	const size_t width = m->width;
	int64_t sums[METRIC_MAX_SUMS];
	struct pcg64 r;

	if (!scores)
		return NULL;
	pcg64_seed(&r, seed);
	for (int64_t t = 0; t < draws; t++) {
		memset(sums, 0, width * sizeof(*sums));
		for (size_t i = 0; i < m->n; i++) {
			const int64_t *row = m->rows + pcg64_below(&r, (uint32_t)m->n) * width;

			for (size_t k = 0; k < width; k++)
				sums[k] += row[k];
		}
		scores[t] = metric_of_sums(m, sums);
	}
	return scores;
}

static int by_score_value(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

static double mean_of_scores(const double *values, int64_t n)
{
	long double sum = 0;

	for (int64_t i = 0; i < n; i++)
		sum += values[i];
	return (double)(sum / (long double)n);
}

int resample_confidence(const struct metric *m, uint64_t seed, int64_t draws,
			struct score_confidence *c, struct err *e)
{
	double *scores = draw_scores(m, seed, draws, e);
	int64_t cut = draws / 40; /* 2.5 % at each end */

	if (!scores)
		return e->code;
	qsort(scores, (size_t)draws, sizeof(*scores), by_score_value);
	c->mean = mean_of_scores(scores, draws);
	c->interval = 0.5 * (scores[draws - 1 - cut] - scores[cut]);
	free(scores);
	return 0;
}

/*
 * The share of differences that are greater than the real one, which is counted too. Equal
 * differences are not greater. So a system compared with itself gets the least possible value, as
 * in sacreBLEU.
 */
static double p_value(const double *differences, int64_t n, double real)
{
	int64_t greater = 0;

	for (int64_t i = 0; i < n; i++)
		greater += differences[i] > real;
	return (double)(greater + 1) / (double)(n + 1);
}

static int check_pair(const struct metric *a, const struct metric *b, struct err *e)
{
	if (a->n != b->n || a->width != b->width)
		return err_set(e, ERR_DATA,
			       "systems of %zu and %zu segments cannot be compared: a paired test "
			       "needs equal numbers",
			       a->n, b->n);
	return 0;
}

static double score_difference(const struct metric *a, const struct metric *b)
{
	return fabs(metric_score(a) - metric_score(b));
}

int resample_bootstrap(const struct metric *a, const struct metric *b, uint64_t seed, int64_t draws,
		       double *p, struct err *e)
{
	double *of_a = NULL, *of_b = NULL, mean;
	int rc = check_pair(a, b, e);

	if (!rc &&
	    (!(of_a = draw_scores(a, seed, draws, e)) || !(of_b = draw_scores(b, seed, draws, e))))
		rc = e->code;
	if (!rc) {
		for (int64_t t = 0; t < draws; t++)
			of_a[t] = fabs(of_b[t] - of_a[t]);
		mean = mean_of_scores(of_a, draws);
		for (int64_t t = 0; t < draws; t++)
			of_a[t] -= mean;
		*p = p_value(of_a, draws, score_difference(a, b));
	}
	free(of_a);
	free(of_b);
	return rc;
}

/* ---- approximate randomisation ----------------------------------------- */

#define GROUP 4 /* segments whose coins are used together */

/*
 * In a shuffle, the first system gets a's segment where the coin is 1 and b's where it is 0. Its
 * sums are b's sums plus the rows of a - b where the coin is 1. The returned table (groups,
 * 1 << GROUP, width) has the sum of a - b over every subset of each group of segments, so that a
 * group costs one addition per shuffle. The caller frees it. NULL: out of memory.
 */
static int64_t *subset_sums(const struct metric *a, const struct metric *b, size_t groups,
			    struct err *e)
{
	const size_t width = a->width;
	int64_t *table;
	size_t size;

	if (!mem_mul(groups << GROUP, width, &size) ||
	    !(table = mem_alloc(size, sizeof(*table), e))) {
		err_set(e, ERR_NOMEM, "cannot allocate memory to shuffle %zu segments", a->n);
		return NULL;
	}
	for (size_t g = 0; g < groups; g++) {
		int64_t *group = table + (g << GROUP) * width;

		for (size_t set = 1; set < 1 << GROUP; set++) {
			size_t least = (size_t)__builtin_ctzll(set), i = g * GROUP + least;
			const int64_t *rest = group + (set & (set - 1)) * width;

			for (size_t k = 0; k < width && i < a->n; k++)
				group[set * width + k] =
					rest[k] + a->rows[i * width + k] - b->rows[i * width + k];
		}
	}
	return table;
}

int resample_randomisation(const struct metric *a, const struct metric *b, uint64_t seed,
			   int64_t shuffles, double *p, struct err *e)
{
	const size_t width = a->width, groups = a->n / GROUP + (a->n % GROUP != 0);
	const int last = a->n % GROUP ? (int)(a->n % GROUP) : GROUP;
	int64_t sums_a[METRIC_MAX_SUMS], sums_b[METRIC_MAX_SUMS], one[METRIC_MAX_SUMS],
		other[METRIC_MAX_SUMS], *table;
	double *differences;
	struct pcg64 r;

	if (check_pair(a, b, e) || check_size(a, shuffles, e))
		return e->code;
	table = subset_sums(a, b, groups, e);
	differences = table ? mem_alloc((size_t)shuffles, sizeof(*differences), e) : NULL;
	if (!differences) {
		free(table);
		return e->code;
	}
	metric_sums(a, sums_a);
	metric_sums(b, sums_b);
	pcg64_seed(&r, seed);
	for (int64_t t = 0; t < shuffles; t++) {
		memcpy(one, sums_b, width * sizeof(*one));
		for (size_t g = 0; g < groups; g++) {
			size_t set = pcg64_coins(&r, g + 1 < groups ? GROUP : last);
			const int64_t *row = table + ((g << GROUP) + set) * width;

			for (size_t k = 0; k < width; k++)
				one[k] += row[k];
		}
		for (size_t k = 0; k < width; k++)
			other[k] = sums_a[k] + sums_b[k] - one[k];
		differences[t] = fabs(metric_of_sums(a, one) - metric_of_sums(b, other));
	}
	*p = p_value(differences, shuffles, score_difference(a, b));
	free(differences);
	free(table);
	return 0;
}
