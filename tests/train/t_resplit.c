/* t_resplit.c - runs with new splits in each epoch, BPE-dropout and unigram sampling, resume bit by bit */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "share/base/file.h"
#include "share/base/util.h"
#include "share/format/proto.h"
#include "tests/train/small_run.h"

/* A corpus with BPE codes that build its words from letters; the vocabulary has both. */
static bool make_corpus_with_codes(void)
{
	static const char *const more[] = { "w@@", "0@@", "1@@", "2@@", "3@@" };
	struct err e = { 0 };
	struct buf text = { 0 };
	int rc;

	buf_add_str(&text, "#version: 0.2\n");
	for (int i = 0; i < 4; i++)
		buf_printf(&text, "w %d\n", i);
	for (int i = 0; i < PIECES; i++)
		if (i < 10)
			buf_printf(&text, "w %d</w>\n", i);
		else
			buf_printf(&text, "w%d %d</w>\n", i / 10, i % 10);
	rc = -1;
	if (make_corpus())
		rc = file_write_all(at("corpora/c/bpe.codes"), text.data, text.len, &e);
	buf_clear(&text);
	if (!rc)
		rc = file_read_all(at("corpora/c/vocab.tsv"), 0, &text, &e);
	/* letters follow the words, so the ids of the shard do not change */
	buf_truncate(&text, (size_t)(strstr(buf_text(&text), "<unused0>") - buf_text(&text)));
	for (size_t i = 0; i < ARRAY_LEN(more); i++)
		buf_printf(&text, "%s\t1\n", more[i]);
	for (int i = 0; i < 10; i++)
		buf_printf(&text, "%d\t1\n", i);
	for (int i = 0; (N_SPECIAL_TOKENS + PIECES + 15 + i) % 8; i++)
		buf_printf(&text, "<unused%d>\t0\n", i);
	if (!rc)
		rc = file_write_all(at("corpora/c/vocab.tsv"), text.data, text.len, &e);
	buf_free(&text);
	return check_err(rc, 0) && make_shard();
}

/* The pieces of the vocabulary as a unigram model, in which pieces "w" and digits build its words. */
static bool make_corpus_with_unigram(void)
{
	struct err e = { 0 };
	struct buf text = { 0 }, model = { 0 }, part = { 0 };
	const char *line, *end;

	if (!make_corpus_with_codes() || file_read_all(at("corpora/c/vocab.tsv"), 0, &text, &e))
		return false;
	for (line = buf_text(&text); *line; line = end + 1) {
		size_t n = strcspn(line, "\t");

		end = strchr(line, '\n');
		proto_put_bytes(&part, 1, line, n);
		proto_put_float(&part, 2, -(float)n);
		if (*line == '<')
			proto_put_varint(&part, 3, n == 5 && line[1] == 'u' ? 2 : 3);
		proto_put_message(&model, 1, &part);
	}
	proto_put_bytes(&part, 1, "w", 1);
	proto_put_float(&part, 2, -1);
	proto_put_message(&model, 1, &part);
	proto_put_varint(&part, 3, 1);
	proto_put_message(&model, 2, &part);
	check_err(file_write_all(at("corpora/c/sentencepiece.model"), model.data, model.len, &e),
		  0);
	buf_free(&text);
	buf_free(&model);
	return true;
}

static void check_resplit_resumes(const char *option, const char *segmentation)
{
	static const char *const runs[] = { "plain", "straight", "parts" };
	struct conf c[3];
	char *x, *y;

	for (int i = 0; i < 3; i++) {
		if (!make_conf(&c[i], runs[i]))
			return;
		set(&c[i], "segmentation", segmentation);
		set(&c[i], option, i ? "0.3" : "0");
	}
	trains(&c[0]);
	trains(&c[1]);
	for (int steps = 7; steps <= 30; steps += 23) {
		char number[12];

		snprintf(number, sizeof(number), "%d", steps);
		set(&c[2], "steps", number);
		trains(&c[2]);
	}
	check_same_run("straight", "parts", 30);
	x = print_of("straight", 30);
	y = print_of("plain", 30);
	check(strcmp(x, y) != 0);
	free(x);
	free(y);
	for (int i = 0; i < 3; i++)
		conf_free(&c[i]);
}

TEST(train_with_bpe_dropout_resumes_bit_by_bit)
{
	if (make_corpus_with_codes())
		check_resplit_resumes("bpe_dropout", "bpe");
}

TEST(train_with_unigram_sampling_resumes_bit_by_bit)
{
	if (make_corpus_with_unigram())
		check_resplit_resumes("unigram_sampling", "unigram");
}
