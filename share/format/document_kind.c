/* document_kind.c - see document_kind.h */
#include "share/format/document_kind.h"

#include <string.h>
#include <strings.h>

#include "share/base/util.h"

static const struct document_kind document_kinds[] = {
	/* clang-format off */
	{ "txt", ".txt .text " },
	{ "html", ".html .htm .xhtml " },
	{ "md", ".md .markdown " },
	{ "xliff", ".xliff .xlf .sdlxliff " },
	{ "po", ".po .pot " },
	{ "srt", ".srt " },
	{ "vtt", ".vtt " },
	{ "tmx", ".tmx " },
	{ "docx", ".docx " },
	{ "odt", ".odt " },
	/* clang-format on */
};

const struct document_kind *document_kind_at(size_t i)
{
	return i < ARRAY_LEN(document_kinds) ? &document_kinds[i] : NULL;
}

const struct document_kind *document_kind_of(const char *path)
{
	const char *dot = strrchr(path, '.');

	for (size_t i = 0; dot && !strchr(dot, '/') && i < ARRAY_LEN(document_kinds); i++)
		for (const char *at = document_kinds[i].suffixes, *end;
		     (end = strchr(at, ' ')) != NULL; at = end + 1)
			if (strlen(dot) == (size_t)(end - at) &&
			    !strncasecmp(dot, at, (size_t)(end - at)))
				return &document_kinds[i];
	return NULL;
}
