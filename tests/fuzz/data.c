/* data.c - targets for the files of corpora and subword models; see fuzz.h */
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "data/bilingual/bilingual.h"
#include "data/prep/token_column.h"
#include "data/sentencepiece/sp.h"
#include "data/shard/shard.h"
#include "data/shard/shortlist.h"
#include "data/source/archive.h"
#include "data/source/manifest_internal.h"
#include "data/subword/bpe.h"
#include "data/text/encoding.h"
#include "data/text/protect.h"
#include "data/text/sgm.h"
#include "data/text/tokenize.h"
#include "data/words/intern.h"
#include "data/words/vocab.h"
#include "share/base/hash.h"
#include "share/base/text.h"
#include "share/base/util.h"
#include "tests/fuzz/fuzz.h"

/* ---- other encodings: pieces of any size give the same valid UTF-8 ---- */

/* The text that follows the first byte, which chooses the encoding, in pieces. */
struct encoded_pieces {
	const uint8_t *data;
	size_t n, piece;
};

static int64_t read_encoded(void *from, void *to, size_t room, struct err *e)
{
	struct encoded_pieces *p = from;
	const size_t n = MIN(MIN(p->piece, room), p->n);

	(void)e;
	if (n)
		memcpy(to, p->data, n);
	p->data += n;
	p->n -= n;
	return (int64_t)n;
}

static int read_all_encoded(const char *encoding, struct encoded_pieces p, bool repair,
			    struct buf *out, struct err *e)
{
	struct encoding_reader *r =
		encoding_reader_open(encoding, "x", read_encoded, &p, repair, e);
	char bytes[64];
	int64_t got;

	property(r);
	while ((got = encoding_reader_read(r, bytes, sizeof(bytes), e)) > 0)
		buf_add(out, bytes, (size_t)got);
	property(!out->failed);
	property(got == 0 || !repair);
	property(repair || got < 0 || !encoding_reader_replaced(r));
	encoding_reader_close(r);
	return (int)got;
}

FUZZ(encoding)
{
	static const char *const encodings[] = {
		"ISO-8859-1", "WINDOWS-1252", "macintosh", "KOI8-R",   "UTF-16",      "UTF-16LE",
		"UTF-32BE",   "GB18030",      "Shift_JIS", "EUC-KR",   "ISO-2022-JP", "HZ-GB-2312",
		"Big5",	      "EUC-JP",	      "UTF-7",	   "US-ASCII",
	};
	const char *encoding = encodings[n ? data[0] % ARRAY_LEN(encodings) : 0];
	const struct encoded_pieces all = { data + (n > 0), n - (n > 0), n + 1 };
	struct buf whole = { 0 }, parts = { 0 };

	for (int repair = 0; repair < 2; repair++) {
		struct encoded_pieces small = all;
		struct err e[2] = { { 0 }, { 0 } };

		buf_clear(&whole);
		buf_clear(&parts);
		small.piece = 3;
		property(read_all_encoded(encoding, all, repair, &whole, &e[0]) ==
			 read_all_encoded(encoding, small, repair, &parts, &e[1]));
		property(!strcmp(e[0].text, e[1].text));
		property(utf8_valid(buf_text(&whole), whole.len));
		property(e[0].code || (whole.len == parts.len &&
				       !memcmp(buf_text(&whole), buf_text(&parts), whole.len)));
	}
	encoding_of_wide_text((const char *)data, n);
	buf_free(&whole);
	buf_free(&parts);
	return 0;
}

/* ---- bilingual files: pieces of any size give the same pairs, line by line ---- */

struct bilingual_result {
	struct buf sides[2];
	struct err e;
};

static void read_all_bilingual(struct encoded_pieces p, bool keep_numbers, bool repair,
			       struct bilingual_result *to)
{
	const struct bilingual_options o = { .name = "x",
					     .source_language = "en",
					     .target_language = "de",
					     .repair = repair,
					     .keep_numbers = keep_numbers };
	struct bilingual *b = bilingual_open(&o, read_encoded, &p, &to->e);
	int got = b ? 1 : to->e.code;

	*to = (struct bilingual_result){ .e = to->e };
	while (got > 0)
		got = bilingual_read(b, 100, &to->sides[0], &to->sides[1], &to->e);
	property((got < 0) == (to->e.code != 0) || got == to->e.code);
	bilingual_close(b);
}

static size_t count_lines_of(const struct buf *b)
{
	size_t n = 0;

	for (size_t i = 0; i < b->len; i++)
		n += b->data[i] == '\n';
	return n;
}

FUZZ(bilingual)
{
	const struct encoded_pieces all = { data, n, n + 1 }, small = { data, n, 7 };
	struct bilingual_result a = { 0 }, b = { 0 }, numbered = { 0 }, repaired = { 0 };

	read_all_bilingual(all, false, false, &a);
	read_all_bilingual(small, false, false, &b);
	read_all_bilingual(all, true, false, &numbered);
	read_all_bilingual(small, false, true, &repaired);
	property(a.e.code == b.e.code && a.e.code == numbered.e.code);
	property(count_lines_of(&a.sides[0]) == count_lines_of(&a.sides[1]));
	property(count_lines_of(&numbered.sides[0]) == count_lines_of(&numbered.sides[1]));
	for (size_t i = 0; i < ARRAY_LEN(a.sides); i++) {
		property(a.e.code ||
			 (a.sides[i].len == b.sides[i].len &&
			  !memcmp(buf_text(&a.sides[i]), buf_text(&b.sides[i]), a.sides[i].len)));
		property(!strstr(buf_text(&a.sides[i]), "\n\n"));
		property(!memchr(buf_text(&a.sides[i]), '\t', a.sides[i].len));
		buf_free(&a.sides[i]);
		buf_free(&b.sides[i]);
		buf_free(&numbered.sides[i]);
		buf_free(&repaired.sides[i]);
	}
	return 0;
}

/* ---- the tools of Moses: they accept every line of valid UTF-8 ---- */

struct moses {
	struct normalizer *normalizer;
	struct tokenizer *plain, *aggressive;
	struct detokenizer *detokenizer;
};

/* Created once and never freed: compiling the rules takes longer than most inputs. */
static const struct moses *moses_of(bool german)
{
	static struct moses made[2];
	struct moses *m = &made[german];
	struct tokenizer_options o = { german ? "de" : "en", true, false };
	struct err e = { 0 };

	if (m->detokenizer)
		return m;
	m->normalizer = normalizer_new(o.language, &e);
	m->plain = tokenizer_new(&o, &e);
	o.aggressive = true;
	o.escape = false;
	m->aggressive = tokenizer_new(&o, &e);
	m->detokenizer = detokenizer_new(o.language, &e);
	property(m->normalizer && m->plain && m->aggressive && m->detokenizer);
	return m;
}

FUZZ(moses)
{
	const struct moses *m = moses_of(n && data[0] & 1);
	struct buf line = { 0 }, out[4] = { { 0 } };
	struct err e = { 0 };

	utf8_repair(&line, (const char *)data, n);
	for (size_t i = 0; i < line.len; i++)
		if (line.data[i] == '\n')
			line.data[i] = ' ';
	property(!normalizer_line(m->normalizer, buf_text(&line), line.len, &out[0], &e));
	property(!tokenizer_line(m->plain, buf_text(&out[0]), out[0].len, &out[1], &e));
	property(!tokenizer_line(m->aggressive, buf_text(&line), line.len, &out[2], &e));
	property(!detokenizer_line(m->detokenizer, buf_text(&out[1]), out[1].len, &out[3], &e));
	for (size_t i = 0; i < ARRAY_LEN(out); i++) {
		property(utf8_valid(buf_text(&out[i]), out[i].len));
		buf_free(&out[i]);
	}
	buf_free(&line);
	return 0;
}

/* A text, as the child in the sandbox parses it; behind a byte 1 what a child could answer that was taken over. */
FUZZ(manifest)
{
	const bool is_answer = n && data[0] == 1;
	struct buf first = { 0 }, second = { 0 };
	struct manifest m = { 0 }, again = { 0 };
	struct err e = { 0 };

	if (is_answer ? manifest_decode(&m, (const char *)data + 1, n - 1, &e)
		      : !manifest_parse(&m, fuzz_file(data, n), &e)) {
		manifest_encode(&first, &m);
		property(manifest_decode(&again, first.data, first.len, &e));
		manifest_encode(&second, &again);
		property(first.len == second.len && !memcmp(first.data, second.data, first.len));
	}
	manifest_free(&m);
	manifest_free(&again);
	buf_free(&first);
	buf_free(&second);
	return 0;
}

FUZZ(sgm)
{
	struct err e = { 0 };
	struct sgm s;
	int64_t last = 0;

	property(!sgm_open_memory(&s, "test.sgm", (const char *)data, n, &e));
	s.in.repair = n && data[0] == '!';
	while (sgm_next(&s, &e) > 0) {
		property(s.number == ++last);
		property(s.text[s.len] == 0 && s.len <= n * 3);
	}
	sgm_close(&s);
	return 0;
}

/* Symbols, one a line, up to a NUL; the rest is a line of text. Each symbol becomes one token and comes back. */
FUZZ(protect)
{
	const struct moses *m = moses_of(n && data[0] & 1);
	const uint8_t *nul = n ? memchr(data, 0, n) : NULL;
	const size_t n_list = nul ? (size_t)(nul - data) : n;
	char *symbols[64], *list = strndup(n ? (const char *)data : "", n_list), *save = NULL;
	struct protect_masked masked = { 0 }, words = { 0 };
	struct buf line = { 0 }, tokens = { 0 }, text = { 0 }, back = { 0 };
	struct protect *p = NULL;
	struct err e = { 0 };
	size_t k = 0;

	property(list);
	for (char *s = strtok_r(list, "\n", &save); s && k < ARRAY_LEN(symbols);
	     s = strtok_r(NULL, "\n", &save))
		symbols[k++] = s;
	if (protect_open(&p, symbols, k, &e)) {
		property(!p && e.code == ERR_CONFIG);
		free(list);
		return 0;
	}
	property(protect_count(p) == k);
	utf8_repair(&line, nul ? (const char *)nul + 1 : "", nul ? n - n_list - 1 : 0);
	for (size_t i = 0; i < line.len; i++)
		if (line.data[i] == '\n')
			line.data[i] = ' ';
	property(!protect_mask(p, PROTECT_ANYWHERE, buf_text(&line), line.len, &masked, &e));
	property(!protect_unmask(p, &masked, masked.line, masked.n_line, &back, &e));
	property(back.len == line.len && !memcmp(buf_text(&back), buf_text(&line), line.len));
	property(!tokenizer_line(m->plain, masked.line, masked.n_line, &tokens, &e));
	property(!protect_unmask(p, &masked, buf_text(&tokens), tokens.len, &text, &e));
	property(utf8_valid(buf_text(&text), text.len));
	/* every symbol of the line is a word of the tokens, in order; escapes may look like further ones */
	property(!protect_mask(p, PROTECT_WORDS, buf_text(&text), text.len, &words, &e));
	for (size_t i = 0, w = 0; i < masked.n; i++) {
		if (masked.symbols[i] < 0)
			continue;
		while (w < words.n && words.symbols[w] != masked.symbols[i])
			w++;
		property(w++ < words.n);
	}
	protect_masked_free(&masked);
	protect_masked_free(&words);
	buf_free(&line);
	buf_free(&tokens);
	buf_free(&text);
	buf_free(&back);
	protect_close(p);
	free(list);
	return 0;
}

static size_t count_letters(const char *text, size_t n)
{
	size_t letters = 0;

	for (size_t i = 0; i < n; i++)
		letters += (text[i] | 0x20) >= 'a' && (text[i] | 0x20) <= 'z';
	return letters;
}

/* The text up to a NUL is a codes file; the rest is a line to split with it. */
FUZZ(codes)
{
	static const char separator[] = "@@";
	const uint8_t *nul = n ? memchr(data, 0, n) : NULL;
	size_t n_codes = nul ? (size_t)(nul - data) : n;
	const char *line = nul ? (const char *)nul + 1 : "lower lowest x";
	size_t n_line = nul ? n - n_codes - 1 : strlen(line);
	struct err e = { 0 };
	struct bpe *b = bpe_open(fuzz_file(data, n_codes), &e);
	struct buf pieces = { 0 }, text = { 0 };

	if (b && !bpe_apply_line(b, line, n_line, &pieces, &e)) {
		property(count_letters(buf_text(&pieces), pieces.len) ==
			 count_letters(line, n_line));
		bpe_undo_line(separator, buf_text(&pieces), pieces.len, &text);
	}
	buf_free(&pieces);
	buf_free(&text);
	bpe_close(b);
	return 0;
}

FUZZ(vocabulary)
{
	struct err e = { 0 };
	struct vocab *v = vocab_open(fuzz_file(data, n), &e);

	if (!v)
		return 0;
	property(vocab_size(v) > 0 && vocab_real_size(v) <= vocab_size(v));
	for (int32_t i = 0; i < vocab_size(v); i++) {
		const char *piece = vocab_piece(v, i);
		int32_t id = vocab_id(v, piece, strlen(piece));

		property(vocab_frequency(v, i) >= 0);
		property(id >= 0 && id < vocab_size(v));
	}
	vocab_close(v);
	return 0;
}

static void read_shard(const char *path)
{
	struct err e = { 0 };
	struct shard *s = shard_open(path, &e);
	int32_t longest, entries, *source, *target, n_source, n_target;
	int64_t sources = 0, targets = 0;

	if (!s)
		return;
	longest = shard_longest(s);
	entries = shard_own_source_vocabulary(s);
	property(entries >= 0);
	entries = entries ? entries : shard_vocabulary(s);
	source = malloc(((size_t)longest + 1) * sizeof(*source));
	target = malloc(((size_t)longest + 1) * sizeof(*target));
	property(source && target);
	for (int64_t i = 0; i < shard_pairs(s); i++) {
		shard_lengths(s, i, &n_source, &n_target);
		property(n_source >= 0 && n_source <= longest);
		property(n_target >= 0 && n_target <= longest);
		shard_read(s, i, source, target);
		sources += n_source;
		targets += n_target;
		for (int32_t k = 0; k < n_source; k++)
			property(source[k] >= 0 && source[k] < entries);
		for (int32_t k = 0; k < n_target; k++)
			property(target[k] >= 0 && target[k] < shard_vocabulary(s));
	}
	property(sources == shard_source_tokens(s) && targets == shard_target_tokens(s));
	free(source);
	free(target);
	shard_close(s);
}

FUZZ(shard)
{
	read_shard(fuzz_file(data, n));
	return 0;
}

/* data: the header at least; in version 2 the hash of the source's vocabulary follows it. */
static void read_shortlist(const char *path, const uint8_t *data, size_t n_data)
{
	struct err e = { 0 };
	const bool is_separate = data[12] == 2 && n_data >= 232;
	char id[2 * HASH_SHA256_HEX] = "";
	int32_t vocabulary, n;
	struct shortlist *s;
	const int32_t *ids;

	memcpy(&vocabulary, data + 16, sizeof(vocabulary));
	if (is_separate)
		memcpy(id, data + 160, HASH_SHA256_HEX - 1);
	memcpy(id + strlen(id), data + 32, HASH_SHA256_HEX - 1);
	s = shortlist_open(path, vocabulary, id, &e);
	if (!s)
		return;
	ids = shortlist_frequent(s, &n);
	for (int32_t k = 0; k < n; k++)
		property(ids[k] >= 4 && ids[k] < vocabulary);
	for (int32_t i = 0; i < vocabulary; i++) {
		ids = shortlist_of_token(s, i, &n);
		property(n >= 0 && n <= SHORTLIST_MAX_EACH);
		for (int32_t k = 0; k < n; k++)
			property(ids[k] >= 4 && ids[k] < vocabulary);
	}
	shortlist_close(s);
}

FUZZ(shortlist)
{
	if (n >= 160)
		read_shortlist(fuzz_file(data, n), data, n);
	return 0;
}

FUZZ(side)
{
	struct err e = { 0 };
	struct token_column_reader *r = token_column_open(fuzz_file(data, n), 100, &e);
	struct token_column_line line;
	int64_t lines = 0;
	int got;

	if (!r)
		return 0;
	while ((got = token_column_next(r, &line, &e)) > 0) {
		lines++;
		for (uint32_t i = 0; i < line.n; i++)
			property(line.words[i] >= 0 && line.words[i] < 100);
	}
	property(got < 0 || lines == token_column_lines(r));
	token_column_close(r);
	return 0;
}

FUZZ(words)
{
	struct err e = { 0 };
	struct intern words = { 0 };
	size_t len;

	if (!word_table_load(&words, fuzz_file(data, n), &e))
		for (int32_t i = 0; i < words.n; i++) {
			const char *text = intern_text(&words, i, &len);

			property(intern_find(&words, text, len) == i);
		}
	intern_free(&words);
	return 0;
}

FUZZ(archive)
{
	static const char *const names[] = { "corpus.en", "deep/corpus.de" };
	static char block[4096];
	struct err e = { 0 };
	const char *path = fuzz_file(data, n);
	struct archive_reader *a;
	int64_t bytes = 0, got = 0;
	size_t member;
	int rc = -1;

	if (archive_check_kind(path, &e))
		property(e.code == ERR_DATA);
	a = archive_open(path, names, 2, &e);
	while (a && got >= 0 && (rc = archive_next(a, &member, &e)) > 0) {
		property(member < 2);
		while ((got = archive_read(a, block, sizeof(block), &e)) > 0)
			bytes += got;
	}
	property(bytes <= ((int64_t)64 << 20) + 200 * (int64_t)n + (int64_t)sizeof(block));
	property(a || e.code);
	archive_close(a);
	return 0;
}

/* Two bytes: the length of a line; the line; a SentencePiece model that splits it. */
FUZZ(sp)
{
	struct err e = { 0 };
	struct buf pieces = { 0 }, text = { 0 };
	size_t n_line = n >= 2 ? data[0] | (size_t)data[1] << 8 : 0;
	const char *line = (const char *)data + 2;
	struct sp *s;

	if (n < 2 || n_line > n - 2)
		return 0;
	s = sp_open_memory(data + 2 + n_line, n - 2 - n_line, "test.model", &e);
	property(s || e.code);
	if (s && !sp_apply_line(s, line, n_line, &pieces, &e))
		property(!sp_undo_line(s, buf_text(&pieces), pieces.len, &text, &e) || e.code);
	if (s) {
		buf_clear(&text);
		sp_undo_line(s, line, n_line, &text, &e);
	}
	/* of unigram models; the number of splits bounds the time */
	if (s && n_line < 200 &&
	    !sp_sample_line(s, line, n_line, 0.5, 1, rng_key_make(1, RNG_TEST, 0, 0), &text, &e))
		property(!sp_best_lines(s, line, n_line, 5, &text, &e) || e.code);
	buf_free(&pieces);
	buf_free(&text);
	sp_close(s);
	return 0;
}
