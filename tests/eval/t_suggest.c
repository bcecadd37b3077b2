/* t_suggest.c - forbidden phrases and alternatives against their definitions. */
#include "tests/train/sharp_model.h"

#include <stdio.h>

#include "data/pipeline/pipeline.h"
#include "eval/decode/banned_phrases.h"
#include "share/base/file.h"

#define N_PHRASES 6

static const char *const phrases[N_PHRASES] = { "a", "ab", "aba b", "ba ab", "abab ab a", "xyz" };

/* A vocabulary of the letters a and b: every text has many segmentations. */
static struct pipeline *letters(struct conf *c)
{
	static const char codes[] = "#version: 0.2\na b\na b</w>\n";
	static const char vocab[] = "<pad>\t0\n</s>\t0\n<s>\t0\n<unk>\t0\na\t9\nb\t8\nab\t7\n"
				    "a@@\t6\nb@@\t5\nab@@\t4\nba\t3\nba@@\t2\n"
				    "<unused0>\t0\n<unused1>\t0\n<unused2>\t0\n<unused3>\t0\n";
	struct err e = { 0 };
	struct pipeline *p = NULL;
	char *path;

	check_int(conf_init(c, &e), 0);
	c->tokenize = false;
	path = file_path(&e, "%s/bpe.codes", test_folder());
	check_int(file_write_all(path, codes, sizeof(codes) - 1, &e), 0);
	free(path);
	path = file_path(&e, "%s/vocab.tsv", test_folder());
	check_int(file_write_all(path, vocab, sizeof(vocab) - 1, &e), 0);
	free(path);
	p = pipeline_open(test_folder(), c, &e);
	if (!p)
		test_fail(__FILE__, __LINE__, "%s", e.text);
	return p;
}

static const bool joins_next[N_REAL] = { [7] = true, [8] = true, [9] = true, [11] = true };

static struct banned_phrases *forbid_all(struct pipeline *p, const char *const *list, int n)
{
	struct err e = { 0 };
	struct banned_phrases *f = banned_phrases_new(p, NULL, &e);

	for (int i = 0; i < n; i++)
		check_int(banned_phrases_add(f, list[i], strlen(list[i]), &e), 0);
	return f;
}

/* The text of tokens, such as " aba b "; "+" at its end: the last word continues. */
static void spell(const struct pipeline *p, const int32_t *tokens, int32_t n, char text[200])
{
	size_t at = 0;

	text[at++] = ' ';
	for (int32_t i = 0; i < n; i++) {
		const char *piece = vocab_piece(pipeline_vocab(p, SIDE_TARGET), tokens[i]);

		while (*piece && *piece != '@')
			text[at++] = *piece++;
		text[at] = i + 1 < n ? ' ' : '+';
		at += !joins_next[tokens[i]] || i + 1 == n;
		if (i + 1 == n && !joins_next[tokens[i]])
			text[at - 1] = ' ';
	}
	text[at] = '\0';
}

static bool has_phrase(const struct pipeline *p, const int32_t *tokens, int32_t n,
		       const char *phrase)
{
	char text[200], wanted[32];

	spell(p, tokens, n, text);
	snprintf(wanted, sizeof(wanted), " %s ", phrase);
	return strstr(text, wanted) != NULL;
}

TEST(forbidden_phrases_are_found_however_they_are_split)
{
	struct conf c;
	struct pipeline *p = letters(&c);
	int found[N_PHRASES] = { 0 };

	for (int i = 0; p && i < N_PHRASES; i++) {
		struct banned_phrases *f = forbid_all(p, phrases + i, 1);
		uint32_t state = 1;

		for (int k = 0; f && k < 60000; k++) {
			int32_t tokens[10], n = 1 + k % 10;
			bool said;

			for (int32_t t = 0; t < n; t++) {
				state = state * 1664525u + 1013904223u;
				tokens[t] = 4 + (int32_t)(state >> 20) % 8;
			}
			said = has_phrase(p, tokens, n, phrases[i]);
			if (banned_phrases_contain(f, joins_next, tokens, n) != said)
				test_fail(__FILE__, __LINE__, "%s, row %d", phrases[i], k);
			found[i] += said;
		}
		banned_phrases_free(f);
	}
	for (int i = 0; p && i < N_PHRASES; i++)
		check(i == 5 ? found[i] == 0 : found[i] > 10);
	pipeline_close(p);
	conf_free(&c);
}

static struct decode_options options(int32_t beam, int32_t n_best)
{
	return (struct decode_options){ .beam = beam,
					.n_best = n_best,
					.alpha = 0.6,
					.max_length_factor = 1.0,
					.max_length_extra = 6,
					.decode_tokens = 128,
					.temperature = 1,
					.top_p = 1,
					.seed = 7,
					.joins_next = joins_next };
}

static void check_without(struct pipeline *p, struct model *m, const struct decode_options *o,
			  int *finished)
{
	struct err e = { 0 };
	struct decoder *d = decoder_new(m, CAPACITY, o->beam == 4 ? 2 : 1, &e);
	struct decode_result r[N_SOURCES];

	if (!check(d && !decoder_run(d, o, sources, N_SOURCES, r, &e))) {
		decoder_free(d);
		return;
	}
	for (int i = 0; i < N_SOURCES; i++)
		for (int32_t k = 0; k < r[i].n; k++) {
			const struct decode_hypothesis *h = &r[i].hypotheses[k];

			for (int x = 0; x < N_PHRASES; x++)
				check(!has_phrase(p, h->tokens, h->n, phrases[x]));
			if (h->finished && !o->sample)
				check_near(h->log_prob, -nll_of(m, &sources[i], h->tokens, h->n),
					   1e-3);
			*finished += h->finished;
		}
	decode_results_free(r, N_SOURCES);
	decoder_free(d);
}

TEST(forbidden_phrases_are_never_there)
{
	static const int32_t beams[] = { 1, 2, 4, 16 };
	struct conf c;
	struct pipeline *p = letters(&c);
	struct model *m = sharp_model(3);
	struct banned_phrases *f = forbid_all(p, phrases, N_PHRASES);
	int finished = 0;

	for (size_t i = 0; p && m && f && i < ARRAY_LEN(beams); i++) {
		struct decode_options o = options(beams[i], beams[i] > 2 ? 3 : 1);

		o.forbid = f;
		check_without(p, m, &o, &finished);
		o.sample = true;
		o.n_best = o.beam;
		check_without(p, m, &o, &finished);
	}
	check(finished > 30);
	banned_phrases_free(f);
	model_free(m);
	pipeline_close(p);
	conf_free(&c);
}

/* The best translation of up to two tokens without these phrases, by exhaustive search. */
static double best_of_all(struct pipeline *p, struct model *m, const struct decode_source *s,
			  const char *const *list, int n)
{
	double best = -INFINITY;

	for (int32_t a = 3; a < N_REAL; a++) /* 3: no token */
		for (int32_t b = 3; b < (a == 3 ? 4 : N_REAL); b++) {
			const int32_t tokens[2] = { a, b }, length = (a > 3) + (b > 3);
			bool good = true;

			for (int i = 0; i < n; i++)
				good &= !has_phrase(p, tokens, length, list[i]);
			if (good)
				best = MAX(best, -nll_of(m, s, tokens, length) /
							 pow((5 + length + 1) / 6.0, 0.6));
		}
	return best;
}

/* The text of the best translation without bans, as a phrase; "": it ends within a word. */
static void find_best(struct pipeline *p, struct decoder *d, const struct decode_options *o,
		      const struct decode_source *s, char text[200])
{
	struct decode_options plain = *o;
	struct decode_result r;
	struct err e = { 0 };
	size_t n;

	plain.forbid = NULL;
	check_int(decoder_run(d, &plain, s, 1, &r, &e), 0);
	spell(p, r.hypotheses->tokens, r.hypotheses->n, text);
	n = strlen(text);
	text[n > 1 && text[n - 1] == ' ' ? n - 1 : 1] = '\0';
	decode_results_free(&r, 1);
}

TEST(the_best_without_a_phrase_is_found)
{
	struct conf c;
	struct pipeline *p = letters(&c);
	int changed = 0;

	for (uint64_t seed = 3; p && seed < 40; seed++) {
		struct model *m = sharp_model(seed);
		struct decode_options o = options(64, 1);
		struct err e = { 0 };
		struct decoder *d = decoder_new(m, CAPACITY, 1, &e);

		o.max_length_factor = 0.1;
		o.max_length_extra = 3;
		for (int i = 0; d && i < N_SOURCES - 2; i++) {
			char text[200];
			const char *list[2] = { text + 1, "b" };
			struct banned_phrases *f;
			struct decode_result r;

			find_best(p, d, &o, &sources[i], text);
			if (!text[1] || sources[i].n > 9)
				continue;
			o.forbid = f = forbid_all(p, list, 2);
			check_int(decoder_run(d, &o, &sources[i], 1, &r, &e), 0);
			check_near(r.hypotheses->score, best_of_all(p, m, &sources[i], list, 2),
				   1e-4);
			changed += best_of_all(p, m, &sources[i], list, 0) >
				   r.hypotheses->score + 1e-3;
			decode_results_free(&r, 1);
			banned_phrases_free(f);
		}
		decoder_free(d);
		model_free(m);
	}
	check(changed > 5);
	pipeline_close(p);
	conf_free(&c);
}

/* The most probable token after a beginning, among the tokens that can be chosen. */
static int32_t likeliest(struct model *const *models, int n, const struct decode_source *s,
			 const int32_t *tokens, int32_t at, double mean[N_REAL])
{
	int32_t best = TOKEN_END;

	memset(mean, 0, N_REAL * sizeof(*mean));
	for (int k = 0; k < n; k++) {
		double p[N_REAL];

		next_token(models[k], s, tokens, at, p);
		for (int32_t i = 0; i < N_REAL; i++)
			mean[i] += exp(p[i]) / n;
	}
	for (int32_t i = 4; i < N_REAL; i++)
		if (mean[i] > mean[best])
			best = i;
	return best;
}

/* Does the alternative continue to the end of its word with the most probable tokens? */
static void check_completion(struct model *const *models, int n, const struct decode_source *s,
			     const int32_t *beginning, int32_t at,
			     const struct decode_alternative *a)
{
	int32_t row[CAPACITY];
	double mean[N_REAL];

	memcpy(row, beginning, (size_t)at * sizeof(*row));
	for (int32_t i = 0; i < a->n; i++) {
		row[at + i] = a->tokens[i];
		if (a->tokens[i] == TOKEN_END || !joins_next[a->tokens[i]]) {
			check_int(i, a->n - 1);
			return;
		}
		if (i < a->n - 1)
			check_int(a->tokens[i + 1], likeliest(models, n, s, row, at + i + 1, mean));
	}
	check(a->n == 33 || likeliest(models, n, s, row, at + a->n, mean) == TOKEN_END);
}

TEST(alternatives_are_what_the_models_say)
{
	static const int32_t beginning[] = { 9, 4, 10, 7, 5, 5 };
	struct model *models[2] = { sharp_model(3), sharp_model(6) };
	struct decode_options o = options(1, 1);
	struct err e = { 0 };
	int completed = 0;

	for (int n = 1; models[0] && models[1] && n <= 2; n++) {
		struct decoder *d = decoder_new_ensemble(models, n, CAPACITY, 1, &e);

		for (int i = 0; d && i < N_SOURCES - 1; i++) {
			struct decode_alternative list[DECODE_MAX_ALTERNATIVES];
			const int32_t at = i + 1 < 6 ? i + 1 : 0;
			int32_t got = i == 2 ? 20 : 5;
			double mean[N_REAL];

			check_int(decoder_alternatives(d, &o, &sources[i], beginning, at, list,
						       &got, &e),
				  0);
			check_int(got, i == 2 ? N_REAL - 3 : 5);
			for (int32_t k = 0; k < got; k++) {
				const int32_t best =
					likeliest(models, n, &sources[i], beginning, at, mean);

				check_near(list[k].log_prob, log(mean[list[k].tokens[0]]), 1e-4);
				check(k > 0 || list[k].tokens[0] == best);
				check(!k || list[k].log_prob <= list[k - 1].log_prob);
				check_completion(models, n, &sources[i], beginning, at, &list[k]);
				completed += list[k].n > 1;
			}
			decode_alternatives_free(list, got);
		}
		decoder_free(d);
	}
	check(completed > 5);
	model_free(models[0]);
	model_free(models[1]);
}
