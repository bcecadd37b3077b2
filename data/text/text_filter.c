/* text_filter.c - plain texts and regular expressions as filters; see text_filter.h. */
#include "data/text/text_filter.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "data/text/rewrite.h"

#define REGEX_SIGN '~'

/* Whether a filter has a capital letter; in a regular expression those after \ do not count. */
static bool has_capital(const char *text, bool is_regex)
{
	for (; *text; text++) {
		if (is_regex && *text == '\\' && text[1]) {
			text++;
			if ((*text == 'p' || *text == 'P') && text[1] == '{')
				text += strcspn(text, "}") - (text[strcspn(text, "}")] == 0);
		} else if (isupper((unsigned char)*text)) {
			return true;
		}
	}
	return false;
}

void text_filter_clear(struct text_filter *f)
{
	regex_free(f->regex);
	*f = (struct text_filter){ 0 };
}

int text_filter_set(struct text_filter *f, const char *text, struct err *e)
{
	bool is_regex = *text == REGEX_SIGN && text[1];
	bool case_counts = has_capital(text, is_regex);
	struct regex *regex = NULL;
	char copy[TEXT_FILTER_BYTES];

	if (strlen(text) >= sizeof(copy))
		return err_set(e, ERR_USAGE, "the filter has %zu bytes; at most %d are possible",
			       strlen(text), TEXT_FILTER_BYTES - 1);
	snprintf(copy, sizeof(copy), "%s", text); /* text may be f->text */
	if (is_regex &&
	    !(regex = regex_new(copy + 1, REGEX_TYPED | (case_counts ? 0 : REGEX_CASELESS), e)))
		return e->code;
	text_filter_clear(f);
	memcpy(f->text, copy, sizeof(copy));
	f->regex = regex;
	f->case_counts = case_counts;
	return 0;
}

static const char *find_any_case(const char *text, size_t n, const char *word, size_t n_word)
{
	int first = tolower((unsigned char)*word);

	for (size_t i = 0; i + n_word <= n; i++)
		if (tolower((unsigned char)text[i]) == first &&
		    !strncasecmp(text + i, word, n_word))
			return text + i;
	return NULL;
}

/* The first match; *n_found gets its bytes, which may be 0 for a regular expression. */
static const char *find_match(const struct text_filter *f, const char *text, size_t n,
			      size_t *n_found)
{
	struct regex_span span;
	struct err ignored;

	if (f->regex) {
		if (regex_find(f->regex, text, n, 0, &span, 1, &ignored) <= 0)
			return NULL;
		*n_found = span.end - span.start;
		return text + span.start;
	}
	*n_found = strlen(f->text);
	return f->case_counts ? memmem(text, n, f->text, *n_found)
			      : find_any_case(text, n, f->text, *n_found);
}

bool text_filter_matches_bytes(const struct text_filter *f, const char *text, size_t n)
{
	size_t ignored;

	return !*f->text || find_match(f, text, n, &ignored);
}

bool text_filter_matches(const struct text_filter *f, const char *text)
{
	return text_filter_matches_bytes(f, text, strlen(text));
}

const char *text_filter_find(const struct text_filter *f, const char *text, size_t *n)
{
	const char *found = *f->text ? find_match(f, text, strlen(text), n) : NULL;

	return found && *n ? found : NULL;
}
