/* t_vocabs.c - a subword model and a vocabulary for each side: names, options, shards, shortlists. */
#include "tests/test.h"

#include <stdlib.h>
#include <string.h>

#include "data/pipeline/vocabs.h"
#include "data/shard/shard.h"
#include "data/shard/shortlist.h"
#include "share/base/file.h"
#include "share/base/util.h"
#include "share/conf/text_facts.h"

#define HEADER	176
#define SOURCES 64 /* entries of the source's vocabulary, of the target's: both multiples of 8 */
#define TARGETS 40

static const char *in_folder(const char *name)
{
	static char path[4][300];
	static size_t next;
	char *p = path[next++ % 4];

	snprintf(p, sizeof(path[0]), "%s/%s", test_folder(), name);
	return p;
}

static int set_option(struct conf *c, const char *name, const char *value)
{
	struct err e;

	return conf_set(c, name, value, "command line", &e);
}

TEST(sides_have_names_and_options)
{
	struct conf c;
	struct err e = { 0 };

	check_int(conf_init(&c, &e), 0);
	check_str(text_codes_file(&c, 0), "bpe.codes");
	check_str(text_vocabulary_file(&c, 1), "vocab.tsv");
	check_int(text_subword_models(&c), 1);
	set_option(&c, "source_merges", "90");
	check_int(text_merges(&c, 0), 32000);
	check_int(text_sides_check(&c, &e), ERR_CONFIG);
	check(strstr(e.text, "source_merges is set, but both sides share one subword model") !=
	      NULL);
	set_option(&c, "vocabularies", "merged");
	check_int(text_sides_check(&c, &e), 0);
	check_int(text_subword_models(&c), 2);
	check_int(text_vocabularies(&c), 1);
	check_str(text_codes_file(&c, 0), "bpe.source.codes");
	check_str(text_vocabulary_file(&c, 0), "vocab.tsv");
	set_option(&c, "vocabularies", "separate");
	set_option(&c, "source_segmentation", "sentencepiece");
	set_option(&c, "source_tokenize", "no");
	set_option(&c, "source_vocabulary_size", "500");
	check_str(text_codes_file(&c, 0), "sentencepiece.source.model");
	check_str(text_codes_file(&c, 1), "bpe.target.codes");
	check_str(text_vocabulary_file(&c, 0), "vocab.source.tsv");
	check_str(text_vocabulary_file(&c, 1), "vocab.target.tsv");
	check_int(text_segmentation(&c, 0), SEGMENTATION_SENTENCEPIECE);
	check_int(text_segmentation(&c, 1), SEGMENTATION_BPE);
	check(!text_is_tokenized(&c, 0) && text_is_tokenized(&c, 1));
	set_option(&c, "source_segmentation", "unigram");
	check_int(text_segmentation(&c, 0), SEGMENTATION_UNIGRAM);
	check_str(text_codes_file(&c, 0), "sentencepiece.source.model");
	set_option(&c, "segmentation", "unigram");
	check_str(text_codes_file(&c, 1), "sentencepiece.target.model");
	check_int(text_merges(&c, 0), 90);
	check_int(text_merges(&c, 1), 32000);
	check_int(text_vocabulary_size(&c, 0), 500);
	check_int(text_vocabulary_size(&c, 1), 32768);
	conf_free(&c);
}

/* Does the fact with this name count? */
static bool counts(const struct conf *c, const char *name)
{
	return text_fact_counts(c, text_fact_find(name));
}

TEST(facts_of_sides_count_when_they_say_something)
{
	struct conf c;
	struct err e = { 0 };

	check_int(conf_init(&c, &e), 0);
	check(!counts(&c, "vocabularies") && !counts(&c, "source_merges"));
	check(!counts(&c, "source_tokenize") && counts(&c, "escape") && counts(&c, "merges"));
	check(!counts(&c, "vocabulary_size"));
	set_option(&c, "vocabularies", "separate");
	set_option(&c, "source_merges", "7");
	set_option(&c, "source_segmentation", "sentencepiece");
	set_option(&c, "tokenize", "no");
	check(counts(&c, "vocabularies") && counts(&c, "source_merges"));
	check(counts(&c, "vocabulary_size") && counts(&c, "merges") && !counts(&c, "escape"));
	set_option(&c, "source_tokenize", "yes");
	check(counts(&c, "escape") && counts(&c, "source_tokenize"));
	set_option(&c, "source_merges", "0");
	check(!counts(&c, "source_merges"));
	set_option(&c, "source_segmentation", "unigram");
	check(counts(&c, "vocabulary_size") && counts(&c, "merges"));
	set_option(&c, "segmentation", "unigram");
	set_option(&c, "source_segmentation", "same");
	check(counts(&c, "vocabulary_size") && !counts(&c, "merges") &&
	      !counts(&c, "min_frequency"));
	conf_free(&c);
}

TEST(sides_tie_the_tables_of_the_decoder)
{
	struct conf c;
	struct err e = { 0 };

	check_int(conf_init(&c, &e), 0);
	conf_apply_size(&c);
	check_int(c.tied_embeddings, 0);
	set_option(&c, "vocabularies", "separate");
	conf_apply_size(&c);
	check_int(c.tied_embeddings, 1); /* output */
	check_str(conf_origin(&c, "tied_embeddings"), "vocabularies separate");
	conf_free(&c);
	check_int(conf_init(&c, &e), 0);
	set_option(&c, "vocabularies", "separate");
	set_option(&c, "tied_embeddings", "none");
	conf_apply_size(&c);
	check_int(c.tied_embeddings, 3);
	conf_free(&c);
}

/* A vocabulary of n entries: the special tokens and PREFIX4, PREFIX5, …; a multiple of 8 needs no padding. */
static int write_vocabulary(const char *path, char prefix, int n)
{
	struct buf b = { 0 };
	struct err e;
	int rc;

	buf_add_str(&b, "<pad>\t0\n</s>\t0\n<s>\t0\n<unk>\t0\n");
	for (int i = 4; i < n; i++)
		buf_printf(&b, "%c%d\t%d\n", prefix, i, n - i);
	rc = file_write_all(path, b.data, b.len, &e);
	buf_free(&b);
	return rc;
}

static bool open_vocabs(struct vocabs *v, struct conf *c)
{
	struct err e = { 0 };

	check_int(conf_init(c, &e), 0);
	set_option(c, "vocabularies", "separate");
	check_int(write_vocabulary(in_folder("vocab.source.tsv"), 's', SOURCES), 0);
	check_int(write_vocabulary(in_folder("vocab.target.tsv"), 't', TARGETS), 0);
	return check_int(vocabs_open(v, test_folder(), c, &e), 0);
}

TEST(vocabs_of_each_side)
{
	struct vocabs v;
	struct conf c;
	struct err e = { 0 };
	char id[TEXT_VOCABULARY_ID];

	if (open_vocabs(&v, &c)) {
		check(vocabs_are_separate(&v));
		check_int(vocabs_own_source(&v), SOURCES);
		check_int(vocab_size(v.target), TARGETS);
		check_int((int64_t)strlen(v.id), 128);
		check(!strncmp(v.id, vocab_sha256(v.source), 64) &&
		      !strcmp(v.id + 64, vocab_sha256(v.target)));
		check_int(text_vocabulary_id(&c, test_folder(), id, &e), 0);
		check_str(id, v.id);
	}
	vocabs_close(&v);
	check_int(file_write_all(in_folder("vocab.target.tsv"), "x", 1, &e), 0);
	check(vocabs_open(&v, test_folder(), &c, &e) != 0);
	check(strstr(e.text, "vocab.target.tsv") != NULL);
	vocabs_close(&v);
	conf_free(&c);
}

/* ---- shards ---- */

static const int32_t ids_of_source[] = { 63, 4, 41 }, ids_of_target[] = { 39, 5 };

static void check_shard(const char *path, const struct vocabs *v)
{
	struct err e = { 0 };
	struct shard *s = shard_open(path, &e);
	int32_t source[3], target[2];

	if (!s) {
		test_fail(__FILE__, __LINE__, "%s", e.text);
		return;
	}
	check_int(shard_own_source_vocabulary(s), SOURCES);
	check_int(shard_vocabulary(s), TARGETS);
	check_str(shard_vocabulary_id(s), v->id);
	check_int(shard_pairs(s), 20);
	shard_read(s, 19, source, target);
	check(!memcmp(source, ids_of_source, sizeof(source)) &&
	      !memcmp(target, ids_of_target, sizeof(target)));
	shard_close(s);
}

static int write_shard(const char *path, const struct vocabs *v)
{
	struct err e = { 0 };
	struct shard_writer *w = shard_create_sides(path, v, &e);

	for (int i = 0; w && i < 20; i++)
		check_int(shard_append(w, ids_of_source, 3, ids_of_target, 2, &e), 0);
	return w ? shard_finish(w, &e) : e.code;
}

/* Correct the checksum, so that only later checks can find the damage. */
static void seal(struct buf *b)
{
	char hex[HASH_SHA256_HEX];
	struct err e;
	struct hash *h = hash_new(HASH_SHA256, &e);

	check(h && !hash_add(h, b->data + HEADER, b->len - HEADER, &e) &&
	      !hash_add(h, b->data, 112, &e) && !hash_hex(h, hex, &e));
	memcpy(b->data + 112, hex, 64);
	hash_free(h);
}

/* A damaged copy of the shard must be refused with these words. */
static void check_hostile(const struct buf *good, size_t at, size_t n, int64_t value, size_t length,
			  const char *says)
{
	struct buf b = { 0 };
	struct err e = { 0 };
	struct shard *s;

	buf_add(&b, good->data, good->len);
	memcpy(b.data + at, &value, n);
	if (length > HEADER)
		seal(&b);
	check_int(file_write_all(in_folder("bad.shard"), b.data, length, &e), 0);
	s = shard_open(in_folder("bad.shard"), &e);
	if (s || !strstr(e.text, says))
		test_fail(__FILE__, __LINE__, "at %zu: \"%s\" does not say \"%s\"", at, e.text,
			  says);
	shard_close(s);
	buf_free(&b);
}

TEST(shard_of_separate_vocabularies)
{
	struct vocabs v;
	struct conf c;
	struct err e = { 0 };
	struct shard_writer *w;
	struct buf good = { 0 };
	const int32_t too_large = TARGETS;

	if (!open_vocabs(&v, &c) || !check_int(write_shard(in_folder("a.shard"), &v), 0))
		goto out;
	check_shard(in_folder("a.shard"), &v);
	w = shard_create_sides(in_folder("b.shard"), &v, &e);
	check_int(shard_append(w, &too_large, 1, &too_large, 1, &e), ERR_DATA);
	check(strstr(e.text, "target id 40 is not in the vocabulary of 40 entries") != NULL);
	shard_cancel(w);
	if (!check_int(file_read_all(in_folder("a.shard"), 0, &good, &e), 0))
		goto out;
	check_int(good.data[12], 3);
	check_hostile(&good, 240, 4, 0, good.len, "a vocabulary of 0 entries");
	check_hostile(&good, 240, 4, 1 << 20, good.len, "ids of 2");
	check_hostile(&good, 240, 4, SOURCES - 1, good.len, "has id 63, the vocabulary has 63");
	check_hostile(&good, 40, 4, TARGETS - 1, good.len, "has id 39, the vocabulary has 39");
	check_hostile(&good, 12, 4, 2, good.len, "another length");
	check_hostile(&good, 12, 4, 4, good.len, "shard version 4");
	check_hostile(&good, 12, 4, 3, 200, "is the file cut off?");
	check_hostile(&good, 180, 1, 'x', HEADER, "damaged");
out:
	buf_free(&good);
	vocabs_close(&v);
	conf_free(&c);
}

TEST(shard_of_a_joint_vocabulary_stays_version_2)
{
	struct vocabs v;
	struct conf c;
	struct err e = { 0 };
	struct buf joint = { 0 }, sides = { 0 };
	struct shard_writer *w;

	check_int(conf_init(&c, &e), 0);
	check_int(write_vocabulary(in_folder("vocab.tsv"), 'j', SOURCES), 0);
	if (check_int(vocabs_open(&v, test_folder(), &c, &e), 0) &&
	    check_int(write_shard(in_folder("sides.shard"), &v), 0)) {
		w = shard_create(in_folder("joint.shard"), SOURCES, v.id, &e);
		for (int i = 0; i < 20; i++)
			check_int(shard_append(w, ids_of_source, 3, ids_of_target, 2, &e), 0);
		check_int(shard_finish(w, &e), 0);
		check(!file_read_all(in_folder("sides.shard"), 0, &sides, &e) &&
		      !file_read_all(in_folder("joint.shard"), 0, &joint, &e));
		check(sides.len == joint.len && !memcmp(sides.data, joint.data, joint.len));
		check_int(joint.data[12], 2);
	}
	buf_free(&joint);
	buf_free(&sides);
	vocabs_close(&v);
	conf_free(&c);
}

/* ---- shortlists ---- */

/* Word i of the source is translated by word TARGETS + 3 - i of the target, so equal ids mean nothing. */
#define WORDS 30
static int write_translations(const char *path, const struct vocabs *v)
{
	struct err e = { 0 };
	struct shard_writer *w = shard_create_sides(path, v, &e);
	uint32_t state = 7;

	for (int i = 0; w && i < 600; i++) {
		int32_t source[5], target[5];

		for (int k = 0; k < 5; k++) {
			state = state * 1664525u + 1013904223u;
			source[k] = 4 + (int32_t)(state >> 16) % WORDS;
			target[4 - k] = TARGETS + 3 - source[k];
		}
		check_int(shard_append(w, source, 5, target, 5, &e), 0);
	}
	return w ? shard_finish(w, &e) : e.code;
}

TEST(shard_and_shortlist_of_the_fuzzer)
{
	char path[600], id[TEXT_VOCABULARY_ID];
	struct err e = { 0 };
	struct shard *s;
	struct shortlist *l;
	const char *srcdir = getenv("srcdir");

	srcdir = srcdir ? srcdir : ".";
	snprintf(path, sizeof(path), "%s/tests/fuzz/corpus/shard/sides", srcdir);
	s = shard_open(path, &e);
	if (check(s != NULL)) {
		check_int(shard_own_source_vocabulary(s), 16);
		snprintf(id, sizeof(id), "%s", shard_vocabulary_id(s));
		snprintf(path, sizeof(path), "%s/tests/fuzz/corpus/shortlist/sides", srcdir);
		l = shortlist_open(path, 8, id, &e);
		check(l != NULL);
		shortlist_close(l);
	}
	shard_close(s);
}

TEST(shortlist_of_separate_vocabularies)
{
	const struct shortlist_options how = { 1, 2, 600, 6 };
	struct vocabs v;
	struct conf c;
	struct err e = { 0 };
	struct shortlist *s = NULL;
	struct shard *shard = NULL;
	int32_t n;

	if (!open_vocabs(&v, &c) || !check_int(write_translations(in_folder("t.shard"), &v), 0) ||
	    !check((shard = shard_open(in_folder("t.shard"), &e)) != NULL))
		goto out;
	check_int(shortlist_learn(shard, &how, in_folder("list"), &e), 0);
	s = shortlist_open(in_folder("list"), TARGETS, v.id, &e);
	if (!check(s != NULL))
		goto out;
	for (int32_t i = 4; i < 4 + WORDS; i++) {
		const int32_t *ids = shortlist_of_token(s, i, &n);

		check(n == 1 && ids[0] == TARGETS + 3 - i);
	}
	shortlist_of_token(s, SOURCES - 1, &n);
	check_int(n, 0);
	shortlist_of_token(s, SOURCES + 100, &n); /* beyond the source's vocabulary */
	check_int(n, 0);
	check(!shortlist_open(in_folder("list"), TARGETS, v.id + 64, &e));
	check_int(e.code, ERR_DATA);
	check(!shortlist_open(in_folder("list"), TARGETS + 8, v.id, &e));
	check_int(e.code, ERR_DATA);
out:
	shortlist_close(s);
	shard_close(shard);
	vocabs_close(&v);
	conf_free(&c);
}
