/* t_pack.c - tests of the stages from words to shards: learn, encode, external shuffle, pack */
#include "tests/test.h"

#include <stdio.h>
#include <stdlib.h>

#include "data/pipeline/pipeline.h"
#include "data/prep/external_shuffle.h"
#include "data/prep/prep_stages.h"
#include "data/prep/token_column.h"
#include "data/prep/word_ids.h"
#include "data/shard/shard.h"
#include "data/shard/shuffle.h"
#include "data/subword/bpe.h"
#include "share/base/file.h"
#include "share/base/mem.h"
#include "share/base/text.h"

static const char *in_folder(const char *name)
{
	static char path[300];

	snprintf(path, sizeof(path), "%s/%s", test_folder(), name);
	return path;
}

/* ---- external shuffle ---- */

struct placed {
	int64_t n, wrong, limit;
	struct shuffle order;
};

/* Contents of pair i: a length and numbers, all computed from i. */
static int32_t make_numbers(int64_t i, int32_t *numbers, int64_t limit, int32_t side)
{
	int32_t n = (int32_t)((i * 7 + side * 3) % 11);

	for (int32_t k = 0; k < n; k++)
		numbers[k] = (int32_t)((i * 31 + k * 17 + side) % limit);
	return n;
}

static int check_placed(void *context, const int32_t *source, int32_t n_source,
			const int32_t *target, int32_t n_target, struct err *e)
{
	struct placed *q = context;
	int64_t i = shuffle_at(&q->order, q->n++);
	int32_t numbers[16];

	(void)e;
	q->wrong += n_source != make_numbers(i, numbers, q->limit, 0) ||
		    memcmp(numbers, source, (size_t)n_source * sizeof(*source));
	q->wrong += n_target != make_numbers(i, numbers, q->limit, 1) ||
		    memcmp(numbers, target, (size_t)n_target * sizeof(*target));
	return 0;
}

static void place_all(int64_t places, int64_t bucket_bytes, int64_t limit, int threads)
{
	struct placed q = { .limit = limit,
			    .order = shuffle_make(places, rng_key_make(3, RNG_SHUFFLE, 0, 0)) };
	struct external_shuffle_options o = { in_folder("bucket"), places, places * 20,
					      bucket_bytes,	   limit,  threads };
	struct err e = { 0 };
	struct external_shuffle *p = external_shuffle_new(&o, &e);
	int32_t source[16], target[16];

	for (int64_t i = 0; p && i < places; i++)
		check_int(external_shuffle_put(p, shuffle_inverse_at(&q.order, i), source,
					       make_numbers(i, source, limit, 0), target,
					       make_numbers(i, target, limit, 1), &e),
			  0);
	if (check(p != NULL) && check_int(external_shuffle_run(p, check_placed, &q, &e), 0)) {
		check_int(q.n, places);
		check_int(q.wrong, 0);
	} else {
		fprintf(stderr, "%s\n", e.text);
	}
	check(!file_exists(in_folder("bucket.0")));
	external_shuffle_free(p);
}

TEST(external_shuffle_visits_pairs_by_position)
{
	static const int64_t places[] = { 0, 1, 2, 7, 1000, 4999 },
			     buckets[] = { 1, 20, 333, 5000, 0 };

	for (size_t i = 0; i < ARRAY_LEN(places); i++)
		for (size_t k = 0; k < ARRAY_LEN(buckets); k++) {
			place_all(places[i], buckets[k], 65536, 2);
			place_all(places[i], buckets[k], 65537, 1);
		}
}

TEST(external_shuffle_rejects_missing_and_double_positions)
{
	struct external_shuffle_options o = { in_folder("bucket"), 10, 100, 50, 100, 1 };
	struct placed q = { .limit = 100, .order = shuffle_make(10, rng_key_make(3, 2, 0, 0)) };
	struct err e;

	for (int twice = 0; twice < 2; twice++) {
		struct external_shuffle *p = external_shuffle_new(&o, &e);
		int32_t numbers[2] = { 1, 2 };

		for (int64_t i = 0; p && i < 10; i++)
			if (i != 7 || twice)
				check_int(external_shuffle_put(p, i == 7 ? 6 : i, numbers, 1,
							       numbers, 2, &e),
					  0);
		check_err(p ? external_shuffle_run(p, check_placed, &q, &e) : 0, ERR_INTERNAL);
		check(strstr(e.text, twice ? "two pairs have position"
					   : "4 pairs for 5 positions") != NULL);
		external_shuffle_free(p);
	}
}

/* ---- ids of words ---- */

TEST(word_ids_survive_and_damage_is_noticed)
{
	uint32_t start[] = { 0, 2, 2, 5 };
	int32_t ids[] = { 7, 8, 9, 0, 99 };
	struct word_ids w = { 3, start, ids }, back = { 0 };
	const char *path = in_folder("ids");
	struct buf good = { 0 };
	struct err e;

	check_int(word_ids_save(&w, path, &e), 0);
	check_int(word_ids_load(&back, path, 100, &e), 0);
	check_int(back.n_words, 3);
	check(!memcmp(back.start, start, sizeof(start)) && !memcmp(back.ids, ids, sizeof(ids)));
	word_ids_free(&back);
	check_err(word_ids_load(&back, path, 99, &e), ERR_DATA);
	word_ids_free(&back);
	check_int(file_read_all(path, 0, &good, &e), 0);
	for (size_t n = 0; n < good.len; n++) {
		file_write_all(path, good.data, n, &e);
		check_err(word_ids_load(&back, path, 100, &e), ERR_DATA);
		word_ids_free(&back);
	}
	for (size_t i = 0; i < good.len; i++) { /* every byte of the header, and of the lengths */
		bool is_id = i >= 24 && i < 24 + sizeof(ids);

		good.data[i] ^= 1;
		file_write_all(path, good.data, good.len, &e);
		if (!is_id)
			check_err(word_ids_load(&back, path, 100, &e), ERR_DATA);
		word_ids_free(&back);
		good.data[i] ^= 1;
	}
	buf_free(&good);
}

/* ---- the stages ---- */

#define SETS 3

/* A corpus folder in the state after the stage "read". */
struct corpus {
	struct conf c;
	struct prep p;
	struct buf lines[2]; /* all training text, tokenised */
	struct buf verdicts;
	struct text_pair texts[2];
};

/* A sentence of random words, some of them unusual. */
static void make_line(struct rng_key key, int64_t number, struct buf *out)
{
	static const char *const odd[] = { "</s>",
					   "<unk>",
					   "<pad>x",
					   "@@",
					   "a@@",
					   "\xc3\xa4",
					   "\xc3\xa4\xc3\xb6\xe2\x82\xac",
					   "x\xe2\x80\xa8y",
					   "\t",
					   "w\xc2\x85",
					   "<unused0>" };
	uint32_t n = rng_u32(key, (uint64_t)number * 64) % 14;

	for (uint32_t k = 0; k < n; k++) {
		uint32_t r = rng_u32(key, (uint64_t)number * 64 + k + 1), word = r % 997;

		if (k)
			buf_add_char(out, ' ');
		if (r >> 24 == 5)
			buf_add_str(out, odd[word % ARRAY_LEN(odd)]);
		else
			for (word = word * word / 997 + 1; word; word /= 5)
				buf_add_char(out, (char)('a' + word % 5));
	}
}

static int put_side(struct prep *p, int text, const char *side, const char *lines, size_t n_lines,
		    const char **end, struct err *e)
{
	const char *path = prep_path(p, e, "work/side-%d.%s", text, side);
	struct token_column_writer *w = path ? token_column_create(path, e) : NULL;
	int32_t words[20000];

	for (size_t i = 0; w && i < n_lines; i++) {
		size_t n = strcspn(lines, "\n"), m;
		struct token_column_line line = { .bytes = (uint32_t)n,
						  .characters = (uint32_t)n,
						  .longest = n > 0,
						  .words = words };

		for (const char *at = lines; at < lines + n; at += m + 1) {
			m = strcspn(at, " \n");
			if (intern_add(&p->words, at, m, &words[line.n++], e))
				return e->code;
		}
		if (token_column_put(w, &line, e))
			return e->code;
		lines += n + 1;
	}
	*end = lines;
	return w ? token_column_finish(w, e) : e->code;
}

static int put_counts(struct corpus *q, struct err *e)
{
	struct prep *p = &q->p;
	int64_t *counts = mem_alloc((size_t)p->words.n, sizeof(*counts), e);
	int rc;

	for (int side = 0; side < 2; side++) {
		const char *at = buf_text(&q->lines[side]);

		for (size_t i = 0; i < q->verdicts.len; i++, at += strcspn(at, "\n") + 1)
			for (const char *w = at; *w != '\n'; w += *w == ' ') {
				size_t n = strcspn(w, " \n");

				if (q->verdicts.data[i] == CLEAN_KEEP)
					counts[intern_find(&p->words, w, n)]++;
				w += n;
			}
	}
	rc = file_write_all(prep_path(p, e, "work/counts"), counts,
			    (size_t)p->words.n * sizeof(*counts), e);
	free(counts);
	return rc;
}

static int write_all(struct corpus *q, struct err *e)
{
	struct prep *p = &q->p;
	const char *at[2] = { buf_text(&q->lines[0]), buf_text(&q->lines[1]) };
	size_t all = q->verdicts.len, half = all / 3;

	for (int text = 0; text < 2; text++)
		for (int side = 0; side < 2; side++)
			if (put_side(p, text, side ? "target" : "source", at[side],
				     text ? all - half : half, &at[side], e))
				return e->code;
	if (word_table_save(&p->words, prep_path(p, e, "work/words"), e) ||
	    file_write_all(prep_path(p, e, "work/verdicts"), q->verdicts.data, all, e))
		return e->code;
	return put_counts(q, e);
}

static int corpus_begin(struct corpus *q, const char *name, struct err *e)
{
	static const char *const sets[SETS] = { "train", "dev", "other" };

	memset(q, 0, sizeof(*q));
	if (conf_init(&q->c, e))
		return e->code;
	q->c.tokenize = false;
	q->c.merges = 150;
	q->c.max_tokens = 20;
	q->p.c = &q->c;
	q->p.threads = 2;
	q->p.progress.quiet = true;
	q->p.folder = file_path(e, "%s/%s", test_folder(), name);
	q->p.work = file_path(e, "%s/%s/work", test_folder(), name);
	q->p.texts.pairs = q->texts;
	q->p.texts.n = q->p.texts.n_train = 2;
	memcpy(q->p.texts.sets, sets, sizeof(sets));
	q->p.texts.n_sets = 1;
	return file_make_folders(q->p.work, e);
}

static void corpus_end(struct corpus *q)
{
	intern_free(&q->p.words);
	buf_free(&q->lines[0]);
	buf_free(&q->lines[1]);
	buf_free(&q->verdicts);
	free(q->p.folder);
	free(q->p.work);
	conf_free(&q->c);
}

static void add_pairs(struct corpus *q, int64_t pairs)
{
	struct rng_key key = rng_key_make(8, RNG_TEST, 0, 0);

	for (int64_t i = 0; i < pairs; i++) {
		for (int side = 0; side < 2; side++) {
			/* </s> becomes a piece equal to a special token: unknown */
			buf_add_str(&q->lines[side], i % 3 == 1 ? "</s> " : "b ");
			make_line(key, 2 * i + side, &q->lines[side]);
			if (q->lines[side].data[q->lines[side].len - 1] == ' ')
				buf_truncate(&q->lines[side], q->lines[side].len - 1);
			buf_add_char(&q->lines[side], '\n');
		}
		buf_add_char(&q->verdicts, i % 11 == 3 ? CLEAN_RATIO : CLEAN_KEEP);
	}
}

static int run_stages(struct corpus *q, struct err *e)
{
	struct prep *p = &q->p;
	int rc = prep_learn_pieces(p, e);

	if (!rc)
		rc = prep_encode(p, e);
	return rc ? rc : prep_pack_shards(p, e);
}

/* ---- what it must be: line by line, as text ---- */

struct line_pair {
	const char *text[2];
	size_t n[2];
};

struct expected {
	struct line_pair *kept; /* owned: by the verdicts, then also by max_tokens */
	int64_t n, dropped;
};

static void expect_kept(const struct corpus *q, struct expected *x)
{
	const char *at[2] = { buf_text(&q->lines[0]), buf_text(&q->lines[1]) };

	x->kept = calloc(q->verdicts.len, sizeof(*x->kept));
	for (size_t i = 0; i < q->verdicts.len; i++) {
		struct line_pair pair;

		for (int side = 0; side < 2; side++) {
			pair.text[side] = at[side];
			pair.n[side] = strcspn(at[side], "\n");
			at[side] += pair.n[side] + 1;
		}
		if (q->verdicts.data[i] == CLEAN_KEEP)
			x->kept[x->n++] = pair;
	}
}

static void check_file(const char *what, const char *path, const char *want, size_t n)
{
	struct buf got = { 0 };
	struct err e;

	if (check_int(file_read_all(path, 0, &got, &e), 0) &&
	    (got.len != n || memcmp(buf_text(&got), want, n)))
		test_fail(__FILE__, __LINE__, "%s differs: %zu bytes, expected %zu", what, got.len,
			  n);
	buf_free(&got);
}

static void check_codes(struct corpus *q, const struct expected *x)
{
	struct err e;
	struct word_counter *l = word_counter_new(&e);
	char *text = NULL;
	size_t n = 0;
	FILE *out = open_memstream(&text, &n);
	int64_t learned;

	for (int side = 0; side < 2; side++)
		for (int64_t i = 0; i < x->n; i++)
			check_int(bpe_count_words(l, x->kept[i].text[side], x->kept[i].n[side], 1,
						  &e),
				  0);
	check_int(bpe_learn(l, q->c.merges, q->c.min_frequency, out, &learned, &e), 0);
	check_int(q->p.numbers.merges, learned);
	fclose(out);
	check_file("bpe.codes", prep_path(&q->p, &e, "bpe.codes"), text, n);
	free(text);
	word_counter_free(l);
}

static int64_t count_words(const struct buf *b)
{
	int64_t n = 0;
	const char *s = buf_text(b);

	for (size_t i = 0; i < b->len; i++)
		n += s[i] != ' ' && (i + 1 == b->len || s[i + 1] == ' ');
	return n;
}

/* The pieces of all kept pairs counted; those with too many leave the list. */
static void check_vocabulary(struct corpus *q, struct expected *x)
{
	struct err e;
	struct bpe *bpe = bpe_open(prep_path(&q->p, &e, "bpe.codes"), &e);
	struct vocab_counter *counter = vocab_counter_new(&e);
	struct buf pieces[2] = { 0 }, want = { 0 };
	int64_t n = 0;

	for (int64_t i = 0; bpe && i < x->n; i++) {
		for (int side = 0; side < 2; side++) {
			buf_clear(&pieces[side]);
			bpe_apply_line(bpe, x->kept[i].text[side], x->kept[i].n[side],
				       &pieces[side], &e);
		}
		if (MAX(count_words(&pieces[0]), count_words(&pieces[1])) > q->c.max_tokens) {
			x->dropped++;
			continue;
		}
		x->kept[n++] = x->kept[i];
		for (int side = 0; side < 2; side++) {
			const char *s = buf_text(&pieces[side]);

			for (size_t len; *s; s += len + (s[len] == ' ')) {
				len = strcspn(s, " ");
				vocab_count(counter, s, len, 1, &e);
			}
		}
	}
	x->n = n;
	vocab_write(counter, in_folder("want.tsv"), &e);
	file_read_all(in_folder("want.tsv"), 0, &want, &e);
	check_file("vocab.tsv", prep_path(&q->p, &e, "vocab.tsv"), buf_text(&want), want.len);
	vocab_counter_free(counter);
	bpe_close(bpe);
	buf_free(&pieces[0]);
	buf_free(&pieces[1]);
	buf_free(&want);
}

static void check_ids(struct pipeline *tools, enum pipeline_side side, const struct line_pair *pair,
		      const int32_t *got, int32_t n_got)
{
	int32_t *ids = NULL;
	size_t n = 0, cap = 0;
	struct err e;

	check_int(pipeline_encode(tools, side, pair->text[side], pair->n[side], &ids, &n, &cap, &e),
		  0);
	if (n != (size_t)n_got || (n && memcmp(ids, got, n * sizeof(*ids))))
		test_fail(__FILE__, __LINE__, "the ids of \"%.*s\" differ", (int)pair->n[side],
			  pair->text[side]);
	free(ids);
}

static void check_shard(struct corpus *q, const struct expected *x)
{
	struct err e = { 0 };
	struct pipeline *tools = pipeline_open(q->p.folder, &q->c, &e);
	struct shard *s = shard_open(prep_path(&q->p, &e, "train.shard"), &e);
	struct shuffle order =
		shuffle_make(x->n, rng_key_make((uint64_t)q->c.seed, RNG_SHUFFLE, UINT32_MAX, 0));
	int32_t source[4096], target[4096], n_source, n_target;

	if (!check(tools && s) || !check_int(shard_pairs(s), x->n))
		goto out;
	check_int(q->p.numbers.pairs[0], x->n);
	check_int(q->p.numbers.dropped[CLEAN_TOKENS], x->dropped);
	check_int(q->p.numbers.source_tokens[0], shard_source_tokens(s));
	check_int(q->p.numbers.target_tokens[0], shard_target_tokens(s));
	check_int(q->p.numbers.vocabulary, shard_vocabulary(s));
	for (int64_t i = 0; i < x->n; i++) {
		const struct line_pair *pair = &x->kept[shuffle_at(&order, i)];

		shard_lengths(s, i, &n_source, &n_target);
		if (!check(n_source <= 4096 && n_target <= 4096))
			break;
		shard_read(s, i, source, target);
		check_ids(tools, SIDE_SOURCE, pair, source, n_source);
		check_ids(tools, SIDE_TARGET, pair, target, n_target);
	}
out:
	shard_close(s);
	pipeline_close(tools);
}

static void check_corpus(struct corpus *q)
{
	struct expected x = { 0 };

	expect_kept(q, &x);
	check_codes(q, &x);
	check_vocabulary(q, &x);
	check_shard(q, &x);
	free(x.kept);
}

TEST(pack_words_equal_lines)
{
	struct corpus q;
	struct err e = { 0 };
	struct buf first = { 0 };

	if (corpus_begin(&q, "c", &e))
		goto out;
	add_pairs(&q, 3000);
	if (write_all(&q, &e))
		goto out;
	/* the same for every number of threads */
	for (int threads = 1; threads <= 5; threads += 2) {
		q.p.threads = threads;
		memset(&q.p.numbers, 0, sizeof(q.p.numbers));
		if (run_stages(&q, &e))
			goto out;
		if (threads == 1) {
			check_corpus(&q);
			check(q.p.numbers.dropped[CLEAN_TOKENS] > 100);
			check(q.p.numbers.unknown_tokens[0] > 0);
			file_read_all(prep_path(&q.p, &e, "train.shard"), 0, &first, &e);
		} else {
			check_file("train.shard", prep_path(&q.p, &e, "train.shard"),
				   buf_text(&first), first.len);
		}
		check(!file_exists(prep_path(&q.p, &e, "dev.shard")));
	}
out:
	if (e.code)
		test_fail(__FILE__, __LINE__, "%s", e.text);
	buf_free(&first);
	corpus_end(&q);
}

TEST(pack_wide_vocabulary)
{
	/* 66,000 characters, each a word: ids beyond 16 bits */
	struct corpus q;
	struct err e = { 0 };

	if (corpus_begin(&q, "w", &e))
		goto out;
	add_pairs(&q, 30);
	for (uint32_t c = 0x3400; c < 0x3400 + 66000; c++) {
		bool ends = c % 20 == 19;
		char utf8[4] = { (char)(0xF0 | c >> 18), (char)(0x80 | (c >> 12 & 63)),
				 (char)(0x80 | (c >> 6 & 63)), (char)(0x80 | (c & 63)) };

		if (c >= 0xD800 && c < 0xE000)
			continue;
		if (c < 0x10000) {
			utf8[0] = ' ';
			utf8[1] = (char)(0xE0 | c >> 12);
		}
		buf_add(&q.lines[0], utf8 + (c < 0x10000), c < 0x10000 ? 3 : 4);
		buf_add_char(&q.lines[0], ends ? '\n' : ' ');
		if (ends) {
			buf_add_str(&q.lines[1], "a b\n");
			buf_add_char(&q.verdicts, CLEAN_KEEP);
		}
	}
	buf_add_str(&q.lines[0], "a\n");
	buf_add_str(&q.lines[1], "a\n");
	buf_add_char(&q.verdicts, CLEAN_KEEP);
	if (write_all(&q, &e) || run_stages(&q, &e))
		goto out;
	check_corpus(&q);
out:
	if (e.code)
		test_fail(__FILE__, __LINE__, "%s", e.text);
	corpus_end(&q);
}

TEST(pack_held_out_sets)
{
	struct corpus q;
	struct expected x = { 0 };
	struct err e = { 0 };
	struct pipeline *tools = NULL;
	struct shard *s = NULL;
	int32_t source[4096], target[4096];

	if (corpus_begin(&q, "h", &e))
		goto out;
	q.p.texts.n_sets = SETS;
	add_pairs(&q, 500);
	if (write_all(&q, &e) ||
	    file_write_all(prep_path(&q.p, &e, "dev.en"), "aab b\n\nccc\n", 11, &e) ||
	    file_write_all(prep_path(&q.p, &e, "dev.de"), "\ndd e\xce\xa9 a\nxyz\n", 14, &e) ||
	    file_write_all(prep_path(&q.p, &e, "test.shard"), "old", 3, &e) || run_stages(&q, &e))
		goto out;
	tools = pipeline_open(q.p.folder, &q.c, &e);
	s = shard_open(prep_path(&q.p, &e, "dev.shard"), &e);
	if (check(tools && s) && check_int(shard_pairs(s), 3)) {
		static const struct line_pair want[] = { { { "aab b", "" }, { 5, 0 } },
							 { { "", "dd e\xce\xa9 a" }, { 0, 8 } },
							 { { "ccc", "xyz" }, { 3, 3 } } };
		int32_t n, m;

		for (int64_t i = 0; i < 3; i++) {
			shard_lengths(s, i, &n, &m);
			shard_read(s, i, source, target);
			check_ids(tools, SIDE_SOURCE, &want[i], source, n);
			check_ids(tools, SIDE_TARGET, &want[i], target, m);
		}
		check_int(q.p.numbers.pairs[1], 3);
		check(q.p.numbers.unknown_tokens[1] > 0);
	}
	check(!file_exists(prep_path(&q.p, &e, "test.shard")));
	check(!file_exists(prep_path(&q.p, &e, "other.shard")));
	e.code = 0;
out:
	if (e.code)
		test_fail(__FILE__, __LINE__, "%s", e.text);
	free(x.kept);
	shard_close(s);
	pipeline_close(tools);
	corpus_end(&q);
}

/* One side of the kept lines, as words or as pieces. */
static void check_text(struct corpus *q, const struct expected *x, int side, bool split)
{
	struct err e = { 0 };
	struct bpe *bpe = bpe_open(prep_path(&q->p, &e, "bpe.codes"), &e);
	struct buf want = { 0 };
	const char *path;

	for (int64_t i = 0; i < x->n; i++) {
		const struct line_pair *pair = &x->kept[i];

		if (split)
			bpe_apply_line(bpe, pair->text[side], pair->n[side], &want, &e);
		else
			buf_add(&want, pair->text[side], pair->n[side]);
		buf_add_char(&want, '\n');
	}
	path = prep_path(&q->p, &e, "text/train.clean%s.%s", split ? ".bpe.150" : "",
			 side ? "de" : "en");
	check_file(path, path, buf_text(&want), want.len);
	buf_free(&want);
	bpe_close(bpe);
}

TEST(pack_keeps_text)
{
	struct corpus q;
	struct expected x = { 0 };
	struct buf codes = { 0 };
	struct err e = { 0 };

	if (corpus_begin(&q, "k", &e))
		goto out;
	q.p.texts.n_sets = SETS;
	add_pairs(&q, 700);
	if (write_all(&q, &e) || prep_learn_pieces(&q.p, &e) || prep_encode(&q.p, &e))
		goto out;
	for (int i = 1; i < SETS; i++) {
		const char *set = q.p.texts.sets[i];

		if (file_write_all(prep_path(&q.p, &e, "%s.en", set), "b b\n", 4, &e) ||
		    file_write_all(prep_path(&q.p, &e, "%s.de", set), "\n", 1, &e))
			goto out;
	}
	if (prep_export_text(&q.p, &e))
		goto out;
	expect_kept(&q, &x);
	for (int side = 0; side < 2; side++) {
		check_text(&q, &x, side, false);
		check_text(&q, &x, side, true);
	}
	check_file("dev", prep_path(&q.p, &e, "text/dev.bpe.150.en"), "b b\n", 4);
	check_file("other", prep_path(&q.p, &e, "text/other.bpe.150.de"), "\n", 1);
	check_int(file_read_all(prep_path(&q.p, &e, "bpe.codes"), 0, &codes, &e), 0);
	check_file("codes", prep_path(&q.p, &e, "text/bpe.150"), buf_text(&codes), codes.len);
out:
	if (e.code)
		test_fail(__FILE__, __LINE__, "%s", e.text);
	buf_free(&codes);
	free(x.kept);
	corpus_end(&q);
}

/* Lines of text/NAME; owned by the caller. */
static struct buf read_text(struct corpus *q, const char *name)
{
	struct buf text = { 0 };
	struct err e;

	check_int(file_read_all(prep_path(&q->p, &e, "text/%s", name), 0, &text, &e), 0);
	return text;
}

/* Line i of the shuffled texts is pair i of the shard, as words and as pieces. */
static void check_shuffled(struct corpus *q, const struct expected *x)
{
	struct err e = { 0 };
	struct pipeline *tools = pipeline_open(q->p.folder, &q->c, &e);
	struct shard *s = shard_open(prep_path(&q->p, &e, "train.shard"), &e);
	struct shuffle order =
		shuffle_make(x->n, rng_key_make((uint64_t)q->c.seed, RNG_SHUFFLE, UINT32_MAX, 0));
	struct buf plain = read_text(q, "train.clean.de.shuffled"), pieces = { 0 },
		   split = read_text(q, "train.clean.de.shuffled.BPE_common.150.tok");
	const char *at = buf_text(&plain), *at_split = buf_text(&split);
	int32_t source[4096], target[4096], n_source, n_target;

	check(tools && s && shard_pairs(s) == x->n);
	for (int64_t i = 0; tools && s && i < x->n; i++) {
		struct line_pair pair = x->kept[shuffle_at(&order, i)], line = pair;
		size_t n = strcspn(at, "\n"), n_split = strcspn(at_split, "\n");

		line.text[1] = at;
		line.n[1] = n;
		if (!check(n == pair.n[1] && !memcmp(at, pair.text[1], n)))
			break;
		shard_lengths(s, i, &n_source, &n_target);
		shard_read(s, i, source, target);
		check_ids(tools, SIDE_TARGET, &line, target, n_target);
		buf_clear(&pieces);
		check_int(pipeline_word_pieces(tools, SIDE_TARGET, at, n, &pieces, &e), 0);
		check(n_split == pieces.len && !memcmp(at_split, buf_text(&pieces), n_split));
		at += n + 1;
		at_split += n_split + 1;
	}
	check(!*at && !*at_split);
	shard_close(s);
	pipeline_close(tools);
	buf_free(&plain);
	buf_free(&split);
	buf_free(&pieces);
}

TEST(pack_in_sentencepieces_way)
{
	struct corpus q;
	struct expected x = { 0 };
	struct buf model = { 0 };
	struct err e = { 0 };

	if (corpus_begin(&q, "s", &e))
		goto out;
	q.c.segmentation = SEGMENTATION_SENTENCEPIECE;
	q.c.vocabulary_size = 150;
	q.c.max_tokens = 200;
	add_pairs(&q, 900);
	if (write_all(&q, &e) || file_write_all(prep_path(&q.p, &e, "bpe.codes"), "old", 3, &e) ||
	    run_stages(&q, &e) || prep_export_text(&q.p, &e))
		goto out;
	check_int(q.p.numbers.vocabulary, 152);
	check(!file_exists(prep_path(&q.p, &e, "bpe.codes")));
	expect_kept(&q, &x);
	check_shard(&q, &x);
	check_shuffled(&q, &x);
	check_int(file_read_all(prep_path(&q.p, &e, "sentencepiece.model"), 0, &model, &e), 0);
	check_file("model", prep_path(&q.p, &e, "text/m_common.model"), buf_text(&model),
		   model.len);
	check(file_size(prep_path(&q.p, &e, "text/m_common.vocab")) > 0);
out:
	if (e.code)
		test_fail(__FILE__, __LINE__, "%s", e.text);
	buf_free(&model);
	free(x.kept);
	corpus_end(&q);
}

TEST(pack_refuses_what_does_not_belong_together)
{
	struct corpus q;
	struct err e = { 0 };

	if (corpus_begin(&q, "r", &e))
		goto out;
	add_pairs(&q, 300);
	if (write_all(&q, &e) || prep_learn_pieces(&q.p, &e))
		goto out;
	q.c.max_tokens = 0; /* only empty lines are short enough */
	memset(q.verdicts.data, CLEAN_KEEP, 1);
	memset(q.verdicts.data + 1, CLEAN_RATIO, 299);
	check_int(file_write_all(prep_path(&q.p, &e, "work/verdicts"), q.verdicts.data, 300, &e),
		  0);
	check_err(prep_encode(&q.p, &e), ERR_DATA);
	check(strstr(e.text, "raise max_tokens") != NULL);
	q.c.max_tokens = 20;
	for (int n = 299; n <= 301; n += 2) {
		check_int(file_write_all(prep_path(&q.p, &e, "work/verdicts"),
					 buf_text(&q.lines[0]), (size_t)n, &e),
			  0);
		check_err(prep_encode(&q.p, &e), ERR_DATA);
		check(strstr(e.text, "belong to different texts") != NULL);
	}
	check_int(file_write_all(prep_path(&q.p, &e, "work/counts"), "12345678", 8, &e), 0);
	check_err(prep_encode(&q.p, &e), ERR_DATA);
	check(strstr(e.text, "but the counts of") != NULL);
	e.code = 0;
out:
	if (e.code)
		test_fail(__FILE__, __LINE__, "%s", e.text);
	corpus_end(&q);
}
