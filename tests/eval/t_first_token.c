/* t_first_token.c - a first token of each translation is a prefix that results lack and that costs nothing */
#include "tests/train/sharp_model.h"

#include <string.h>

#include "data/pipeline/pipeline.h"
#include "share/base/file.h"
#include "share/base/util.h"

#define FIRST 9

static const int32_t prefix[] = { FIRST, 6 };

static struct decode_options options(int32_t beam, bool sample)
{
	return (struct decode_options){
		.beam = beam,
		.n_best = beam > 2 ? 3 : 1,
		.alpha = 0, /* else the cost of the first token counts in the order */
		.max_length_factor = 1.0,
		.max_length_extra = 6,
		.decode_tokens = 128,
		.sample = sample,
		.temperature = 1,
		.top_p = 1,
		.alignments = true,
		.token_scores = true,
		.seed = 7
	};
}

/* The translations of all sources after the first n tokens of prefix, of which `first` is set as the first token. */
static void run(struct model *m, struct decode_options o, int32_t n, bool first,
		struct decode_result r[N_SOURCES])
{
	struct decode_constraint all[N_SOURCES];
	struct err e = { 0 };
	struct decoder *d = decoder_new(m, CAPACITY, 1, &e);

	for (int i = 0; i < N_SOURCES; i++)
		all[i] = (struct decode_constraint){ .number = (uint64_t)i,
						     .prefix = prefix + first,
						     .n_prefix = n - first };
	if (n > first || o.sample) /* without constraints: the rows have the best tokens only */
		o.constraints = all;
	decoder_set_first_token(d, first ? FIRST : TOKEN_PAD);
	check_int(decoder_run(d, &o, sources, N_SOURCES, r, &e), 0);
	decoder_free(d);
}

static void check_same(const struct decode_hypothesis *x, const struct decode_hypothesis *y)
{
	check_int(x->n + 1, y->n);
	check_int(y->tokens[0], FIRST);
	for (int32_t i = 0; i < x->n && x->n + 1 == y->n; i++) {
		check_int(x->tokens[i], y->tokens[i + 1]);
		check_int(x->aligned[i], y->aligned[i + 1]);
		check_near((double)x->log_probs[i], (double)y->log_probs[i + 1], 1e-5);
	}
	check_near(x->log_prob, y->log_prob - (double)y->log_probs[0], 1e-5);
	check(x->finished == y->finished);
}

TEST(first_token_is_a_prefix_without_cost)
{
	static const int32_t beams[] = { 1, 2, 4, 16 };
	struct model *m = sharp_model(3);

	for (size_t k = 0; m && k < 4 * ARRAY_LEN(beams); k++) {
		const struct decode_options o = options(beams[k / 4], k & 1);
		const int32_t n = 1 + (k >> 1 & 1);
		struct decode_result with[N_SOURCES], without[N_SOURCES];

		run(m, o, n, true, with);
		run(m, o, n, false, without);
		for (int i = 0; i < N_SOURCES; i++) {
			check_int(with[i].n, without[i].n);
			for (int32_t h = 0; h < with[i].n; h++)
				check_same(&with[i].hypotheses[h], &without[i].hypotheses[h]);
		}
		decode_results_free(with, N_SOURCES);
		decode_results_free(without, N_SOURCES);
	}
	model_free(m);
}

/* Suggestions and attention read the first token before the tokens of a result. */
TEST(first_token_precedes_results)
{
	struct model *m = sharp_model(5);
	struct err e = { 0 };
	struct decoder *d = m ? decoder_new(m, CAPACITY, 1, &e) : NULL;
	static const bool starts_word[N_REAL] = { [4] = true, [5] = true };
	const struct decode_options o = { .starts_word = starts_word };
	int32_t whole[] = { FIRST, 4, 8, 10 };
	struct decode_hypothesis x = { .tokens = whole, .n = 4 },
				 y = { .tokens = whole + 1, .n = 3 };
	struct decode_alternative a[2][5];
	struct decode_attention maps[2] = { { .layer = 1, .head = 1 }, { .layer = 1, .head = 1 } };
	int32_t n[2] = { 5, 5 };

	if (!check(d != NULL))
		return;
	for (int i = 0; i < 2; i++) {
		const struct decode_result r = { .hypotheses = i ? &y : &x, .n = 1 };

		decoder_set_first_token(d, i ? FIRST : TOKEN_PAD);
		check_int(
			decoder_alternatives(d, &o, &sources[1], whole + i, 4 - i, a[i], &n[i], &e),
			0);
		check_int(decoder_attention(d, &sources[1], &r, &maps[i], &e), 0);
	}
	check_int(n[0], n[1]);
	for (int k = 0; k < n[0] && n[0] == n[1]; k++) {
		check_near(a[0][k].log_prob, a[1][k].log_prob, 1e-6);
		check_int(a[0][k].n, a[1][k].n);
		check(!memcmp(a[0][k].tokens, a[1][k].tokens, (size_t)a[0][k].n * sizeof(int32_t)));
	}
	for (int32_t k = 0; k < 3 * maps[0].n_source; k++)
		check_near((double)maps[0].weights[maps[0].n_source + k],
			   (double)maps[1].weights[k], 1e-6);
	for (int i = 0; i < 2; i++) {
		decode_alternatives_free(a[i], n[i]);
		free(maps[i].weights);
	}
	decoder_free(d);
	model_free(m);
}

static void write_file(const char *name, const char *text)
{
	struct err e = { 0 };
	char *path = file_path(&e, "%s/%s", test_folder(), name);

	check_int(file_write_all(path, text, strlen(text), &e), 0);
	free(path);
}

TEST(pipeline_begins_with_first_tokens)
{
	struct conf c;
	struct err e = { 0 };
	struct pipeline *p;
	struct buf out = { 0 };
	int32_t *ids = NULL;
	size_t n = 0, cap = 0;

	check_int(conf_init(&c, &e), 0);
	c.tokenize = false;
	write_file("bpe.codes", "#version: 0.2\na b\n");
	write_file("vocab.tsv",
		   "<pad>\t0\n</s>\t0\n<s>\t0\n<unk>\t0\na\t9\nb\t8\n__de__\t0\na@@\t6\n");
	check_int(conf_set(&c, "source_first_token", "<s>", "test", &e), 0);
	check_int(conf_set(&c, "target_first_token", "__de__", "test", &e), 0);
	p = pipeline_open(test_folder(), &c, &e);
	if (!check(p != NULL))
		return;
	check_int(pipeline_encode(p, SIDE_SOURCE, "a b", 3, &ids, &n, &cap, &e), 0);
	check_int(pipeline_encode(p, SIDE_TARGET, "b", 1, &ids, &n, &cap, &e), 0);
	check_int(pipeline_encode_part(p, SIDE_TARGET, "b", 1, &ids, &n, &cap, &e), 0);
	check_int((int64_t)n, 6);
	check(n == 6 && ids[0] == TOKEN_START && ids[1] == 4 && ids[2] == 5 && ids[3] == 6 &&
	      ids[4] == 5 && ids[5] == 5);
	check_int(pipeline_decode(p, SIDE_TARGET, ids + 3, 2, &out, &e), 0);
	check_str(buf_text(&out), "b");
	pipeline_close(p);
	check_int(conf_set(&c, "target_first_token", "__fr__", "test", &e), 0);
	p = pipeline_open(test_folder(), &c, &e);
	check(!p && e.code == ERR_DATA);
	check(strstr(e.text, "vocab.tsv: the token \"__fr__\" of the option target_first_token is "
			     "missing") != NULL);
	buf_free(&out);
	free(ids);
	conf_free(&c);
}
