/* t_shortlist.c - lexical shortlists: learning, the file, and decoding with them. */
#include "tests/train/sharp_model.h"

#include <stdio.h>

#include "data/shard/shard.h"
#include "data/shard/shortlist.h"
#include "kernels/ops/panels.h"
#include "share/base/file.h"

#define VOCABULARY 16 /* of the sharp model, <unused…> counted */

static const char sha[] = "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef";

static const char *in_folder(const char *name)
{
	static char paths[4][500];
	static int next;
	char *path = paths[next++ % 4];

	snprintf(path, sizeof(paths[0]), "%s/%s", test_folder(), name);
	return path;
}

static const enum dtype kinds[] = { DTYPE_PACKED_F32, DTYPE_PACKED_BF16, DTYPE_PACKED_INT8 };

/* ---- packed weights ---------------------------------------------------- */

TEST(panels_gathered_are_panels_packed)
{
	enum { N = 77, K = 37, CHOSEN = 45 };
	const struct ops *o = ops_cpu();
	const struct dev_options options = { .threads = 1 };
	struct err e = { 0 };
	struct dev *d = o->open(&options, &e);
	float all[N * K], some[CHOSEN * K];
	int32_t ids[CHOSEN];

	for (int i = 0; i < N * K; i++)
		all[i] = (float)sin(i * i) * (float)(1 + i % 7);
	for (int i = 0; i < CHOSEN; i++) {
		ids[i] = (i * 31 + 5) % N;
		memcpy(some + i * K, all + ids[i] * K, K * sizeof(float));
	}
	for (size_t i = 0; d && i < ARRAY_LEN(kinds); i++) {
		struct tensor from = { NULL, N, K, 0, kinds[i] },
			      want = { NULL, CHOSEN, K, 0, kinds[i] }, got = want;
		size_t big = 0, small = 0;

		check(panel_bytes(from, &big) && panel_bytes(want, &small));
		from.data = o->alloc(d, big, &e);
		want.data = o->alloc(d, small, &e);
		got.data = o->alloc(d, small, &e);
		memset(got.data, 0x55, small);
		o->pack(d, from, tensor_f32(all, N, K));
		o->pack(d, want, tensor_f32(some, CHOSEN, K));
		panel_gather(got, from, ids);
		check(!memcmp(want.data, got.data, small));
		o->release(d, from.data);
		o->release(d, want.data);
		o->release(d, got.data);
	}
	if (d)
		o->close(d);
}

/* ---- the file ---------------------------------------------------------- */

static const int32_t frequent[] = { 6, 9 };
static const int32_t start[VOCABULARY + 1] = { 0, 0, 0,	 0,  0,	 2,  3,	 3, 7,
					       8, 9, 10, 13, 13, 13, 13, 13 };
static const int32_t lists[] = { 4, 5, 7, 5, 7, 8, 11, 10, 4, 4, 5, 8, 10 };
static const struct shortlist_parts parts = { VOCABULARY, 0, sha, frequent, 2, start, lists };

TEST(shortlist_comes_back)
{
	struct err e = { 0 };
	struct shortlist *s;
	const int32_t *ids;
	int32_t n;

	check_int(shortlist_write(in_folder("s"), &parts, &e), 0);
	s = shortlist_open(in_folder("s"), VOCABULARY, sha, &e);
	if (!check(s != NULL))
		return;
	ids = shortlist_frequent(s, &n);
	check(n == 2 && ids[0] == 6 && ids[1] == 9);
	for (int32_t i = 0; i < VOCABULARY; i++) {
		ids = shortlist_of_token(s, i, &n);
		check_int(n, start[i + 1] - start[i]);
		check(!memcmp(ids, lists + start[i], (size_t)n * sizeof(*ids)));
	}
	shortlist_close(s);
	check(!shortlist_open(in_folder("s"), VOCABULARY + 8, sha, &e));
	check_int(e.code, ERR_DATA);
	check(!shortlist_open(in_folder("s"), VOCABULARY, sha + 1, &e));
	check_int(e.code, ERR_DATA);
	check(!shortlist_open(in_folder("none"), VOCABULARY, sha, &e));
	check_int(e.code, ERR_NOINPUT);
}

static void check_refused(const struct buf *file, const char *how)
{
	struct err e = { 0 };
	struct shortlist *s;

	check_int(file_write_all(in_folder("bad"), file->data, file->len, &e), 0);
	s = shortlist_open(in_folder("bad"), VOCABULARY, sha, &e);
	if (s)
		test_fail(__FILE__, __LINE__, "%s was not noticed", how);
	else
		check_int(e.code, ERR_DATA);
	shortlist_close(s);
}

TEST(shortlist_damaged_is_refused)
{
	struct buf good = { 0 }, bad = { 0 };
	struct err e = { 0 };

	check_int(shortlist_write(in_folder("s"), &parts, &e), 0);
	check_int(file_read_all(in_folder("s"), 0, &good, &e), 0);
	for (size_t i = 0; i < good.len; i++) {
		buf_clear(&bad);
		buf_add(&bad, good.data, good.len);
		bad.data[i] ^= 4;
		check_refused(&bad, "a changed byte");
	}
	for (size_t n = 0; n < good.len; n += 3) {
		buf_clear(&bad);
		buf_add(&bad, good.data, n);
		check_refused(&bad, "a cut");
	}
	buf_clear(&bad);
	buf_add(&bad, good.data, good.len);
	buf_add(&bad, "abcd", 4);
	check_refused(&bad, "something behind it");
	buf_free(&good);
	buf_free(&bad);
}

/* Wrong contents are refused, also with a correct checksum. */
TEST(shortlist_with_wrong_lists_is_refused)
{
	static const int32_t falling[] = { 4, 5, 7, 7, 5, 8, 11, 10, 4, 4, 5, 8, 10 };
	static const int32_t special[] = { 2, 5, 7, 5, 7, 8, 11, 10, 4, 4, 5, 8, 10 };
	static const int32_t large[] = { 4, 5, 7, 5, 7, 8, 11, 10, 4, 4, 5, 8, VOCABULARY };
	static const int32_t negative[VOCABULARY + 1] = { 0, 0, 0,  0,	0,  2,	3,  3, 7,
							  6, 9, 10, 13, 13, 13, 13, 13 };
	static const int32_t beyond[VOCABULARY + 1] = { 0,  0, 0,  0,  0,  2,  3,  3, 7,
							90, 9, 10, 13, 13, 13, 13, 13 };
	static const int32_t late[VOCABULARY + 1] = { 1, 1, 1,	1,  1,	2,  3,	3, 7,
						      8, 9, 10, 13, 13, 13, 13, 13 };
	static const int32_t twice[] = { 6, 6 };
	const struct shortlist_parts wrong[] = {
		{ VOCABULARY, 0, sha, frequent, 2, start, falling },
		{ VOCABULARY, 0, sha, frequent, 2, start, special },
		{ VOCABULARY, 0, sha, frequent, 2, start, large },
		{ VOCABULARY, 0, sha, frequent, 2, negative, lists },
		{ VOCABULARY, 0, sha, frequent, 2, beyond, lists },
		{ VOCABULARY, 0, sha, frequent, 2, late, lists },
		{ VOCABULARY, 0, sha, twice, 2, start, lists },
	};

	for (size_t i = 0; i < ARRAY_LEN(wrong); i++) {
		struct err e = { 0 };
		struct shortlist *s;

		check_int(shortlist_write(in_folder("s"), &wrong[i], &e), 0);
		s = shortlist_open(in_folder("s"), VOCABULARY, sha, &e);
		if (s)
			test_fail(__FILE__, __LINE__, "case %d was not noticed", (int)i);
		else
			check_int(e.code, ERR_DATA);
		shortlist_close(s);
	}
}

/* ---- learning ---------------------------------------------------------- */

/*
 * Pairs in which word i is translated by word TWIN + i, in another order, among function words
 * that are everywhere.
 */
#define TWIN  60
#define WORDS 50
TEST(shortlist_learns_who_translates_whom)
{
	const struct shortlist_options how = { 3, 2, 400, 4 };
	struct err e = { 0 };
	struct shard_writer *w = shard_create(in_folder("t.shard"), 2 * TWIN, sha, &e);
	struct shortlist *s = NULL;
	struct shard *shard;
	uint32_t state = 5;
	int right = 0;

	for (int i = 0; w && i < 800; i++) {
		int32_t source[8], target[10], n = 3 + i % 5;

		for (int k = 0; k < n; k++) {
			state = state * 1664525u + 1013904223u;
			source[k] = 4 + (int32_t)(state >> 16) % WORDS;
			target[n - 1 - k] = TWIN + source[k];
		}
		target[n] = 5 + TWIN + WORDS;
		target[n + 1] = 4 + TWIN + WORDS;
		check_int(shard_append(w, source, n, target, n + 2, &e), 0);
	}
	check_int(shard_finish(w, &e), 0);
	shard = shard_open(in_folder("t.shard"), &e);
	check_int(shortlist_learn(shard, &how, in_folder("s"), &e), 0);
	s = shortlist_open(in_folder("s"), 2 * TWIN, sha, &e);
	if (s) {
		int32_t n;
		const int32_t *ids = shortlist_frequent(s, &n);

		check(n == 2 && ids[0] == 4 + TWIN + WORDS && ids[1] == 5 + TWIN + WORDS);
		for (int32_t i = 4; i < 4 + WORDS; i++) {
			ids = shortlist_of_token(s, i, &n);
			check(n == 3 && ids[0] == i); /* itself is always allowed */
			right += ids[1] == TWIN + i || ids[2] == TWIN + i;
		}
	}
	check_int(right, WORDS);
	shortlist_close(s);
	shard_close(shard);
}

/* ---- decoding ---------------------------------------------------------- */

static struct shortlist *a_shortlist(const struct shortlist_parts *p)
{
	struct err e = { 0 };

	check_int(shortlist_write(in_folder("s"), p, &e), 0);
	return shortlist_open(in_folder("s"), p->vocabulary, sha, &e);
}

/* The allowed tokens of a sentence, by the definition. */
static bool is_allowed(const struct decode_source *s, int32_t token)
{
	bool good = token == TOKEN_END || token == frequent[0] || token == frequent[1];

	for (int32_t i = 0; i < s->n; i++)
		for (int32_t k = start[s->ids[i]]; k < start[s->ids[i] + 1]; k++)
			good |= lists[k] == token;
	return good;
}

/* The log-probability of a translation among the tokens that are allowed, by the whole model. */
static double log_prob_of(struct model *m, const struct decode_source *s, const int32_t *tokens,
			  int32_t n)
{
	double total = 0;

	for (int32_t at = 0; at <= n; at++) {
		double p[N_REAL], sum = 0;

		next_token(m, s, tokens, at, p);
		for (int32_t y = 0; y < N_REAL; y++)
			sum += is_allowed(s, y) ? exp(p[y]) : 0;
		total += p[at < n ? tokens[at] : TOKEN_END] - log(sum);
	}
	return total;
}

static struct decode_options options(int32_t beam, int32_t n_best)
{
	return (struct decode_options){ .beam = beam,
					.n_best = n_best,
					.alpha = 0.6,
					.max_length_factor = 1.0,
					.max_length_extra = 6,
					.decode_tokens = 1024,
					.temperature = 1,
					.top_p = 1,
					.seed = 7 };
}

static bool run(struct model *m, int32_t workers, const struct decode_options *o,
		struct decode_result r[N_SOURCES])
{
	struct err e = { 0 };
	struct decoder *d = decoder_new(m, CAPACITY, workers, &e);
	bool good = d && !decoder_run(d, o, sources, N_SOURCES, r, &e);

	if (!good)
		test_fail(__FILE__, __LINE__, "%s", e.text);
	decoder_free(d);
	return good;
}

static struct model *packed_model(uint64_t seed, enum dtype kind)
{
	struct model *m = sharp_model(seed);
	struct err e = { 0 };

	if (m)
		check_int(model_pack(m, kind, &e), 0);
	return m;
}

/* Tokens and probabilities, to the last bit. */
static void check_equal(const struct decode_result *a, const struct decode_result *b)
{
	for (int i = 0; i < N_SOURCES; i++) {
		check_int(a[i].n, b[i].n);
		for (int32_t h = 0; h < MIN(a[i].n, b[i].n); h++) {
			const struct decode_hypothesis *x = &a[i].hypotheses[h],
						       *y = &b[i].hypotheses[h];

			check(x->n == y->n && x->log_prob == y->log_prob &&
			      !memcmp(x->tokens, y->tokens, (size_t)x->n * sizeof(*x->tokens)));
		}
	}
}

TEST(shortlist_probabilities_are_among_the_allowed)
{
	static const int32_t beams[] = { 1, 4, 16 };
	struct shortlist *s = a_shortlist(&parts);
	struct model *whole = sharp_model(3), *m = packed_model(3, DTYPE_PACKED_F32);
	struct decode_result r[N_SOURCES];
	int finished = 0;

	for (size_t b = 0; s && m && whole && b < 2 * ARRAY_LEN(beams); b++) {
		struct decode_options o = options(beams[b / 2], beams[b / 2] > 2 ? 3 : 1);

		o.shortlist = s;
		o.sample = b % 2;
		if (o.sample)
			o.n_best = o.beam;
		if (!run(m, 1, &o, r))
			break;
		for (int i = 0; i < N_SOURCES - 1; i++)
			for (int32_t k = 0; k < r[i].n; k++) {
				const struct decode_hypothesis *h = &r[i].hypotheses[k];

				for (int32_t t = 0; t < h->n; t++)
					check(is_allowed(&sources[i], h->tokens[t]));
				if (!h->finished || sources[i].n > 12)
					continue;
				check_near(h->log_prob,
					   log_prob_of(whole, &sources[i], h->tokens, h->n), 1e-4);
				finished++;
			}
		decode_results_free(r, N_SOURCES);
	}
	check(finished > 20);
	shortlist_close(s);
	model_free(m);
	model_free(whole);
}

/* The best of all translations of up to two allowed tokens, by trying all. */
TEST(shortlist_best_is_found)
{
	struct shortlist *s = a_shortlist(&parts);
	int unlike = 0;

	for (uint64_t seed = 3; s && seed < 9; seed++) {
		struct model *whole = sharp_model(seed), *m = packed_model(seed, DTYPE_PACKED_F32);
		struct decode_options o = options(64, 1);
		struct decode_result r[N_SOURCES], plain[N_SOURCES];

		o.max_length_factor = 0.01;
		o.max_length_extra = 3;
		if (!whole || !m || !run(m, 1, &o, plain))
			break;
		o.shortlist = s;
		if (!run(m, 1, &o, r))
			break;
		for (int i = 0; i < N_SOURCES - 1; i++) {
			double best = -INFINITY;

			for (int32_t a = 3; a < N_REAL; a++) /* 3: no token */
				for (int32_t b = 3; b < (a == 3 ? 4 : N_REAL); b++) {
					const int32_t row[] = { a, b }, n = (a > 3) + (b > 3);

					if ((a > 3 && !is_allowed(&sources[i], a)) ||
					    (b > 3 && !is_allowed(&sources[i], b)))
						continue;
					best = MAX(best, log_prob_of(whole, &sources[i], row, n) /
								 pow((6 + n) / 6.0, 0.6));
				}
			check_near(r[i].hypotheses->score, best, 1e-4);
			unlike += fabs(plain[i].hypotheses->score - best) > 1e-3;
		}
		decode_results_free(r, N_SOURCES);
		decode_results_free(plain, N_SOURCES);
		model_free(m);
		model_free(whole);
	}
	check(unlike > 5);
	shortlist_close(s);
}

/* Results are bit-equal for any batch of sentences and any number of workers. */
TEST(shortlist_does_not_depend_on_batches)
{
	static const int32_t prefix[] = { 11, 8 }; /* the first source does not allow them */
	struct shortlist *s = a_shortlist(&parts);
	struct decode_constraint constraints[N_SOURCES] = { { .prefix = prefix, .n_prefix = 2 } };

	for (size_t i = 0; s && i < 2 * ARRAY_LEN(kinds); i++) {
		struct model *m = packed_model(3, kinds[i / 2]);
		struct decode_options o = options(4, 2);
		struct decode_result r[N_SOURCES], alone[N_SOURCES], side[N_SOURCES];

		o.shortlist = s;
		o.constraints = i % 2 ? constraints : NULL;
		if (!m || !run(m, 1, &o, r))
			break;
		if (i % 2)
			check(r[0].hypotheses->n >= 2 && r[0].hypotheses->tokens[0] == 11 &&
			      r[0].hypotheses->tokens[1] == 8);
		o.decode_tokens = 16;
		if (run(m, 1, &o, alone) && run(m, 2, &o, side)) {
			check_equal(r, alone);
			check_equal(r, side);
			decode_results_free(alone, N_SOURCES);
			decode_results_free(side, N_SOURCES);
		}
		decode_results_free(r, N_SOURCES);
		model_free(m);
	}
	shortlist_close(s);
}

/* A shortlist that allows all tokens has no effect. */
TEST(shortlist_of_everything_changes_nothing)
{
	static const int32_t all[] = { 4, 5, 6, 7, 8, 9, 10, 11 };
	static const int32_t nothing[VOCABULARY + 1] = { 0 };
	const struct shortlist_parts p = {
		VOCABULARY, 0, sha, all, ARRAY_LEN(all), nothing, lists
	};
	struct shortlist *s = a_shortlist(&p);
	struct model *m = packed_model(3, DTYPE_PACKED_F32);
	struct decode_options o = options(4, 3);
	struct decode_result plain[N_SOURCES], r[N_SOURCES];

	if (!s || !m || !run(m, 1, &o, plain))
		return;
	o.shortlist = s;
	if (run(m, 1, &o, r)) {
		for (int i = 0; i < N_SOURCES; i++)
			for (int32_t h = 0; h < r[i].n; h++) {
				const struct decode_hypothesis *x = &r[i].hypotheses[h],
							       *y = &plain[i].hypotheses[h];

				check(x->n == y->n && !memcmp(x->tokens, y->tokens,
							      (size_t)x->n * sizeof(int32_t)));
				/* <pad>, <s> and <unk> have no probability any more */
				check(x->log_prob >= y->log_prob - 1e-5);
			}
		decode_results_free(r, N_SOURCES);
	}
	decode_results_free(plain, N_SOURCES);
	shortlist_close(s);
	model_free(m);
}

/* Backends that cannot pack weights use them unpacked. */
TEST(shortlist_takes_packed_weights)
{
	struct shortlist *s = a_shortlist(&parts);
	struct model *m = sharp_model(3);
	struct decode_options o = options(4, 1);
	struct decode_result r[N_SOURCES];
	struct err e = { 0 };
	struct decoder *d = m ? decoder_new(m, CAPACITY, 1, &e) : NULL;

	o.shortlist = s;
	if (d && s)
		check_err(decoder_run(d, &o, sources, N_SOURCES, r, &e), ERR_UNAVAILABLE);
	decoder_free(d);
	model_free(m);
	shortlist_close(s);
}
