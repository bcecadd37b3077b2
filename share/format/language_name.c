/* language_name.c - see language_name.h */
#include "share/format/language_name.h"

#include <string.h>
#include <strings.h>

#include "share/base/util.h"

const char *language_name_of(const char *code)
{
	static const char *const names[][2] = {
#define LANGUAGE_NAME(code, name) { code, name },
#include "share/format/language_names.def"
#undef LANGUAGE_NAME
	};
	const size_t n = strcspn(code, "-_");

	for (size_t i = 0; i < ARRAY_LEN(names); i++)
		if (strlen(names[i][0]) == n && !strncasecmp(names[i][0], code, n))
			return names[i][1];
	return code;
}
