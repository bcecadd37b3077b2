/* document_sentences.c - see document_sentences.h */
#include "eval/translate/document_sentences.h"

#include <stdlib.h>
#include <string.h>

#include "eval/translate/translate_document.h"
#include "share/base/mem.h"
#include "share/base/text.h"

/* Segments as lines, and the sentences of these lines. */
struct document_units {
	struct passage_line *lines;	/* (n) owned */
	struct passage_result *results; /* (n) owned */
	size_t n;
	struct passage_units units;
};

static void free_document_units(struct document_units *u)
{
	if (u->results)
		passages_results_free(u->results, u->n);
	passage_units_free(&u->units);
	free(u->results);
	free(u->lines);
}

static int list_document_units(struct document_units *u, struct passages *p,
			       const struct docfile *d, size_t from, size_t n, struct err *e)
{
	*u = (struct document_units){ .n = n };
	u->lines = mem_alloc(n, sizeof(*u->lines), e);
	u->results = u->lines ? mem_alloc(n, sizeof(*u->results), e) : NULL;
	if (!u->results)
		return e->code;
	document_list_lines(d, from, n, NULL, u->lines);
	return passages_list_units(p, u->lines, n, &u->units, u->results, e);
}

/* The sentence on one line, without tabs, and without U+FEFF: readers of lines drop it at the begin of a file. */
static void write_unit_line(const struct engine_line *unit, struct buf *out)
{
	buf_clear(out);
	for (size_t i = utf8_mark_bytes(unit->text, unit->n); i < unit->n; i++)
		buf_add_char(out, strchr("\t\n\r", unit->text[i]) ? ' ' : unit->text[i]);
}

int document_list_sentences(struct passages *p, const struct docfile *d, size_t from, size_t n,
			    FILE *out, struct err *e)
{
	struct document_units u;
	struct buf text = { 0 };
	int rc = list_document_units(&u, p, d, from, n, e);

	for (size_t i = 0; i < u.units.n && !rc; i++) {
		write_unit_line(&u.units.all[i], &text);
		buf_add_char(&text, '\n');
		rc = buf_check(&text, e);
		if (!rc)
			fwrite(text.data, 1, text.len, out);
	}
	buf_free(&text);
	free_document_units(&u);
	return rc;
}

/* Copies the translation of a sentence from the next line. The caller frees it; NULL: failure. */
static char *read_edited(struct lines *in, const struct engine_line *unit, struct buf *source,
			 struct err *e)
{
	const int got = lines_next(in, e);
	const char *tab = got > 0 ? memchr(in->text, '\t', in->len) : NULL;

	if (got < 0)
		return NULL;
	write_unit_line(unit, source);
	if (buf_check(source, e))
		return NULL;
	if (!got) {
		err_set(e, ERR_DATA,
			"%s: has %lld lines, and the document has more sentences; the next one is "
			"\"%.100s\"",
			in->name, (long long)in->number, buf_text(source));
		return NULL;
	}
	if (!tab || (size_t)(tab - in->text) != source->len ||
	    memcmp(in->text, buf_text(source), source->len) != 0) {
		err_set(e, ERR_DATA,
			"%s, line %lld: does not begin with the sentence of the document and a "
			"tab: "
			"\"%.100s\"; --list-sentences prints the sentences",
			in->name, (long long)in->number, buf_text(source));
		return NULL;
	}
	return mem_strdup(tab + 1, e);
}

/* Makes the next lines the whole translations of the units; edited: (units->n) owned by the caller. */
static int read_all_edited(struct lines *in, struct passage_units *units, char **edited,
			   struct err *e)
{
	struct buf source = { 0 };
	int rc = 0;

	for (size_t i = 0; i < units->n && !rc; i++) {
		struct engine_line *unit = &units->all[i];

		edited[i] = read_edited(in, unit, &source, e);
		rc = edited[i] ? 0 : e->code;
		if (rc)
			break;
		unit->prefix = edited[i];
		unit->n_prefix = strlen(edited[i]);
		unit->is_whole = true;
	}
	buf_free(&source);
	return rc;
}

/* The model aligns the words; the text is what the person wrote, also where the vocabulary lacks letters. */
static int align_edited(struct engine *g, const struct decode_options *options,
			const struct passage_units *units, char **edited,
			struct engine_translation *parts, struct err *e)
{
	struct decode_options o = *options;

	o.beam = o.n_best = 1;
	o.alignments = true;
	o.sample = false;
	o.forbid = NULL;
	if (engine_translate(g, &o, units->all, units->n, parts, e))
		return e->code;
	for (size_t i = 0; i < units->n; i++) {
		free(parts[i].texts[0]);
		parts[i].texts[0] = edited[i];
		edited[i] = NULL;
	}
	return 0;
}

int document_put_sentences(struct passages *p, struct engine *g, const struct decode_options *o,
			   struct docfile *d, size_t from, size_t n, struct lines *edited,
			   struct err *e)
{
	struct document_units u;
	struct engine_translation *parts = NULL;
	char **texts = NULL;
	int rc = list_document_units(&u, p, d, from, n, e);
	const size_t n_units = u.units.n;

	if (!rc && (!(texts = mem_alloc(n_units, sizeof(*texts), e)) ||
		    !(parts = mem_alloc(n_units, sizeof(*parts), e))))
		rc = e->code;
	if (!rc)
		rc = read_all_edited(edited, &u.units, texts, e);
	if (!rc)
		rc = align_edited(g, o, &u.units, texts, parts, e);
	if (!rc)
		rc = passages_join_units(u.lines, n, &u.units, parts, u.results, e);
	if (!rc)
		rc = document_take_results(g, d, from, n, u.results, e);
	if (parts)
		engine_translations_free(parts, n_units);
	for (size_t i = 0; texts && i < n_units; i++)
		free(texts[i]);
	free(parts);
	free(texts);
	free_document_units(&u);
	return rc;
}

int document_end_sentences(struct lines *edited, struct err *e)
{
	const int got = lines_next(edited, e);

	if (got > 0)
		return err_set(e, ERR_DATA, "%s, line %lld: the document has no more sentences",
			       edited->name, (long long)edited->number);
	return got;
}
