/* import_vocabulary.c - reads a list of tokens and writes vocab.tsv; see import_vocabulary.h */
#include "eval/import/import_vocabulary.h"

#include <stdlib.h>
#include <string.h>

#include "data/shard/token_batch.h"
#include "share/base/file.h"
#include "share/base/mem.h"
#include "share/base/text.h"
#include "share/base/util.h"

#define MAX_FILE ((size_t)1 << 28) /* bytes; no vocabulary is larger */

static int add_token_to_list(struct token_list *w, const char *word, struct err *e)
{
	if (mem_grow(&w->items, &w->cap, w->n + 1, sizeof(*w->items), e))
		return e->code;
	w->items[w->n++] = word;
	return 0;
}

static int read_token_array(struct token_list *w, const char *path, struct err *e)
{

	w->tree = json_parse(buf_text(&w->text), w->text.len, e);
	if (!w->tree)
		return err_prefix(e, "%s", path);
	for (const struct json *x = json_first(w->tree); x; x = json_next(w->tree, x)) {
		const char *word = json_text(x, NULL);

		if (!word)
			return err_set(
				e, ERR_DATA,
				"%s: element %zu is not a string: expected an array of tokens",
				path, w->n + 1);
		if (add_token_to_list(w, word, e))
			return e->code;
	}
	return 0;
}

/* {"TOKEN": NUMBER, ...}: each number at most once, none beyond the number of tokens by much. */
static int read_token_object(struct token_list *w, const char *path, struct err *e)
{
	size_t rows;

	w->tree = json_parse(buf_text(&w->text), w->text.len, e);
	if (!w->tree)
		return err_prefix(e, "%s", path);
	rows = 2 * json_len(w->tree) + 1000;
	w->items = mem_alloc(rows, sizeof(*w->items), e);
	if (!w->items)
		return e->code;
	w->cap = rows;
	for (const struct json *x = json_first(w->tree); x; x = json_next(w->tree, x)) {
		const int64_t i = json_integer(x, -1);

		if (i < 0 || (size_t)i >= rows || w->items[i])
			return err_set(e, ERR_DATA,
				       "%s: the token \"%.60s\" has the number %lld, which is no "
				       "row, or that of another token",
				       path, json_child_key(x), (long long)i);
		w->items[i] = json_child_key(x);
		w->n = MAX(w->n, (size_t)i + 1);
	}
	return 0;
}

/* Removes a tab and a count from the end of a line. */
static void cut_count(char *line)
{
	char *tab = strrchr(line, '\t');
	int64_t count;

	if (tab && tab != line && text_to_int(tab + 1, &count))
		*tab = 0;
}

static int read_token_lines(struct token_list *w, const char *path, struct err *e)
{
	char *at = w->text.data, *end = at + w->text.len;

	while (at < end) {
		char *lf = memchr(at, '\n', (size_t)(end - at)), *stop = lf ? lf : end;

		*stop = 0; /* without a line end this is the NUL that buf has after its end */
		if (stop > at && stop[-1] == '\r')
			stop[-1] = 0;
		if (strlen(at) + 1 < (size_t)(stop - at) || !utf8_valid(at, strlen(at)))
			return err_set(e, ERR_DATA, "%s: line %zu is not UTF-8 text", path,
				       w->n + 1);
		cut_count(at);
		if (add_token_to_list(w, at, e))
			return e->code;
		at = stop + 1;
	}
	return 0;
}

int token_list_open(struct token_list *w, const char *path, struct err *e)
{
	int rc;

	*w = (struct token_list){ .n = 0 };
	rc = file_read_all(path, MAX_FILE, &w->text, e);
	if (rc)
		return rc;
	switch (w->text.len ? w->text.data[0] : 0) {
	case '[':
		rc = read_token_array(w, path, e);
		break;
	case '{':
		rc = read_token_object(w, path, e);
		break;
	default:
		rc = read_token_lines(w, path, e);
	}
	if (!rc && !w->n)
		rc = err_set(e, ERR_DATA, "%s has no tokens", path);
	return rc;
}

void token_list_close(struct token_list *w)
{
	free(w->items);
	json_free(w->tree);
	buf_free(&w->text);
	*w = (struct token_list){ .n = 0 };
}

/* at[i]: the row of special token i (TOKEN_PAD ...); -1: the list does not have it. */
static void find_special(const struct token_list *w, const struct special_token_names *s,
			 int64_t at[N_SPECIAL_TOKENS])
{
	const char *names[N_SPECIAL_TOKENS + 1] = { [TOKEN_PAD] = "<pad>",
						    [TOKEN_END] = s->end,
						    [TOKEN_START] = s->start,
						    [TOKEN_UNKNOWN] = s->unknown,
						    [N_SPECIAL_TOKENS] = "<blank>" };

	for (size_t k = 0; k < N_SPECIAL_TOKENS; k++)
		at[k] = -1;
	for (size_t k = 0; k < ARRAY_LEN(names); k++)
		for (size_t i = 0; i < w->n && at[k % N_SPECIAL_TOKENS] < 0; i++)
			if (names[k] && w->items[i] && !strcmp(w->items[i], names[k]))
				at[k % N_SPECIAL_TOKENS] = (int64_t)i;
}

static int check_special(const struct special_token_names *s, const int64_t at[N_SPECIAL_TOKENS],
			 struct err *e)
{
	const char *names[N_SPECIAL_TOKENS] = { "<pad> or <blank>", s->end, s->start, s->unknown };

	for (size_t k = 0; k < N_SPECIAL_TOKENS; k++)
		if (at[k] < 0 && !(s->may_lack && (k == TOKEN_PAD || k == TOKEN_START)) &&
		    !(s->may_lack_end && k != TOKEN_UNKNOWN))
			return err_set(
				e, ERR_DATA,
				"the vocabulary has no %.60s: an untrained row would take part "
				"in every prediction",
				names[k]);
	for (size_t k = 1; k < N_SPECIAL_TOKENS; k++)
		for (size_t i = 0; i < k; i++)
			if (at[i] == at[k] && at[i] >= 0)
				return err_set(e, ERR_DATA,
					       "%.60s is the name of two special tokens of the "
					       "vocabulary: each needs its own row",
					       names[k]);
	return 0;
}

int token_list_write(const struct token_list *w, const struct special_token_names *s,
		     const char *path, int32_t **rows, int32_t *n, struct err *e)
{
	static const char head[] = "<pad>\t0\n</s>\t0\n<s>\t0\n<unk>\t0\n";
	int64_t at[N_SPECIAL_TOKENS];
	struct buf text = { 0 };
	int rc;

	*n = 0;
	find_special(w, s, at);
	if (check_special(s, at, e))
		return e->code;
	*rows = w->n < INT32_MAX / 8 ? mem_alloc(w->n + N_SPECIAL_TOKENS, sizeof(**rows), e) : NULL;
	if (!*rows)
		return err_set(e, ERR_NOMEM, "cannot allocate the rows of %zu tokens", w->n);
	for (; *n < N_SPECIAL_TOKENS; ++*n)
		(*rows)[*n] = (int32_t)at[*n];
	buf_add_str(&text, head);
	for (size_t i = 0; i < w->n; i++) {
		if (!w->items[i] || (int64_t)i == at[0] || (int64_t)i == at[1] ||
		    (int64_t)i == at[2] || (int64_t)i == at[3])
			continue;
		if (strchr(w->items[i], '\n')) {
			buf_free(&text);
			return err_set(e, ERR_DATA,
				       "token %zu of the vocabulary contains a line end", i + 1);
		}
		(*rows)[(*n)++] = (int32_t)i;
		buf_printf(&text, "%s\t0\n", w->items[i]);
	}
	/* as in Werkbank's own vocabularies, the size is a multiple of 8 */
	for (int i = 0; (*n + i) % 8; i++)
		buf_printf(&text, "<unused%d>\t0\n", i);
	rc = buf_check(&text, e);
	if (!rc)
		rc = file_write_all(path, text.data, text.len, e);
	buf_free(&text);
	return rc;
}
