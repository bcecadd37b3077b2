/*
 * po.c - message catalogues of gettext (PO)
 *
 *	#, fuzzy
 *	msgctxt "menu"
 *	msgid "one file"
 *	msgid_plural "%d files"
 *	msgstr[0] "eine Datei"
 *	msgstr[1] "%d Dateien"
 *
 * msgstr[0] is the translation of msgid, the further forms are translations of msgid_plural; if the
 * language has one form only, it is that of msgid_plural. The header (msgid "") says the language: if
 * that is the source language of the recipe, msgid is the target.
 */
#include <stdlib.h>
#include <string.h>

#include "data/bilingual/bilingual_internal.h"
#include "data/bilingual/language_tag.h"
#include "share/base/mem.h"
#include "share/base/text.h"
#include "share/base/util.h"

#define MAX_FORMS 16 /* plural forms; languages have up to 6 */

enum po_field { PO_NONE, PO_CONTEXT, PO_ID, PO_PLURAL, PO_FORM };

struct po {
	struct bilingual *b;
	struct lines in;
	/* the current message */
	struct buf id, plural, forms[MAX_FORMS], ignored;
	int n_forms;
	bool has_id, has_context, has_plural, is_fuzzy, is_obsolete;
	struct buf *string;   /* where the next line "…" goes; NULL: nowhere */
	bool is_after_header; /* the header can only be first */
	bool is_opposite;     /* msgid is the target */
};

static const char *po_name(const struct po *p)
{
	return bilingual_opened_with(p->b)->name;
}

/* ---- the end of a message ---- */

/* Language: de_DE.UTF-8 of the header. */
static int read_po_header(struct po *p, struct err *e)
{
	const struct bilingual_options *o = bilingual_opened_with(p->b);
	const char *at = strstr(buf_text(&p->forms[0]), "Language:");
	char language[24] = "";
	size_t n;

	if (!at)
		return 0;
	at += strlen("Language:");
	at += strspn(at, " \t");
	n = strcspn(at, " \t\r\n.@");
	if (!n || n >= sizeof(language))
		return 0;
	memcpy(language, at, n);
	bilingual_note_language(p->b, language);
	if (language_tag_fit(o->target_language, language))
		return 0;
	p->is_opposite = language_tag_fit(o->source_language, language) > 0;
	if (p->is_opposite)
		return 0;
	return err_set(e, ERR_DATA,
		       "%s: its translations are in %s, but the recipe has the languages %s and %s "
		       "(see source_language and target_language)",
		       o->name, language, o->source_language, o->target_language);
}

static int add_po_form(struct po *p, const struct buf *id, const struct buf *form, struct err *e)
{
	const enum bilingual_reason reason = p->is_obsolete ? BILINGUAL_OBSOLETE
					     : p->is_fuzzy  ? BILINGUAL_FUZZY
							    : BILINGUAL_PAIR;
	const struct text_span from = { buf_text(id), id->len };
	const struct text_span to = { buf_text(form), form->len };

	return bilingual_add(p->b, reason, p->is_opposite ? to : from, p->is_opposite ? from : to,
			     e);
}

static void po_begin_message(struct po *p)
{
	struct buf *const strings[] = { &p->id, &p->plural, &p->ignored };

	for (size_t i = 0; i < ARRAY_LEN(strings); i++)
		buf_clear(strings[i]);
	for (int i = 0; i < p->n_forms; i++)
		buf_clear(&p->forms[i]);
	p->n_forms = 0;
	p->has_id = p->has_context = p->has_plural = p->is_fuzzy = p->is_obsolete = false;
	p->string = NULL;
}

static int po_end_message(struct po *p, struct err *e)
{
	const bool is_header = !p->is_after_header && !p->id.len && !p->has_context;
	int rc = 0;

	if (!p->has_id)
		return 0;
	p->is_after_header = true;
	if (is_header && !p->is_obsolete) {
		rc = read_po_header(p, e);
	} else {
		const int n = p->has_plural ? MAX(p->n_forms, 1) : 1;

		for (int i = 0; !rc && i < n; i++)
			rc = add_po_form(p, p->has_plural && (i || n == 1) ? &p->plural : &p->id,
					 &p->forms[i], e);
	}
	po_begin_message(p);
	return rc;
}

/* ---- lines ---- */

/* One character after a backslash; *at: after it. */
static void add_po_escape(struct buf *out, const char **at)
{
	static const char letters[] = "ntrabfv", values[] = "\n\t\r\a\b\f\v";
	const char *letter = strchr(letters, **at), *c = *at;
	unsigned value = 0;

	if (*c >= '0' && *c <= '7') {
		for (int i = 0; i < 3 && *c >= '0' && *c <= '7'; i++)
			value = 8 * value + (unsigned)(*c++ - '0');
		buf_add_char(out, (char)value);
	} else if (*c == 'x' && strspn(c + 1, "0123456789abcdefABCDEF")) {
		char hex[3] = { c[1], 0, 0 };

		if (strspn(c + 1, "0123456789abcdefABCDEF") > 1)
			hex[1] = c[2];
		buf_add_char(out, (char)strtoul(hex, NULL, 16));
		c += 1 + strlen(hex);
	} else {
		buf_add_char(out, *c && letter ? values[letter - letters] : *c);
		c += *c != 0;
	}
	*at = c;
}

static int po_wrong_line(const struct po *p, const char *expected, struct err *e)
{
	return err_set(e, ERR_DATA, "%s:%lld: %s was expected in a PO file", po_name(p),
		       (long long)p->in.number, expected);
}

/* "…" up to the end of the line. */
static int read_po_string(struct po *p, const char *at, struct err *e)
{
	struct buf *out = p->string;

	at += strspn(at, " \t");
	if (*at++ != '"' || !out)
		return po_wrong_line(p, out ? "a text in quotes" : "msgid or msgstr", e);
	while (*at && *at != '"') {
		const size_t n = strcspn(at, "\\\"");

		buf_add(out, at, n);
		at += n;
		if (*at == '\\') {
			at++;
			add_po_escape(out, &at);
		}
	}
	if (*at != '"' || at[1 + strspn(at + 1, " \t\r")])
		return po_wrong_line(p, "a quote at the end of the text", e);
	if (out->len > BILINGUAL_MAX_BYTES)
		return err_set(e, ERR_DATA, "%s:%lld: a message has more than %d MiB of text",
			       po_name(p), (long long)p->in.number,
			       (int)(BILINGUAL_MAX_BYTES >> 20));
	return buf_check(out, e);
}

/* msgstr, or msgstr[N]; *at: after it. */
static int begin_po_form(struct po *p, const char **at, struct err *e)
{
	long n = 0;
	char *end;

	if (**at == '[') {
		n = strtol(*at + 1, &end, 10);
		if (*end != ']' || n < 0 || n >= MAX_FORMS)
			return po_wrong_line(p, "msgstr[0] to msgstr[15]", e);
		*at = end + 1;
	}
	p->n_forms = MAX(p->n_forms, (int)n + 1);
	p->string = &p->forms[n];
	buf_clear(p->string);
	return 0;
}

/* "msgid", … at the beginning of the line; *at: after it. The longest name that fits. */
static enum po_field find_po_field(const char **at)
{
	static const struct {
		const char *name;
		enum po_field field;
	} fields[] = {
		{ "msgctxt", PO_CONTEXT },
		{ "msgid_plural", PO_PLURAL },
		{ "msgid", PO_ID },
		{ "msgstr", PO_FORM },
	};

	for (size_t i = 0; i < ARRAY_LEN(fields); i++)
		if (text_starts_with(*at, fields[i].name)) {
			*at += strlen(fields[i].name);
			return fields[i].field;
		}
	return PO_NONE;
}

static int read_po_field(struct po *p, const char *at, bool is_obsolete, struct err *e)
{
	const enum po_field field = find_po_field(&at);
	const bool is_next = p->has_id && (field == PO_CONTEXT || field == PO_ID);

	if (is_next && po_end_message(p, e))
		return e->code;
	p->is_obsolete |= is_obsolete;
	switch (field) {
	case PO_CONTEXT:
		p->has_context = true;
		p->string = &p->ignored;
		break;
	case PO_ID:
		p->has_id = true;
		p->string = &p->id;
		break;
	case PO_PLURAL:
		p->has_plural = true;
		p->string = &p->plural;
		break;
	case PO_FORM:
		if (!p->has_id)
			return po_wrong_line(p, "msgid before msgstr", e);
		if (begin_po_form(p, &at, e))
			return e->code;
		break;
	case PO_NONE:
		break;
	}
	return read_po_string(p, at, e);
}

/* "#, c-format, fuzzy" of the next message */
static int read_po_comment(struct po *p, const char *line, struct err *e)
{
	if (p->has_id && po_end_message(p, e))
		return e->code;
	if (line[1] == ',' && strstr(line, "fuzzy"))
		p->is_fuzzy = true;
	return 0;
}

static int read_po_line(struct po *p, const char *line, struct err *e)
{
	const char *at = line + strspn(line, " \t\r");
	const bool is_obsolete = at[0] == '#' && at[1] == '~';

	if (is_obsolete) {
		at += 2;
		at += strspn(at, " \t");
		if (!*at || *at == '|')
			return 0;
	}
	if (!*at)
		return 0;
	if (*at == '#')
		return read_po_comment(p, at, e);
	if (text_starts_with(at, "domain "))
		return p->has_id ? po_end_message(p, e) : 0;
	return read_po_field(p, at, is_obsolete, e);
}

/* ---- the format ---- */

static void close_po(void *reader)
{
	struct po *p = reader;

	lines_close(&p->in);
	buf_free(&p->id);
	buf_free(&p->plural);
	buf_free(&p->ignored);
	for (int i = 0; i < MAX_FORMS; i++)
		buf_free(&p->forms[i]);
	free(p);
}

static void *open_po(struct bilingual *b, struct err *e)
{
	struct po *p = mem_alloc(1, sizeof(*p), e);

	if (!p)
		return NULL;
	*p = (struct po){ .b = b };
	if (lines_open_reader(&p->in, po_name(p), bilingual_read_text, b, e)) {
		free(p);
		return NULL;
	}
	p->in.repair = bilingual_opened_with(b)->repair;
	p->in.drops_mark = true;
	return p;
}

/* One line. */
static int step_po(void *reader, struct err *e)
{
	struct po *p = reader;
	const int got = lines_next(&p->in, e);

	if (got < 0)
		return got;
	if (!got)
		return po_end_message(p, e);
	if (bilingual_check_line(&p->in, po_name(p), e))
		return e->code;
	return read_po_line(p, p->in.text, e) ? e->code : 1;
}

const struct bilingual_format bilingual_po = { open_po, step_po, close_po };
