/* xml_reader.c - XML by expat, within bounds (see xml_reader.h) */
#include "data/bilingual/xml_reader.h"

#include "config.h"

#include <string.h>

const char *xml_local_name(const char *name)
{
	const char *colon = strchr(name, ':');

	return colon ? colon + 1 : name;
}

const char *xml_attribute(const char *const *attributes, const char *name)
{
	for (; attributes[0]; attributes += 2)
		if (!strcmp(xml_local_name(attributes[0]), name))
			return attributes[1];
	return "";
}

#ifdef HAVE_EXPAT

#include <assert.h>
#include <expat.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>

#include "data/bilingual/bilingual_internal.h"
#include "share/base/hash.h"
#include "share/base/mem.h"
#include "share/base/util.h"

#define CHUNK_BYTES	((size_t)64 << 10)
#define MAX_CHUNK_BYTES ((size_t)4 << 20)
#define NAME_SLOTS	32768u /* a power of two, above 2 * XML_MAX_NAMES */

struct xml_reader {
	XML_Parser parser;
	const char *name;
	const struct xml_events *events;
	void *to;
	lines_read *read;
	void *from;
	int depth;
	size_t silent;	 /* bytes since the last event: a tag that has not ended */
	uint64_t *names; /* owned: [NAME_SLOTS] hashes of names; 0: free */
	size_t n_names;
	struct err failure; /* of an event; code 0: none */
};

/* The parser stops; the error stays in r->failure. */
static void PRINTF_LIKE(2, 3) stop_parser(struct xml_reader *r, const char *fmt, ...)
{
	va_list ap;
	char text[200];

	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	err_set(&r->failure, ERR_DATA, "%s:%lld: %s", r->name,
		(long long)XML_GetCurrentLineNumber(r->parser), text);
	XML_StopParser(r->parser, XML_FALSE);
}

/* Expat keeps each name that it has seen: their number is bounded. */
static bool note_name(struct xml_reader *r, const char *name)
{
	const uint64_t hash = hash_bytes(name, strlen(name)) | 1;
	size_t i = (size_t)hash / 2 % NAME_SLOTS;

	while (r->names[i] && r->names[i] != hash)
		i = (i + 1) % NAME_SLOTS;
	if (r->names[i])
		return true;
	r->names[i] = hash;
	if (++r->n_names <= XML_MAX_NAMES)
		return true;
	stop_parser(r, "has more than %d different names of elements and attributes",
		    XML_MAX_NAMES);
	return false;
}

static void XMLCALL on_begin(void *data, const XML_Char *name, const XML_Char **attributes)
{
	struct xml_reader *r = data;

	r->silent = 0;
	if (r->failure.code || !note_name(r, name))
		return;
	for (size_t i = 0; attributes[i]; i += 2)
		if (!note_name(r, attributes[i]))
			return;
	if (++r->depth > XML_MAX_DEPTH)
		stop_parser(r, "elements are nested more than %d deep", XML_MAX_DEPTH);
	else if (r->events->begin(r->to, xml_local_name(name), (const char *const *)attributes,
				  r->depth, &r->failure))
		XML_StopParser(r->parser, XML_FALSE);
}

static void XMLCALL on_end(void *data, const XML_Char *name)
{
	struct xml_reader *r = data;

	r->silent = 0;
	if (r->failure.code)
		return;
	if (r->events->end(r->to, xml_local_name(name), r->depth, &r->failure))
		XML_StopParser(r->parser, XML_FALSE);
	r->depth--;
}

static void XMLCALL on_text(void *data, const XML_Char *text, int n)
{
	struct xml_reader *r = data;

	r->silent = 0;
	if (!r->failure.code && r->events->text(r->to, text, (size_t)n, &r->failure))
		XML_StopParser(r->parser, XML_FALSE);
}

/* Comments and other parts without an event of their own. */
static void XMLCALL on_other(void *data, const XML_Char *text, int n)
{
	(void)text;
	(void)n;
	((struct xml_reader *)data)->silent = 0;
}

static void XMLCALL on_doctype(void *data, const XML_Char *name, const XML_Char *system,
			       const XML_Char *public, int has_declarations)
{
	(void)name;
	(void)system;
	(void)public;
	if (has_declarations)
		stop_parser(data, "the DOCTYPE declares entities or elements: remove what is "
				  "between its brackets");
}

static void XMLCALL on_unknown_entity(void *data, const XML_Char *name, int is_parameter)
{
	(void)is_parameter;
	stop_parser(data,
		    "the entity &%.60s; is unknown: an external DTD is not read; write the "
		    "character itself",
		    name);
}

bool xml_reader_is_built(void)
{
	return true;
}

struct xml_reader *xml_reader_open(const char *name, const struct xml_events *events, void *to,
				   lines_read *read, void *from, struct err *e)
{
	struct xml_reader *r = mem_alloc(1, sizeof(*r), e);

	if (!r)
		return NULL;
	*r = (struct xml_reader){
		.name = name, .events = events, .to = to, .read = read, .from = from
	};
	r->names = mem_alloc(NAME_SLOTS, sizeof(*r->names), e);
	r->parser = r->names ? XML_ParserCreate("UTF-8") : NULL;
	if (!r->parser) {
		err_set(e, ERR_NOMEM, "%s: out of memory", name);
		xml_reader_close(r);
		return NULL;
	}
	XML_SetUserData(r->parser, r);
	XML_SetElementHandler(r->parser, on_begin, on_end);
	XML_SetCharacterDataHandler(r->parser, on_text);
	XML_SetDefaultHandlerExpand(r->parser, on_other);
	XML_SetStartDoctypeDeclHandler(r->parser, on_doctype);
	XML_SetSkippedEntityHandler(r->parser, on_unknown_entity);
	return r;
}

static int parse_chunk(struct xml_reader *r, size_t n, bool is_last, struct err *e)
{
	if (XML_ParseBuffer(r->parser, (int)n, is_last) == XML_STATUS_OK)
		return 0;
	if (r->failure.code) {
		*e = r->failure;
		return e->code;
	}
	if (XML_GetErrorCode(r->parser) == XML_ERROR_NO_MEMORY)
		return err_set(e, ERR_NOMEM, "%s: out of memory", r->name);
	return err_set(e, ERR_DATA, "%s:%lld: is no well-formed XML: %s%s", r->name,
		       (long long)XML_GetCurrentLineNumber(r->parser),
		       XML_ErrorString(XML_GetErrorCode(r->parser)),
		       XML_GetErrorCode(r->parser) == XML_ERROR_INVALID_TOKEN
			       ? " (--repair replaces invalid UTF-8 and control characters)"
			       : "");
}

/*
 * Bytes for the next call of expat. Expat before 2.6 scans a tag that has not ended again from its
 * beginning at each call: chunks as long as the part that it has keep the time linear.
 */
static int64_t read_chunk(struct xml_reader *r, size_t *room, struct err *e)
{
	char *bytes;
	size_t n = 0;
	int64_t got = 1;

	*room = MIN(MAX(CHUNK_BYTES, r->silent), MAX_CHUNK_BYTES);
	bytes = XML_GetBuffer(r->parser, (int)*room);
	if (!bytes)
		return err_set(e, ERR_NOMEM, "%s: out of memory", r->name);
	while (got > 0 && n < *room) {
		got = r->read(r->from, bytes + n, *room - n, e);
		n += got > 0 ? (size_t)got : 0;
	}
	return got < 0 ? got : (int64_t)n;
}

int xml_reader_step(struct xml_reader *r, struct err *e)
{
	size_t room;
	const int64_t got = read_chunk(r, &room, e);

	if (got < 0)
		return (int)got;
	r->silent += (size_t)got;
	if (parse_chunk(r, (size_t)got, (size_t)got < room, e))
		return e->code;
	if (r->silent > BILINGUAL_MAX_BYTES)
		return err_set(e, ERR_DATA, "%s:%lld: a tag or comment is longer than %d MiB",
			       r->name, (long long)XML_GetCurrentLineNumber(r->parser),
			       (int)(BILINGUAL_MAX_BYTES >> 20));
	return (size_t)got == room;
}

void xml_reader_close(struct xml_reader *r)
{
	if (!r)
		return;
	if (r->parser)
		XML_ParserFree(r->parser);
	free(r->names);
	free(r);
}

#else

bool xml_reader_is_built(void)
{
	return false;
}

struct xml_reader *xml_reader_open(const char *name, const struct xml_events *events, void *to,
				   lines_read *read, void *from, struct err *e)
{
	(void)events;
	(void)to;
	(void)read;
	(void)from;
	err_set(e, ERR_UNAVAILABLE,
		"%s: is XML, but this werkbank was built without expat: install libexpat1-dev and "
		"build again, or convert the file to TSV",
		name);
	return NULL;
}

int xml_reader_step(struct xml_reader *r, struct err *e)
{
	(void)r;
	(void)e;
	return 0;
}

void xml_reader_close(struct xml_reader *r)
{
	(void)r;
}

#endif
