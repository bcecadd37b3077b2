/* t_bpe_dropout.c - BPE dropout: the distribution of splits, and batches of the loader that uses it */
#include "tests/test.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "data/pipeline/pipeline.h"
#include "data/pipeline/resplit.h"
#include "data/shard/loader.h"
#include "data/subword/bpe.h"
#include "data/subword/bpe_codes.h"
#include "share/base/file.h"
#include "share/base/lines.h"
#include "share/base/mem.h"
#include "share/base/rng.h"
#include "share/base/text.h"

#define SHA "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"

static const char *in_folder(const char *name)
{
	static char path[300];

	snprintf(path, sizeof(path), "%s/%s", test_folder(), name);
	return path;
}

/* Both ways to split a sentence: bpe without dropout, dropout with it. */
struct bpe_splitter {
	struct conf c;
	struct bpe *bpe;
	struct vocab *vocab;
	struct resplit *dropout;
};

static void splitter_close(struct bpe_splitter *s)
{
	resplit_close(s->dropout);
	vocab_close(s->vocab);
	bpe_close(s->bpe);
	conf_free(&s->c);
}

/* Write vocab.tsv with every symbol of the codes and every character of the text as a piece. */
static int write_full_vocabulary(const char *codes, const char *text, struct err *e)
{
	struct bpe_codes c = { 0 };
	struct vocab_counter *v = vocab_counter_new(e);
	struct buf piece = { 0 };
	int rc = v ? bpe_codes_read(&c, codes, e) : e->code;

	for (int32_t i = 0; !rc && i < c.symbols.n; i++) {
		size_t n;
		const char *symbol = intern_text(&c.symbols, i, &n);

		buf_clear(&piece);
		buf_add(&piece, symbol, n);
		if (n > 4 && !memcmp(symbol + n - 4, "</w>", 4))
			buf_truncate(&piece, n - 4);
		else
			buf_add_str(&piece, "@@");
		rc = vocab_count(v, piece.data, piece.len, 1, e);
	}
	for (size_t i = 0, n; !rc && text[i]; i += n) {
		for (n = 1; (text[i + n] & 0xC0) == 0x80; n++)
			;
		buf_clear(&piece);
		buf_add(&piece, text + i, n);
		if (text[i] == ' ' || text[i] == '\n')
			continue;
		rc = vocab_count(v, piece.data, piece.len, 1, e);
		buf_add_str(&piece, "@@");
		if (!rc)
			rc = vocab_count(v, piece.data, piece.len, 1, e);
	}
	if (!rc)
		rc = vocab_write(v, in_folder("vocab.tsv"), e);
	vocab_counter_free(v);
	bpe_codes_free(&c);
	buf_free(&piece);
	return rc;
}

/* Open bpe.codes and vocab.tsv of the test's folder; p: probability that a merge is skipped. */
static bool splitter_open(struct bpe_splitter *s, double p)
{
	struct err e = { 0 };

	*s = (struct bpe_splitter){ 0 };
	if (!conf_init(&s->c, &e)) {
		s->c.bpe_dropout = p;
		s->c.seed = 11;
		s->bpe = bpe_open(in_folder("bpe.codes"), &e);
		s->vocab = vocab_open(in_folder("vocab.tsv"), &e);
		if (s->bpe && s->vocab)
			s->dropout = resplit_open(test_folder(), &s->c, 0, s->vocab, &e);
	}
	if (!s->dropout)
		test_fail(__FILE__, __LINE__, "%s", e.text);
	return s->dropout != NULL;
}

/* Ids of a line as bpe_apply_line() splits it, without dropout; the caller frees them. */
static int32_t *ids_without_dropout(struct bpe_splitter *s, const char *line, size_t n,
				    size_t *n_ids)
{
	struct buf pieces = { 0 };
	int32_t *ids = NULL;
	size_t cap = 0;
	struct err e;

	*n_ids = 0;
	check_int(bpe_apply_line(s->bpe, line, n, &pieces, &e), 0);
	check_int(pipeline_pieces_to_ids(s->vocab, buf_text(&pieces), pieces.len, &ids, n_ids, &cap,
					 &e),
		  0);
	buf_free(&pieces);
	return ids;
}

/* ---- the same distribution as subword-nmt ---- */

#define ROUNDS	 12
#define LENGTHS	 12 /* classes of words by number of pieces; the last one is 11 or more */
#define MAX_LINE 1000

struct tally {
	double pieces, changed; /* changed: words whose pieces differ from those without dropout */
	double lengths[LENGTHS];
};

static void tally_sentence(struct bpe_splitter *s, const int32_t *ids, int32_t n,
			   const int32_t *usual, int32_t n_usual, struct tally *t)
{
	int32_t k = 0;

	for (int32_t i = 0, end; i < n; i = end) {
		int32_t start = k, length;

		for (end = i; strstr(vocab_piece(s->vocab, ids[end]), "@@"); end++)
			;
		while (k < n_usual && strstr(vocab_piece(s->vocab, usual[k]), "@@"))
			k++;
		end++;
		k++;
		length = end - i;
		t->pieces += length;
		t->lengths[MIN(length, LENGTHS - 1)]++;
		t->changed += length != k - start ||
			      memcmp(ids + i, usual + start, (size_t)length * sizeof(*ids));
	}
}

static void tally_text(struct bpe_splitter *s, const struct buf *text, struct tally *t)
{
	struct resplit_key place = { 0 };
	int32_t *out = NULL;
	size_t n_out, cap = 0, n_usual;
	struct err e;

	for (const char *at = text->data; *at; at += strcspn(at, "\n") + 1, place.pair++) {
		int32_t *usual = ids_without_dropout(s, at, strcspn(at, "\n"), &n_usual);

		for (place.epoch = 0; place.epoch < ROUNDS; place.epoch++) {
			n_out = 0;
			check_int(resplit_sentence(s->dropout, &place, usual, (int32_t)n_usual,
						   &out, &n_out, &cap, &e),
				  0);
			tally_sentence(s, out, (int32_t)n_out, usual, (int32_t)n_usual, t);
		}
		free(usual);
	}
	free(out);
}

/* Tallies of subword-nmt 0.3.8 for the same text and codes, means of twelve seeds. */
static const struct peer {
	const char *text;
	double p, pieces, changed, lengths[LENGTHS];
} peers[] = {
	{ "mixed/valid.en",
	  0.1,
	  18077.4,
	  2058.2,
	  { 0, 6638.7, 1890.2, 1478.8, 599.3, 137.9, 19.5, 2.2, 0.2, 0.1, 0.0, 0.0 } },
	{ "mixed/valid.de",
	  0.1,
	  18748.9,
	  2382.7,
	  { 0, 6343.5, 2131.8, 1502.7, 616.7, 165.9, 37.2, 10.2, 3.2, 1.7, 0.2, 0.1 } },
	{ "mixed/valid.en",
	  0.5,
	  28945.8,
	  7703.8,
	  { 0, 2409.7, 3092.5, 2582.2, 1492.8, 725.8, 308.5, 107.0, 35.2, 10.3, 2.3, 0.5 } },
	{ "mixed/valid.de",
	  0.5,
	  32390.5,
	  8712.2,
	  { 0, 1652.8, 3031.3, 2867.3, 1604.0, 884.1, 428.8, 196.8, 85.5, 37.1, 15.2, 10.1 } },
};

static void compare_with(const struct peer *peer, const struct buf *text)
{
	struct bpe_splitter s;
	struct tally t = { 0 };

	if (splitter_open(&s, peer->p)) {
		tally_text(&s, text, &t);
		/* one round has a standard deviation of at most 90 and 60; tolerance: five of the mean */
		check_near(t.pieces / ROUNDS, peer->pieces, 5 * 90 * sqrt(2.0 / ROUNDS));
		check_near(t.changed / ROUNDS, peer->changed, 5 * 60 * sqrt(2.0 / ROUNDS));
		for (int i = 1; i < LENGTHS; i++)
			check_near(t.lengths[i] / ROUNDS, peer->lengths[i],
				   5 * sqrt((peer->lengths[i] + 3) * 2.0 / ROUNDS));
	}
	splitter_close(&s);
}

TEST(bpe_dropout_equals_subword_nmt)
{
	const char *codes = test_data("bpe/codes.mixed.32000");
	struct buf text = { 0 };
	struct err e = { 0 };

	if (!codes || !check_int(file_copy(codes, in_folder("bpe.codes"), &e), 0))
		return;
	for (size_t i = 0; i < ARRAY_LEN(peers); i++) {
		buf_clear(&text);
		if (file_read_all(test_data(peers[i].text), 0, &text, &e) ||
		    write_full_vocabulary(in_folder("bpe.codes"), buf_text(&text), &e))
			test_fail(__FILE__, __LINE__, "%s", e.text);
		else
			compare_with(&peers[i], &text);
	}
	buf_free(&text);
}

/* ---- small codes ---- */

static const char small_codes[] = "#version: 0.2\n"
				  "a b\nab c</w>\nab ab\nx x\nd e\nde f\ndef g</w>\n";

/* Write the small codes and a vocabulary of exactly these pieces, and open both. */
static bool small_open(struct bpe_splitter *s, double p, const char *pieces)
{
	struct err e = { 0 };
	struct vocab_counter *v = vocab_counter_new(&e);

	check_int(file_write_all(in_folder("bpe.codes"), small_codes, sizeof(small_codes) - 1, &e),
		  0);
	for (size_t n; *pieces; pieces += n + (pieces[n] == ' ')) {
		n = strcspn(pieces, " ");
		check_int(vocab_count(v, pieces, n, 1, &e), 0);
	}
	check_int(vocab_write(v, in_folder("vocab.tsv"), &e), 0);
	vocab_counter_free(v);
	return splitter_open(s, p);
}

/* Split a sentence (pieces with blanks between) anew as in this epoch. */
static const char *split(struct bpe_splitter *s, const char *pieces, uint32_t epoch)
{
	static char out_text[200];
	struct resplit_key place = { 3, epoch, 0 };
	struct buf text = { 0 };
	int32_t *ids = NULL, *out = NULL;
	size_t n = 0, cap = 0, n_out = 0, cap_out = 0;
	struct err e;

	check_int(pipeline_pieces_to_ids(s->vocab, pieces, strlen(pieces), &ids, &n, &cap, &e), 0);
	check_int(resplit_sentence(s->dropout, &place, ids, (int32_t)n, &out, &n_out, &cap_out, &e),
		  0);
	for (size_t i = 0; i < n_out; i++) {
		if (i)
			buf_add_char(&text, ' ');
		buf_add_str(&text, vocab_piece(s->vocab, out[i]));
	}
	free(ids);
	free(out);
	snprintf(out_text, sizeof(out_text), "%s", buf_text(&text));
	buf_free(&text);
	return out_text;
}

#define LETTERS "a@@ b@@ c@@ d@@ e@@ f@@ x@@ a b c d e f g x "

TEST(bpe_dropout_reaches_every_split)
{
	/* shares of the splits of "abc" (two merges) at 0.5, from the algorithm of Provilkov */
	static const struct {
		const char *pieces;
		double share;
	} ways[] = {
		{ "abc", 0.25 },    /* both merges done */
		{ "ab@@ c", 0.25 }, /* "a b" merged, then "ab c" skipped: no merge is left */
		{ "a@@ b@@ c", 0.5 },
	};
	struct bpe_splitter s;
	int counts[ARRAY_LEN(ways)] = { 0 }, other = 0;

	if (small_open(&s, 0.5, LETTERS "ab@@ abc"))
		for (uint32_t epoch = 0; epoch < 4000; epoch++) {
			const char *got = split(&s, "abc", epoch);
			size_t i = 0;

			while (i < ARRAY_LEN(ways) && strcmp(ways[i].pieces, got) != 0)
				i++;
			if (i < ARRAY_LEN(ways))
				counts[i]++;
			else
				other++;
		}
	for (size_t i = 0; i < ARRAY_LEN(ways); i++)
		check_near(counts[i], 4000 * ways[i].share,
			   5 * sqrt(4000 * ways[i].share * (1 - ways[i].share)));
	check_int(other, 0);
	splitter_close(&s);
}

TEST(bpe_dropout_keeps_unknown_pieces)
{
	struct bpe_splitter s;
	int n_undone = 0;

	/* "ab@@" is not in the vocabulary, so it is undone; "g" is not either: "defg" stays */
	if (small_open(&s, 0.5, "a@@ b@@ c abc d@@ e@@ f@@ de@@ def@@ defg @@ q")) {
		for (uint32_t epoch = 0; epoch < 200; epoch++) {
			const char *got = split(&s, "abc", epoch);

			n_undone += strcmp(got, "a@@ b@@ c") == 0;
			check(!strcmp(got, "abc") || !strcmp(got, "a@@ b@@ c"));
			check_str(split(&s, "defg", epoch), "defg");
			/* an unknown piece, a word that equals the mark "@@", pieces that no merges give */
			check_str(split(&s, "<unk> q @@ defg", epoch), "<unk> q @@ defg");
			check_str(split(&s, "d@@ e@@ abc", epoch), "d@@ e@@ abc");
			check_str(split(&s, "a@@ b@@ <unk>", epoch), "a@@ b@@ <unk>");
		}
		check(n_undone > 100 && n_undone < 190);
	}
	splitter_close(&s);
	/* with probability 0, nothing changes */
	if (small_open(&s, 0, LETTERS "ab@@ abc abab@@"))
		for (uint32_t epoch = 0; epoch < 50; epoch++)
			check_str(split(&s, "abc abab@@ a x@@ x abc", epoch),
				  "abc abab@@ a x@@ x abc");
	splitter_close(&s);
}

TEST(bpe_dropout_of_sentencepiece)
{
	/* the order of ids is the order of merges: ab, ▁ab, ▁abc; "a c" is no merge */
	static const char vocab[] = "<pad>\t0\n</s>\t0\n<s>\t0\n<unk>\t0\n"
				    "ab\t1\n▁ab\t1\n▁abc\t1\n▁\t1\na\t1\nb\t1\nc\t1\n"
				    "<unused0>\t0\n<unused1>\t0\n<unused2>\t0\n<unused3>\t0\n"
				    "<unused4>\t0\n";
	static const struct {
		const char *pieces;
		double share;
	} ways[] = {
		{ "▁abc", 0.125 },
		{ "▁ab c", 0.125 },
		{ "▁ ab c", 0.25 },
		{ "▁ a b c", 0.5 },
	};
	struct bpe_splitter s = { 0 };
	struct err e = { 0 };
	int counts[ARRAY_LEN(ways)] = { 0 }, other = 0;

	if (!check_int(file_write_all(in_folder("vocab.tsv"), vocab, strlen(vocab), &e), 0) ||
	    conf_init(&s.c, &e))
		return;
	s.c.bpe_dropout = 0.5;
	s.c.segmentation = SEGMENTATION_SENTENCEPIECE;
	s.vocab = vocab_open(in_folder("vocab.tsv"), &e);
	s.dropout = s.vocab ? resplit_open(test_folder(), &s.c, 0, s.vocab, &e) : NULL;
	for (uint32_t epoch = 0; check(s.dropout != NULL) && epoch < 4000; epoch++) {
		const char *got = split(&s, "▁abc", epoch);
		size_t i = 0;

		while (i < ARRAY_LEN(ways) && strcmp(ways[i].pieces, got) != 0)
			i++;
		if (i < ARRAY_LEN(ways))
			counts[i]++;
		else
			other++;
		/* each word is split on its own; a word with <unk> stays as it is */
		got = split(&s, "▁abc ▁abc <unk>", epoch);
		check(text_ends_with(got, " ▁abc <unk>"));
	}
	for (size_t i = 0; i < ARRAY_LEN(ways); i++)
		check_near(counts[i], 4000 * ways[i].share,
			   5 * sqrt(4000 * ways[i].share * (1 - ways[i].share)));
	check_int(other, 0);
	splitter_close(&s);
}

/* ---- the loader ---- */

#define PAIRS 4000

/* Write and open a shard of random sentences of seven words, in the vocabulary of s. */
static struct shard *make_shard(struct bpe_splitter *s, int64_t pairs)
{
	static const char *const words[] = { "abc",   "abab@@ abc", "a",   "defg",
					     "x@@ x", "ab@@ x",	    "defg" };
	struct rng_key key = rng_key_make(4, RNG_TEST, 0, 0);
	struct err e = { 0 };
	struct shard_writer *w = shard_create(in_folder("d.shard"), vocab_size(s->vocab), SHA, &e);
	int32_t *ids[2] = { 0 };
	size_t n[2], cap[2] = { 0 };
	bool good = w != NULL;

	for (int64_t i = 0; good && i < pairs; i++) {
		for (int side = 0; side < 2; side++) {
			uint32_t r = rng_u32(key, (uint64_t)(2 * i + side)), length = r % 17;

			n[side] = 0;
			for (uint32_t k = 0; k < length; k++) {
				const char *word = words[(r >> (k + 5)) % ARRAY_LEN(words)];

				good = !pipeline_pieces_to_ids(s->vocab, word, strlen(word),
							       &ids[side], &n[side], &cap[side],
							       &e);
			}
		}
		good = good && !shard_append(w, ids[0], (int32_t)n[0], ids[1], (int32_t)n[1], &e);
	}
	free(ids[0]);
	free(ids[1]);
	if (good && !shard_finish(w, &e))
		return shard_open(in_folder("d.shard"), &e);
	test_fail(__FILE__, __LINE__, "%s", e.text);
	return NULL;
}

struct fixture {
	struct bpe_splitter s;
	struct shard *shard;
	struct batch batch;
	struct loader_options o;
};

static bool fixture_open(struct fixture *f, double p, int32_t batch_tokens)
{
	struct err e;

	*f = (struct fixture){ 0 };
	if (!small_open(&f->s, p, LETTERS "ab@@ abc abab@@ de@@ def@@ defg ab"))
		return false;
	f->shard = make_shard(&f->s, PAIRS);
	f->o = (struct loader_options){ 3, batch_tokens, 0, 1, f->s.dropout, NULL, NULL };
	return f->shard && !batch_alloc(&f->batch, batch_tokens, batch_tokens, &e);
}

static void fixture_close(struct fixture *f)
{
	batch_free(&f->batch);
	shard_close(f->shard);
	splitter_close(&f->s);
}

static uint64_t hash_of(const struct batch *b)
{
	uint64_t h = hash_bytes(b->pair, (size_t)b->n * sizeof(*b->pair));

	h = h * 31 + hash_bytes(b->source, (size_t)b->n_source * sizeof(*b->source));
	return h * 31 + hash_bytes(b->target_in, (size_t)b->n_target * sizeof(*b->target_in));
}

/* Append the words of a row of ids, its pieces joined. */
static void add_text(const struct fixture *f, const int32_t *ids, int32_t n, struct buf *out)
{
	for (int32_t i = 0; i < n; i++) {
		const char *piece = vocab_piece(f->s.vocab, ids[i]);
		size_t len = strlen(piece);
		bool is_inner = len > 2 && !strcmp(piece + len - 2, "@@");

		buf_add(out, piece, is_inner ? len - 2 : len);
		buf_add_str(out, is_inner ? "" : " ");
	}
}

static void check_same_words(const struct fixture *f, const int32_t *a, int32_t n_a,
			     const int32_t *b, int32_t n_b)
{
	struct buf x = { 0 }, y = { 0 };

	add_text(f, a, n_a, &x);
	add_text(f, b, n_b, &y);
	check_str(buf_text(&x), buf_text(&y));
	buf_free(&x);
	buf_free(&y);
}

TEST(bpe_dropout_keeps_words_and_batch_limit)
{
	struct fixture f;
	struct loader *l = NULL;
	struct err e = { 0 };
	int64_t sentences = 0, batches = 0, tokens = 0, as_stored = 0, usual = 0, most = 0;
	int32_t source[200], target[200], n_source, n_target;

	if (!fixture_open(&f, 0.1, 300) || !check((l = loader_new(f.shard, &f.o, &e)) != NULL))
		goto out;
	for (; sentences < 2 * PAIRS; batches++) {
		const struct batch *b = &f.batch;

		if (!check_int(loader_next(l, &f.batch, &e), 0))
			break;
		check(b->n_source <= 300 && b->n_target <= 300);
		for (int32_t i = 0; i < b->n; i++) {
			int32_t at = b->source_start[i], n = b->source_start[i + 1] - at - 1;

			shard_lengths(f.shard, b->pair[i], &n_source, &n_target);
			shard_read(f.shard, b->pair[i], source, target);
			check_same_words(&f, b->source + at, n, source, n_source);
			check(n <= shard_longest(f.shard));
			usual += n_source;
			as_stored += n == n_source &&
				     !memcmp(b->source + at, source, (size_t)n * sizeof(*source));
			at = b->target_start[i] + 1;
			n = b->target_start[i + 1] - at;
			check_same_words(&f, b->target_in + at, n, target, n_target);
			tokens += b->source_start[i + 1] - b->source_start[i] - 1;
		}
		sentences += b->n;
		most += MAX(b->n_source, b->n_target);
	}
	check_int(sentences, 2 * PAIRS);
	check((double)tokens > 1.08 * (double)usual && (double)tokens < 1.3 * (double)usual);
	check(as_stored < sentences / 2);
	check((double)most > 0.85 * 300 * (double)batches); /* batches are well filled */
out:
	loader_free(l);
	fixture_close(&f);
}

TEST(bpe_dropout_batches_do_not_depend_on_ranks)
{
	enum { STEPS = 500 };
	static uint64_t single[STEPS];
	struct fixture f;
	struct err e;

	if (!fixture_open(&f, 0.3, 400))
		goto out;
	for (int32_t ranks = 1; ranks <= 3; ranks++)
		for (int32_t rank = 0; rank < ranks; rank++) {
			struct loader *l;

			f.o.rank = rank;
			f.o.ranks = ranks;
			l = loader_new(f.shard, &f.o, &e);
			for (int i = rank; check(l != NULL) && i < STEPS; i += ranks) {
				check_int(loader_next(l, &f.batch, &e), 0);
				if (ranks == 1)
					single[i] = hash_of(&f.batch);
				check(hash_of(&f.batch) == single[i]);
			}
			check(loader_epoch(l) > 2);
			loader_free(l);
		}
	f.o.rank = 0;
	f.o.ranks = 1;
	for (int i = 1; i < STEPS; i += 83) { /* another process resumes at batch i */
		struct bpe_splitter again;
		struct loader *l = NULL;

		if (splitter_open(&again, 0.3)) {
			f.o.resplit = again.dropout;
			l = loader_new(f.shard, &f.o, &e);
		}
		if (check(l != NULL) && check_int(loader_seek(l, (uint64_t)i, &e), 0)) {
			check_int(loader_next(l, &f.batch, &e), 0);
			check(hash_of(&f.batch) == single[i]);
		}
		loader_free(l);
		splitter_close(&again);
	}
out:
	fixture_close(&f);
}

TEST(bpe_dropout_changes_with_the_epoch)
{
	struct fixture f;
	struct loader *l = NULL;
	struct err e;
	uint64_t first[PAIRS];
	int64_t same = 0, seen = 0;

	if (!fixture_open(&f, 0.3, 20000) || !check((l = loader_new(f.shard, &f.o, &e)) != NULL))
		goto out;
	for (int64_t sentences = 0; sentences < 2 * PAIRS; sentences += f.batch.n) {
		if (!check_int(loader_next(l, &f.batch, &e), 0))
			break;
		for (int32_t i = 0; i < f.batch.n; i++) {
			int32_t at = f.batch.source_start[i], n = f.batch.source_start[i + 1] - at;
			uint64_t h = hash_bytes(f.batch.source + at, (size_t)n * sizeof(int32_t));
			int64_t pair = f.batch.pair[i];

			if (sentences + i < PAIRS)
				first[pair] = h;
			else if (n > 12 && ++seen)
				same += first[pair] == h;
		}
	}
	check(seen > PAIRS / 8);
	check(same < seen / 3);
out:
	loader_free(l);
	fixture_close(&f);
}
