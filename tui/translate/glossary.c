/* glossary.c - reads, adds and finds terms; see glossary.h. */
#include "tui/translate/glossary.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "share/base/lines.h"
#include "share/base/mem.h"
#include "share/base/util.h"

void glossary_clear(struct glossary *g)
{
	for (size_t i = 0; i < g->n; i++)
		free(g->terms[i].source);
	free(g->terms);
	*g = (struct glossary){ 0 };
}

static size_t trimmed_bytes(const char *text, size_t n)
{
	while (n > 0 && (text[n - 1] == ' ' || text[n - 1] == '\t'))
		n--;
	return n;
}

static int append_glossary_term(struct glossary *g, const char *source, size_t n,
				const char *target, size_t m, struct err *e)
{
	char *text = mem_alloc(n + m + 2, 1, e);

	if (!text || mem_grow(&g->terms, &g->cap, g->n + 1, sizeof(*g->terms), e)) {
		free(text);
		return e->code;
	}
	memcpy(text, source, n);
	memcpy(text + n + 1, target, m);
	g->terms[g->n++] = (struct glossary_term){ text, text + n + 1 };
	return 0;
}

/* Sets a term from n bytes of the source and m bytes of the target, without blanks around them. */
static int set_glossary_term(struct glossary *g, const char *source, size_t n, const char *target,
			     size_t m, struct err *e)
{
	size_t skip = strspn(source, " \t"), i = 0;

	source += MIN(skip, n);
	n = trimmed_bytes(source, n - MIN(skip, n));
	skip = MIN(strspn(target, " \t"), m);
	m = trimmed_bytes(target + skip, m - skip);
	target += skip;
	if (!n || !m)
		return err_set(e, ERR_USAGE, "a term needs words of the source and of the target");
	while (i < g->n &&
	       (strlen(g->terms[i].source) != n || memcmp(g->terms[i].source, source, n)))
		i++;
	if (i == GLOSSARY_TERMS)
		return err_set(e, ERR_USAGE, "a glossary has at most %d terms", GLOSSARY_TERMS);
	if (append_glossary_term(g, source, n, target, m, e))
		return e->code;
	if (i + 1 < g->n) { /* in the place of the former one */
		free(g->terms[i].source);
		g->terms[i] = g->terms[--g->n];
	}
	return 0;
}

int glossary_copy(struct glossary *to, const struct glossary *from, struct err *e)
{
	for (size_t i = 0; i < from->n; i++) {
		const struct glossary_term *x = &from->terms[i];

		if (append_glossary_term(to, x->source, strlen(x->source), x->target,
					 strlen(x->target), e)) {
			glossary_clear(to);
			return e->code;
		}
	}
	return 0;
}

bool glossary_equals(const struct glossary *a, const struct glossary *b)
{
	size_t i = 0;

	while (i < a->n && i < b->n && !strcmp(a->terms[i].source, b->terms[i].source) &&
	       !strcmp(a->terms[i].target, b->terms[i].target))
		i++;
	return i == a->n && i == b->n;
}

int glossary_add(struct glossary *g, const char *line, struct err *e)
{
	const char *sign = strstr(line, " = ");

	if (!sign)
		return err_set(e, ERR_USAGE, "a term is \"source = target\"");
	return set_glossary_term(g, line, (size_t)(sign - line), sign + 3, strlen(sign + 3), e);
}

int glossary_read(struct glossary *g, const char *path, struct err *e)
{
	struct glossary fresh = { 0 };
	struct lines in;
	int got, rc = 0;

	if (lines_open_file(&in, path, e))
		return e->code;
	while (!rc && (got = lines_next(&in, e)) != 0) {
		const char *tab = got > 0 ? strchr(in.text, '\t') : NULL;

		if (got < 0)
			rc = e->code;
		else if (!in.text[strspn(in.text, " \t")])
			continue;
		else if (!tab)
			rc = err_set(e, ERR_DATA, "%s, line %lld: a term is SOURCE TAB TARGET",
				     path, (long long)in.number);
		else
			rc = set_glossary_term(&fresh, in.text, (size_t)(tab - in.text), tab + 1,
					       strlen(tab + 1), e);
	}
	lines_close(&in);
	if (rc) {
		glossary_clear(&fresh);
		return rc;
	}
	glossary_clear(g);
	*g = fresh;
	return 0;
}

size_t glossary_find(const struct glossary *g, const char *text, size_t found[GLOSSARY_OF_A_TEXT])
{
	size_t n = 0;

	for (size_t i = 0; i < g->n && n < GLOSSARY_OF_A_TEXT; i++)
		if (strcasestr(text, g->terms[i].source))
			found[n++] = i;
	return n;
}

static bool is_word_byte(char c)
{
	return (c & 0x80) || isalnum((unsigned char)c);
}

/* Whether two neighbouring bytes belong to the same word. */
static bool is_joined(char left, char right)
{
	return is_word_byte(left) && is_word_byte(right) && !(left & right & 0x80);
}

bool glossary_has_words(const char *text, const char *words, bool ignores_case)
{
	size_t n = strlen(words);

	for (const char *at = text;
	     n && (at = ignores_case ? strcasestr(at, words) : strstr(at, words)); at++)
		if ((at == text || !is_joined(at[-1], *at)) && !is_joined(at[n - 1], at[n]))
			return true;
	return false;
}
