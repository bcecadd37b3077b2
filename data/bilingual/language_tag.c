/* language_tag.c - see language_tag.h */
#include "data/bilingual/language_tag.h"

static int language_char(char c)
{
	if (c == '_')
		return '-';
	return c >= 'A' && c <= 'Z' ? c - 'A' + 'a' : c;
}

int language_tag_fit(const char *wanted, const char *tag)
{
	if (!*wanted || !*tag)
		return 0;
	while (*wanted && *tag && language_char(*wanted) == language_char(*tag)) {
		wanted++;
		tag++;
	}
	if (!*wanted && !*tag)
		return 3;
	if (!*wanted && language_char(*tag) == '-')
		return 2;
	return !*tag && language_char(*wanted) == '-' ? 1 : 0;
}
