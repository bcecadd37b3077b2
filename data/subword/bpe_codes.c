/*
 * bpe_codes.c - reads BPE merges into a table of rules: see bpe_codes.h
 *
 * A rule maps two symbols to their rank and to the merged symbol. Applying merges asks for two
 * symbols millions of times, so the rules are in a hash table by the numbers of both symbols; their
 * strings are compared only while the file is read.
 */
#include "data/subword/bpe_codes.h"

#include <assert.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "data/subword/bpe_line.h"
#include "share/base/file.h"
#include "share/base/mem.h"
#include "share/base/text.h"

#define MAX_CODES_BYTES ((size_t)1 << 30)
#define VERSION_MARK	"#version:"
#define MARK_BYTES	(sizeof(VERSION_MARK) - 1)

/* ---- the table of merges ---- */

static uint64_t bpe_rule_key(int32_t left, int32_t right)
{
	return (uint64_t)(uint32_t)left << 32 | (uint32_t)right;
}

static bool rule_has_key(const void *rules, uint32_t i, const void *key)
{
	return ((const struct bpe_rule *)rules)[i].key == *(const uint64_t *)key;
}

const struct bpe_rule *bpe_codes_find(const struct bpe_codes *c, int32_t left, int32_t right)
{
	uint64_t key = bpe_rule_key(left, right);
	int64_t i;

	if (left < 0 || right < 0)
		return NULL;
	i = hash_index_find(&c->rule_index, hash_integer(key), rule_has_key, c->rules, &key);
	return i < 0 ? NULL : &c->rules[i];
}

struct code {
	int32_t left, right;
};

static int add_rule(struct bpe_codes *c, struct code code, int32_t rank, struct buf *scratch,
		    struct err *e)
{
	uint64_t key = bpe_rule_key(code.left, code.right), hash = hash_integer(key), *slot;
	const char *text;
	int32_t merged;
	size_t n;

	assert(code.left >= 0 && code.left < c->symbols.n);
	assert(code.right >= 0 && code.right < c->symbols.n);
	buf_clear(scratch);
	text = intern_text(&c->symbols, code.left, &n);
	buf_add(scratch, text, n);
	text = intern_text(&c->symbols, code.right, &n);
	buf_add(scratch, text, n);
	if (buf_check(scratch, e) ||
	    intern_add(&c->symbols, scratch->data, scratch->len, &merged, e) ||
	    hash_index_reserve(&c->rule_index, c->n_rules, 1024, e) ||
	    mem_grow(&c->rules, &c->cap_rules, c->n_rules + 1, sizeof(*c->rules), e))
		return e->code;
	slot = hash_index_slot(&c->rule_index, hash, rule_has_key, c->rules, &key);
	if (*slot)
		return 0; /* the first line with these two symbols counts */
	hash_slot_fill(slot, hash, (uint32_t)c->n_rules);
	c->rules[c->n_rules++] = (struct bpe_rule){ .key = key, .rank = rank, .merged = merged };
	return 0;
}

/* ---- reading ---- */

/* Read the line "#version: 0.2"; ".0" at its end is ignored. */
static int read_version(struct bpe_codes *c, const char *path, const char *line, size_t n,
			struct err *e)
{
	const char *at = line + MARK_BYTES;
	size_t len = n - MARK_BYTES;

	bpe_trim(&at, &len);
	while (len > 3 && !memcmp(at + len - 2, ".0", 2))
		len -= 2;
	if (len != 3 || (memcmp(at, "0.1", 3) && memcmp(at, "0.2", 3)))
		return err_set(e, ERR_DATA,
			       "%s: line 1: version \"%.*s\" of BPE codes, expected 0.1 or 0.2",
			       path, (int)MIN(len, 20), at);
	c->has_end_symbol = at[2] == '1';
	return 0;
}

static int read_code(struct bpe_codes *c, struct code *code, const char *line, size_t n,
		     struct err *e)
{
	const char *blank, *second;
	size_t n_second;

	if (!utf8_valid(line, n))
		return err_set(e, ERR_DATA, "not UTF-8 text: this is not a BPE codes file");
	bpe_trim(&line, &n);
	blank = memchr(line, ' ', n);
	second = blank ? blank + 1 : line;
	n_second = n - (size_t)(second - line);
	if (!blank || memchr(second, ' ', n_second))
		return err_set(e, ERR_DATA,
			       "expected two pieces separated by one blank, found \"%.*s\"",
			       (int)MIN(n, 80), line);
	if (intern_add(&c->symbols, line, (size_t)(blank - line), &code->left, e))
		return e->code;
	return intern_add(&c->symbols, second, n_second, &code->right, e);
}

/*
 * The two symbols that each symbol was merged from. Where several pairs build the same string:
 * the pair whose last line comes first.
 */
static int find_symbol_parts(struct bpe_codes *c, const struct code *codes, size_t n, struct err *e)
{
	bool *is_seen = mem_alloc(c->n_rules, sizeof(*is_seen), e);

	c->parts = is_seen ? mem_alloc((size_t)c->symbols.n, sizeof(*c->parts), e) : NULL;
	if (!c->parts) {
		free(is_seen);
		return e->code;
	}
	for (int32_t i = 0; i < c->symbols.n; i++)
		c->parts[i] = (struct bpe_parts){ -1, -1 };
	/* Backwards, so that the last line of each pair is seen first. */
	while (n--) {
		const struct bpe_rule *r = bpe_codes_find(c, codes[n].left, codes[n].right);

		assert(r); /* add_rule() added it, or found it */
		if (!is_seen[r - c->rules])
			c->parts[r->merged] = (struct bpe_parts){ codes[n].left, codes[n].right };
		is_seen[r - c->rules] = true;
	}
	free(is_seen);
	return 0;
}

static int bpe_codes_read_lines(struct bpe_codes *c, const char *path, const char *at,
				const char *end, struct err *e)
{
	struct code *codes = NULL;
	struct buf scratch = { 0 };
	size_t n = 0, cap = 0;
	int64_t number = 1;
	int rc = 0;

	c->has_end_symbol = true; /* files without a version line are 0.1 */
	for (const char *next; !rc && at < end; at = next, number++) {
		const char *lf = memchr(at, '\n', (size_t)(end - at));
		size_t len = (size_t)((lf ? lf : end) - at);

		next = lf ? lf + 1 : end;
		if (number == 1 && len >= MARK_BYTES && !memcmp(at, VERSION_MARK, MARK_BYTES)) {
			rc = read_version(c, path, at, len, e);
			continue;
		}
		if ((rc = mem_grow(&codes, &cap, n + 1, sizeof(*codes), e)))
			break;
		rc = read_code(c, &codes[n], at, len, e);
		if (!rc)
			rc = add_rule(c, codes[n], (int32_t)n, &scratch, e);
		if (rc)
			err_prefix(e, "%s: line %" PRId64, path, number);
		n++;
	}
	if (!rc)
		rc = find_symbol_parts(c, codes, n, e);
	buf_free(&scratch);
	free(codes);
	return rc;
}

int bpe_codes_read(struct bpe_codes *c, const char *path, struct err *e)
{
	struct buf file = { 0 };
	int rc = file_read_all(path, MAX_CODES_BYTES, &file,
			       e); /* MAX_CODES_BYTES: fewer than 2^31 lines */

	while (!rc && file.len && file.data[file.len - 1] == '\n')
		buf_truncate(&file, file.len - 1);
	if (!rc && !file.len)
		rc = err_set(e, ERR_DATA, "%s: the file of BPE codes is empty", path);
	if (!rc)
		rc = bpe_codes_read_lines(c, path, file.data, file.data + file.len, e);
	buf_free(&file);
	return rc;
}

/* Add a rule for each split of piece number id into two pieces. */
static int add_merges_of_piece(struct bpe_codes *c, int32_t id, struct buf *scratch, struct err *e)
{
	size_t n;
	const char *text = intern_text(&c->symbols, id, &n);

	for (size_t i = bpe_char_length(text, n); i < n; i += bpe_char_length(text + i, n - i)) {
		struct code code = { intern_find(&c->symbols, text, i),
				     intern_find(&c->symbols, text + i, n - i) };

		if (code.left >= N_SPECIAL_TOKENS && code.right >= N_SPECIAL_TOKENS &&
		    add_rule(c, code, id, scratch, e))
			return e->code;
	}
	return 0;
}

int bpe_codes_of_vocab(struct bpe_codes *c, const struct vocab *v, struct err *e)
{
	struct buf scratch = { 0 };
	int32_t id, size = vocab_real_size(v);
	int rc = 0;

	c->parts = mem_alloc((size_t)size, sizeof(*c->parts), e);
	if (!c->parts)
		return e->code;
	for (int32_t i = 0; i < size; i++) {
		const char *text = vocab_piece(v, i);

		c->parts[i] = (struct bpe_parts){ -1, -1 };
		if (intern_add(&c->symbols, text, strlen(text), &id, e))
			return e->code;
	}
	for (id = N_SPECIAL_TOKENS; !rc && id < size; id++)
		rc = add_merges_of_piece(c, id, &scratch, e);
	buf_free(&scratch);
	return rc;
}

void bpe_codes_free(struct bpe_codes *c)
{
	intern_free(&c->symbols);
	free(c->parts);
	free(c->rules);
	hash_index_free(&c->rule_index);
	*c = (struct bpe_codes){ 0 };
}
