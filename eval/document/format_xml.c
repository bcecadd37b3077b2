/*
 * format_xml.c - XLIFF 1.2 and 2, TMX, and the parts of DOCX and ODT documents
 *
 * Expat has checked the bytes (docfile.c), so tags are well nested here. Units that have a translation keep it.
 */
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "eval/document/docfile.h"
#include "eval/document/markup_internal.h"
#include "share/base/buf.h"
#include "share/base/util.h"

/* A place in a part. */
struct xml_scan {
	const char *bytes;
	size_t n, at;
	struct markup_tag tag; /* the tag at `at` */
};

/* Goes to the next tag with a name, from s->at on. false: there is none. */
static bool next_tag(struct xml_scan *s)
{
	while (s->at < s->n) {
		const char *found = memchr(s->bytes + s->at, '<', s->n - s->at);

		if (!found)
			break;
		s->at = (size_t)(found - s->bytes);
		if (!markup_read_tag(found, s->n - s->at, &s->tag)) {
			s->at++;
			continue;
		}
		if (s->tag.has_name)
			return true;
		s->at += s->tag.n;
	}
	s->at = s->n;
	return false;
}

static bool is_xml_tag(const struct xml_scan *s, const char *names, bool is_end)
{
	size_t n;
	const char *local = markup_local_name(&s->tag, &n);

	return s->tag.is_end == is_end &&
	       (markup_has_name(names, s->tag.name, s->tag.n_name, false) ||
		markup_has_name(names, local, n, false));
}

/* An element: its bytes from … to, and its content. */
struct xml_element {
	size_t from, to, inner, inner_end;
	bool exists;
};

/* The element that begins at s->at. */
static struct xml_element element_here(const struct xml_scan *s)
{
	const char *at = s->bytes + s->at;
	const size_t n = s->tag.is_empty
				 ? s->tag.n
				 : markup_element_bytes(MARKUP_XML, at, s->n - s->at, &s->tag);
	struct xml_element x = {
		.from = s->at, .to = s->at + n, .inner = s->at + s->tag.n, .exists = n > 0
	};

	x.inner_end = x.to;
	while (!s->tag.is_empty && x.inner_end > x.inner && s->bytes[--x.inner_end] != '<')
		;
	return x;
}

static bool has_value(const struct xml_scan *s, const char *name, const char *value)
{
	size_t n;
	const char *found = markup_tag_value(s->bytes + s->at, s->tag.n, name, &n);

	return found && n == strlen(value) && !strncasecmp(found, value, n);
}

static bool is_xml_space(const char *text, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (!isspace((unsigned char)text[i]))
			return false;
	return true;
}

#define CDATA_BEGIN 9 /* bytes of <![CDATA[ */
#define CDATA_END   3 /* bytes of ]]> */

static bool is_cdata(const char *at, const struct markup_tag *tag)
{
	return tag->n >= CDATA_BEGIN + CDATA_END && at[1] == '!' && at[2] == '[';
}

/* White space, empty CDATA sections, and marks and groups that hold nothing else. */
static bool is_blank_element(const char *bytes, const struct xml_element *x)
{
	for (size_t i = x->inner; i < x->inner_end;) {
		const char *at = bytes + i, *local;
		struct markup_tag tag;
		size_t n;

		if (isspace((unsigned char)*at)) {
			i++;
			continue;
		}
		if (*at != '<' || !markup_read_tag(at, x->inner_end - i, &tag))
			return false;
		if (tag.has_name) {
			local = markup_local_name(&tag, &n);
			if (!markup_has_name("mrk g ", local, n, false))
				return false;
		} else if (is_cdata(at, &tag) &&
			   !is_xml_space(at + CDATA_BEGIN, tag.n - CDATA_BEGIN - CDATA_END)) {
			return false;
		}
		i += tag.n;
	}
	return true;
}

/* The content of an element, with CDATA sections as escaped text. The caller owns it; NULL: no memory. */
static char *copy_content(const char *bytes, const struct xml_element *x, struct err *e)
{
	struct buf text = { 0 };

	for (size_t i = x->inner; i < x->inner_end;) {
		const char *at = bytes + i;
		struct markup_tag tag;

		if (*at != '<' || !markup_read_tag(at, x->inner_end - i, &tag)) {
			buf_add_char(&text, *at);
			i++;
			continue;
		}
		i += tag.n;
		if (!is_cdata(at, &tag)) {
			buf_add(&text, at, tag.n);
			continue;
		}
		for (size_t k = CDATA_BEGIN; k < tag.n - CDATA_END; k++)
			if (at[k] == '&' || at[k] == '<' || at[k] == '>')
				buf_add_str(&text, at[k] == '&'	  ? "&amp;"
						   : at[k] == '<' ? "&lt;"
								  : "&gt;");
			else
				buf_add_char(&text, at[k]);
	}
	buf_add(&text, "", 0);
	return buf_detach(&text, e);
}

/* Where a translation goes, and what is written around it. */
struct xml_place {
	size_t from, to;
	const char *before, *after;
};

/* Bytes of the line at the begin of a text, with its line end, if all tags in it have their partners; else of more lines. */
static size_t xml_line_bytes(const char *text)
{
	const size_t n = strlen(text);
	int depth = 0;

	for (size_t i = 0; i < n;) {
		struct markup_tag tag;

		if (text[i] == '\n' && !depth)
			return i + 1;
		if (text[i] != '<' || !markup_read_tag(text + i, n - i, &tag)) {
			i++;
			continue;
		}
		if (tag.has_name && !tag.is_empty)
			depth += tag.is_end ? -1 : 1;
		i += tag.n;
	}
	return n;
}

/* Adds a text, line by line if its line ends count. */
static int add_xml_lines(struct docfile *d, size_t part, const struct xml_place *place,
			 const char *text, bool has_lines, struct err *e)
{
	struct docfile_message m = DOCFILE_MESSAGE;
	int rc = 0;

	buf_add_str(&m.literal, place->before);
	for (size_t n; *text && !rc; text += n) {
		bool is_added = true;
		char *line;

		n = has_lines ? xml_line_bytes(text) : strlen(text);
		line = strndup(text, n);
		if (!line)
			rc = err_set(e, ERR_NOMEM, "out of memory");
		else
			rc = docfile_message_line(d, &m, part, place->from, place->to, MARKUP_XML,
						  line, &is_added, e);
		if (!is_added)
			buf_add(&m.literal, text, n);
	}
	if (docfile_message_end(d, &m, place->after, e) && !rc)
		rc = e->code;
	return rc;
}

/*
 * Adds the text of `source`, whose translation goes into `target`, or to new->from if there is no target. new: what is written
 * around the translation in a new target.
 */
static int add_target(struct docfile *d, size_t part, const struct xml_element *source,
		      const struct xml_element *target, const struct xml_place *new, bool has_lines,
		      struct err *e)
{
	const char *bytes = d->parts[part].bytes;
	struct xml_place place = *new;
	char *text;
	int rc;

	if (!source->exists || (target->exists && !is_blank_element(bytes, target)))
		return 0;
	text = copy_content(bytes, source, e);
	if (!text)
		return e->code;
	if (target->exists && target->inner > target->from && bytes[target->inner - 2] != '/') {
		place = (struct xml_place){ target->inner, target->inner_end, "", "" };
	} else if (target->exists) { /* <target/> */
		place.from = target->from;
		place.to = target->to;
	}
	rc = add_xml_lines(d, part, &place, text, has_lines, e);
	free(text);
	return rc;
}

/* ---- XLIFF: a trans-unit of 1.2, a segment of 2 ---- */

/* Is the value of an attribute this language, or a kind of it ("de-AT" of "de"), or the other way round? */
static bool is_same_language(const char *found, size_t n, const char *language)
{
	const size_t n_language = strlen(language), least = MIN(n, n_language);
	const char *longer = n > n_language ? found : language;

	return !strncasecmp(found, language, least) &&
	       (n == n_language || strchr("-_", longer[least]));
}

/* Does this file element say that it is in other languages than the model? The first such one is remembered. */
static bool has_other_languages(struct docfile *d, const struct xml_scan *s, struct err *e)
{
	static const char *const names[][2] = { { "source-language", "target-language" },
						{ "srcLang", "trgLang" } };
	const bool is_second = is_xml_tag(s, "xliff ", false);
	const char *models[] = { d->languages.source, d->languages.target };
	struct buf remark = { 0 };

	if (!is_second && !is_xml_tag(s, "file ", false))
		return false;
	for (size_t i = 0; i < 2; i++) {
		size_t n;
		const char *name = names[is_second][i],
			   *found = markup_tag_value(s->bytes + s->at, s->tag.n, name, &n);

		if (!found || is_same_language(found, n, models[i]))
			continue;
		if (!d->remark) {
			buf_printf(&remark,
				   "units stay, since their file has the %s %.*s, and the "
				   "model translates from %s to %s",
				   name, (int)MIN(n, (size_t)40), found, models[0], models[1]);
			d->remark = buf_detach(&remark, e);
		}
		return true;
	}
	return false;
}

/* Adds a unit. Its target has the prefix of its source. */
static int add_xliff_unit(struct docfile *d, size_t part, const struct xml_element *source,
			  const struct xml_element *cut, const struct xml_element *target,
			  bool has_lines, struct err *e)
{
	const struct xml_element *text = cut->exists ? cut : source;
	const char *name = d->parts[part].bytes + text->from + 1;
	const int prefix = (int)strcspn(name, ": \t\r\n/>");
	const int n = name[prefix] == ':' ? prefix + 1 : 0;
	char before[80], after[80];
	const struct xml_place new = { text->to, text->to, before, after };

	if (!text->exists)
		return 0;
	snprintf(before, sizeof(before), "<%.*starget>", MIN(n, 60), name);
	snprintf(after, sizeof(after), "</%.*starget>", MIN(n, 60), name);
	return add_target(d, part, text, target, &new, has_lines, e);
}

static int find_xliff(struct docfile *d, size_t part, struct err *e)
{
	struct xml_scan s = { d->parts[part].bytes, d->parts[part].n, 0, { 0 } };
	struct xml_element source = { 0 }, target = { 0 }, cut = { 0 };
	size_t kept_to = 0;  /* units before this byte stay */
	size_t lines_to = 0; /* line ends before this byte count */
	bool is_unit = false;

	for (; next_tag(&s) && !e->code; s.at += s.tag.n) {
		if (s.at >= kept_to && ((is_xml_tag(&s, "trans-unit group unit file ", false) &&
					 has_value(&s, "translate", "no")) ||
					has_other_languages(d, &s, e)))
			kept_to = element_here(&s).to;
		if (s.at >= lines_to && has_value(&s, "xml:space", "preserve"))
			lines_to = element_here(&s).to;
		if (is_xml_tag(&s, "trans-unit segment ", false) && !s.tag.is_empty) {
			source = target = cut = (struct xml_element){ 0 };
			is_unit = true;
		} else if (is_unit && is_xml_tag(&s, "trans-unit segment ", true)) {
			is_unit = false;
			d->n_units++;
			if (s.at >= kept_to && add_xliff_unit(d, part, &source, &cut, &target,
							      source.inner < lines_to, e))
				return e->code;
		} else if (is_unit &&
			   is_xml_tag(&s, "source target seg-source alt-trans note matches ",
				      false)) {
			const struct xml_element x = element_here(&s);

			if (is_xml_tag(&s, "source ", false))
				source = x;
			else if (is_xml_tag(&s, "target ", false))
				target = x;
			else if (is_xml_tag(&s, "seg-source ", false))
				cut = x;
			s.at = x.exists ? x.to - s.tag.n : s.at;
		}
	}
	return e->code;
}

const struct docfile_format docfile_xliff = {
	.name = "xliff", .find = find_xliff, .has_references = true, .is_xml = true
};

/* ---- TMX: a tu without a tuv of the target language ---- */

static bool is_tuv_language(const struct xml_scan *s, const char *language)
{
	size_t n;
	const char *found = markup_tag_value(s->bytes + s->at, s->tag.n, "xml:lang", &n);

	if (!found)
		found = markup_tag_value(s->bytes + s->at, s->tag.n, "lang", &n);
	return found && n >= strlen(language) && !strncasecmp(found, language, strlen(language)) &&
	       (n == strlen(language) || strchr("-_", found[strlen(language)]));
}

static int find_tmx(struct docfile *d, size_t part, struct err *e)
{
	struct xml_scan s = { d->parts[part].bytes, d->parts[part].n, 0, { 0 } };
	struct xml_element source = { 0 }, target = { 0 }, *now = NULL;
	char before[80];
	struct xml_place new = { 0, 0, before, "</seg></tuv>" };

	snprintf(before, sizeof(before), "<tuv xml:lang=\"%.40s\"><seg>", d->languages.target);
	for (; next_tag(&s); s.at += s.tag.n) {
		if (is_xml_tag(&s, "tu ", false)) {
			source = target = (struct xml_element){ 0 };
			now = NULL;
		} else if (is_xml_tag(&s, "tuv ", false)) {
			now = is_tuv_language(&s, d->languages.source)	 ? &source
			      : is_tuv_language(&s, d->languages.target) ? &target
									 : NULL;
			if (now == &source)
				new.from = new.to = element_here(&s).to;
		} else if (is_xml_tag(&s, "seg ", false) && now && !now->exists) {
			*now = element_here(&s);
			s.at = now->exists ? now->to - s.tag.n : s.at;
		} else if (is_xml_tag(&s, "tu ", true)) {
			d->n_units++;
			if (add_target(d, part, &source, &target, &new, false, e))
				return e->code;
		}
	}
	return 0;
}

const struct docfile_format docfile_tmx = {
	.name = "tmx", .find = find_tmx, .has_references = true, .is_xml = true
};

/* ---- paragraphs of office documents ---- */

/* Adds each paragraph; one without text of its own (with a text box, say) is searched for paragraphs in it. */
static int find_paragraphs(struct docfile *d, size_t part, const char *paragraphs,
			   const char *properties, enum markup_kind kind, struct err *e)
{
	struct xml_scan s = { d->parts[part].bytes, d->parts[part].n, 0, { 0 } };

	for (; next_tag(&s); s.at += s.tag.n) {
		struct xml_element x;
		struct xml_scan inner;
		const size_t n = d->n;

		if (!is_xml_tag(&s, paragraphs, false) || s.tag.is_empty)
			continue;
		x = element_here(&s);
		inner = (struct xml_scan){ s.bytes, x.inner_end, x.inner, { 0 } };
		if (*properties && next_tag(&inner) && is_xml_tag(&inner, properties, false))
			x.inner = element_here(&inner).to;
		if (docfile_add_segment(d, part, x.inner, x.inner_end, kind, NULL, e))
			return e->code;
		if (d->n > n)
			s.at = x.to - s.tag.n;
	}
	return 0;
}

static int find_docx(struct docfile *d, size_t part, struct err *e)
{
	return find_paragraphs(d, part, "w:p ", "w:pPr ", MARKUP_RUNS, e);
}

const struct docfile_format docfile_docx = {
	.name = "docx",
	.find = find_docx,
	.members =
		"word/document.xml word/header* word/footer* word/footnotes.xml word/endnotes.xml ",
	.has_references = true,
	.is_xml = true
};

static int find_odt(struct docfile *d, size_t part, struct err *e)
{
	return find_paragraphs(d, part, "text:p text:h ", "", MARKUP_ODT, e);
}

const struct docfile_format docfile_odt = { .name = "odt",
					    .find = find_odt,
					    .members = "content.xml styles.xml ",
					    .has_references = true,
					    .is_xml = true };
