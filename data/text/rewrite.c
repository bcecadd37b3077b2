/* rewrite.c - regular expressions by PCRE2: see rewrite.h */
#include "data/text/rewrite.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#define PCRE2_CODE_UNIT_WIDTH 8
#include <pcre2.h>

#include "share/base/mem.h"
#include "share/base/text.h"
#include "share/base/util.h"

#define JIT_STACK_START ((size_t)32 << 10)
#define JIT_STACK_MOST	((size_t)8 << 20)
#define TYPED_STEPS	20000 /* of a match with REGEX_TYPED: about a millisecond */

struct regex {
	pcre2_code *code;
	pcre2_match_data *match;
	pcre2_match_context *context; /* holds the stack of the JIT compiler */
	pcre2_jit_stack *stack;	      /* NULL: no JIT compiler for this machine */
	const char *pattern;	      /* borrowed: for messages */
	bool bytes;
	uint32_t options;  /* of every match */
	uint8_t needed[8]; /* bytes that every match contains */
	size_t n_needed;
};

/* Which bytes occur in a text. */
struct bytes_seen {
	bool has[256];
};

static void find_seen_bytes(struct bytes_seen *seen, const char *text, size_t n)
{
	memset(seen->has, 0, sizeof(seen->has));
	for (size_t i = 0; i < n; i++)
		seen->has[(unsigned char)text[i]] = true;
}

static bool can_match(const struct regex *r, const struct bytes_seen *seen)
{
	for (size_t i = 0; i < r->n_needed; i++)
		if (!seen->has[r->needed[i]])
			return false;
	return true;
}

/*
 * Find bytes that every match contains. A pattern without operators: all of its bytes. Other
 * patterns: the first and the last fixed byte, as PCRE2 reports them. Without case: none, since
 * PCRE2 reports one of two possible bytes.
 */
static void find_needed_bytes(struct regex *r, unsigned flags)
{
	uint32_t type = 0, byte = 0;

	if (flags & REGEX_CASELESS || strstr(r->pattern, "(?"))
		return;
	if (!strpbrk(r->pattern, "\\^$.[|()?*+{")) {
		for (const char *p = r->pattern; *p && r->n_needed < sizeof(r->needed); p++)
			r->needed[r->n_needed++] = (uint8_t)*p;
		return;
	}
	pcre2_pattern_info(r->code, PCRE2_INFO_FIRSTCODETYPE, &type);
	pcre2_pattern_info(r->code, PCRE2_INFO_FIRSTCODEUNIT, &byte);
	if (type == 1)
		r->needed[r->n_needed++] = (uint8_t)byte;
	pcre2_pattern_info(r->code, PCRE2_INFO_LASTCODETYPE, &type);
	pcre2_pattern_info(r->code, PCRE2_INFO_LASTCODEUNIT, &byte);
	if (type == 1)
		r->needed[r->n_needed++] = (uint8_t)byte;
}

static pcre2_code *regex_compile(const char *pattern, unsigned flags, struct err *e)
{
	uint32_t options = flags & REGEX_BYTES ? PCRE2_NEVER_UTF : PCRE2_UTF | PCRE2_UCP;
	pcre2_compile_context *context = pcre2_compile_context_create(NULL);
	pcre2_code *code;
	PCRE2_SIZE at = 0;
	int problem = 0;

	if (!context) {
		err_set(e, ERR_NOMEM, "no memory to compile the pattern \"%s\"", pattern);
		return NULL;
	}
	/* override the defaults of the library's build: LF ends lines, \R is any line end */
	pcre2_set_newline(context, PCRE2_NEWLINE_LF);
	pcre2_set_bsr(context, PCRE2_BSR_UNICODE);
	if (flags & REGEX_CASELESS)
		options |= PCRE2_CASELESS;
	if (flags & REGEX_TYPED)
		options |= PCRE2_MATCH_INVALID_UTF | PCRE2_NEVER_BACKSLASH_C;
	code = pcre2_compile((PCRE2_SPTR)pattern, PCRE2_ZERO_TERMINATED, options, &problem, &at,
			     context);
	pcre2_compile_context_free(context);
	if (!code) {
		PCRE2_UCHAR words[120] = "";

		pcre2_get_error_message(problem, words, sizeof(words));
		if (flags & REGEX_TYPED && problem != PCRE2_ERROR_NOMEMORY) {
			err_set(e, ERR_USAGE, "no regular expression: %s, at character %zu",
				(const char *)words, utf8_count(pattern, (size_t)at) + 1);
			return NULL;
		}
		err_set(e, problem == PCRE2_ERROR_NOMEMORY ? ERR_NOMEM : ERR_INTERNAL,
			"cannot compile the pattern \"%s\", at byte %zu: %s (expected PCRE2 10.40 "
			"or newer)",
			pattern, (size_t)at, (const char *)words);
	}
	return code;
}

struct regex *regex_new(const char *pattern, unsigned flags, struct err *e)
{
	struct regex *r = mem_alloc(1, sizeof(*r), e);

	if (!r)
		return NULL;
	r->pattern = flags & REGEX_TYPED ? "as typed" : pattern;
	r->bytes = flags & REGEX_BYTES;
	r->options = flags & REGEX_TYPED ? 0 : PCRE2_NO_UTF_CHECK;
	r->code = regex_compile(pattern, flags, e);
	if (!r->code)
		goto fail;
	r->match = pcre2_match_data_create_from_pattern(r->code, NULL);
	r->context = pcre2_match_context_create(NULL);
	if (!r->match || !r->context) {
		err_set(e, ERR_NOMEM, "no memory for the pattern \"%s\"", pattern);
		goto fail;
	}
	if (flags & REGEX_TYPED)
		pcre2_set_match_limit(r->context, TYPED_STEPS);
	else
		find_needed_bytes(r, flags);
	/* without the JIT compiler the matches are the same, but slower */
	if (pcre2_jit_compile(r->code, PCRE2_JIT_COMPLETE) == 0) {
		r->stack = pcre2_jit_stack_create(JIT_STACK_START, JIT_STACK_MOST, NULL);
		if (r->stack)
			pcre2_jit_stack_assign(r->context, NULL, r->stack);
	}
	return r;
fail:
	regex_free(r);
	return NULL;
}

void regex_free(struct regex *r)
{
	if (!r)
		return;
	pcre2_match_context_free(r->context);
	pcre2_jit_stack_free(r->stack);
	pcre2_match_data_free(r->match);
	pcre2_code_free(r->code);
	free(r);
}

/* 1: the match data holds a match; 0: none; < 0: failure. */
static int match_at(struct regex *r, const char *text, size_t n, size_t from, uint32_t options,
		    struct err *e)
{
	PCRE2_UCHAR words[120] = "";
	int rc;

	rc = pcre2_match(r->code, (PCRE2_SPTR)text, n, from, options | r->options, r->match,
			 r->context);
	if (rc >= 0)
		return 1;
	if (rc == PCRE2_ERROR_NOMATCH)
		return 0;
	pcre2_get_error_message(rc, words, sizeof(words));
	return err_set(e, rc == PCRE2_ERROR_NOMEMORY ? ERR_NOMEM : ERR_DATA,
		       "cannot match the pattern \"%s\" in a text of %zu bytes: %s", r->pattern, n,
		       (const char *)words);
}

int regex_find(struct regex *r, const char *text, size_t n, size_t from, struct regex_span *spans,
	       size_t n_spans, struct err *e)
{
	size_t groups = pcre2_get_ovector_count(r->match);
	const PCRE2_SIZE *at = pcre2_get_ovector_pointer(r->match);
	int rc;

	assert(from <= n);
	rc = match_at(r, text, n, from, 0, e);
	if (rc <= 0)
		return rc;
	for (size_t i = 0; i < n_spans; i++) {
		bool has_matched = i < groups && at[2 * i] != PCRE2_UNSET;

		spans[i].start = has_matched ? at[2 * i] : SIZE_MAX;
		spans[i].end = has_matched ? at[2 * i + 1] : SIZE_MAX;
	}
	return 1;
}

static void add_replacement(struct regex *r, const char *replacement, const char *text,
			    struct buf *out)
{
	const PCRE2_SIZE *at = pcre2_get_ovector_pointer(r->match);
	size_t groups = pcre2_get_ovector_count(r->match);
	const char *p = replacement;

	while (*p) {
		size_t literal = strcspn(p, "$");
		size_t group;

		buf_add(out, p, literal);
		p += literal;
		if (!*p)
			return;
		if (p[1] < '0' || p[1] > '9') {
			buf_add_char(out, '$');
			p += p[1] == '$' ? 2 : 1;
			continue;
		}
		group = (size_t)(p[1] - '0');
		if (group < groups && at[2 * group] != PCRE2_UNSET)
			buf_add(out, text + at[2 * group], at[2 * group + 1] - at[2 * group]);
		p += 2;
	}
}

/* Bytes of the character at p, where left bytes remain. */
static size_t regex_char_length(const struct regex *r, const char *p, size_t left)
{
	uint32_t codepoint;

	return r->bytes ? 1 : utf8_decode(p, left, &codepoint);
}

int regex_replace(struct regex *r, const char *replacement, const char *text, size_t n,
		  struct buf *out, struct err *e)
{
	const PCRE2_SIZE *at = pcre2_get_ovector_pointer(r->match);
	size_t done = 0, from = 0;
	uint32_t options = 0;
	bool any = false;

	if (!text)
		text = "";
	while (from <= n) {
		int rc = match_at(r, text, n, from, options, e);

		if (rc < 0)
			return rc;
		if (rc == 0 && !options)
			break;
		if (rc == 0) {
			/* no other match begins where the empty match was: skip one character */
			from += from < n ? regex_char_length(r, text + from, n - from) : 1;
			options = 0;
			continue;
		}
		assert(done <= at[0] && at[0] <= at[1] && at[1] <= n);
		buf_add(out, text + done, at[0] - done);
		add_replacement(r, replacement, text, out);
		any = true;
		done = from = at[1];
		options = at[0] == at[1] ? PCRE2_NOTEMPTY_ATSTART | PCRE2_ANCHORED : 0;
	}
	if (!any)
		return 0;
	buf_add(out, text + done, n - done);
	return buf_check(out, e) ? e->code : 1;
}

/* ---- lists ---- */

struct rewrite {
	const struct rewrite_rule *rules; /* borrowed */
	struct regex **regexes;		  /* owned, one a rule */
	size_t n;
	struct buf next; /* swapped with the text after each rule that matched */
};

struct rewrite *rewrite_new(const struct rewrite_rule *rules, size_t n, struct err *e)
{
	struct rewrite *w = mem_alloc(1, sizeof(*w), e);

	if (!w)
		return NULL;
	w->rules = rules;
	w->n = n;
	w->regexes = mem_alloc(n, sizeof(*w->regexes), e);
	for (size_t i = 0; w->regexes && i < n; i++) {
		w->regexes[i] = regex_new(rules[i].pattern, rules[i].flags, e);
		if (!w->regexes[i])
			goto fail;
	}
	if (w->regexes)
		return w;
fail:
	rewrite_free(w);
	return NULL;
}

int rewrite_apply(struct rewrite *w, struct buf *text, struct err *e)
{
	struct bytes_seen seen;

	find_seen_bytes(&seen, text->data, text->len);
	for (size_t i = 0; i < w->n; i++) {
		int rc;

		if (!can_match(w->regexes[i], &seen))
			continue;
		buf_clear(&w->next);
		rc = regex_replace(w->regexes[i], w->rules[i].replacement, text->data, text->len,
				   &w->next, e);
		if (rc < 0)
			return rc;
		if (rc > 0) {
			struct buf old = *text;

			*text = w->next;
			w->next = old;
			find_seen_bytes(&seen, text->data, text->len);
		}
	}
	return buf_check(text, e);
}

void rewrite_free(struct rewrite *w)
{
	if (!w)
		return;
	for (size_t i = 0; w->regexes && i < w->n; i++)
		regex_free(w->regexes[i]);
	free(w->regexes);
	buf_free(&w->next);
	free(w);
}

/* ---- classes of characters ---- */

struct charclass *charclass_new(const char *const *patterns, size_t n, struct err *e)
{
	struct charclass *c = mem_alloc(1, sizeof(*c), e);

	assert(n <= ARRAY_LEN(c->patterns));
	if (!c)
		return NULL;
	/* untouched pages of zeroed memory cost nothing: only filled blocks need memory */
	c->bits = mem_alloc(CHARCLASS_CODEPOINTS, 1, e);
	if (!c->bits)
		goto fail;
	for (c->n_patterns = 0; c->n_patterns < n; c->n_patterns++) {
		struct regex *r = regex_new(patterns[c->n_patterns], 0, e);

		if (!r)
			goto fail;
		c->patterns[c->n_patterns] = r;
	}
	return c;
fail:
	charclass_free(c);
	return NULL;
}

void charclass_fill(struct charclass *c, uint32_t block)
{
	struct err ignored; /* one character never reaches a limit of the matcher */
	char text[4];

	assert(block < CHARCLASS_CODEPOINTS >> 8 && !c->known[block]);
	for (uint32_t codepoint = block << 8; codepoint < (block + 1) << 8; codepoint++) {
		size_t n;

		if (codepoint >= 0xd800 && codepoint < 0xe000)
			continue;
		n = utf8_encode(codepoint, text);
		for (size_t k = 0; k < c->n_patterns; k++)
			if (match_at(c->patterns[k], text, n, 0, PCRE2_ANCHORED, &ignored) > 0)
				c->bits[codepoint] |= (uint8_t)(1u << k);
	}
	c->known[block] = true;
}

void charclass_free(struct charclass *c)
{
	if (!c)
		return;
	for (size_t k = 0; k < c->n_patterns; k++)
		regex_free(c->patterns[k]);
	free(c->bits);
	free(c);
}
