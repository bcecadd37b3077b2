/*
 * export_argos.c - a package for Argos Translate (and LibreTranslate): OUT.argosmodel
 *
 * A ZIP archive with one folder: metadata.json, model/ (a folder of CTranslate2), sentencepiece.model. Argos decodes with
 * a length penalty of 0.2, splits sentences itself, and turns each "_" of a translation into a blank. recipe.ini and
 * vocab.tsv are for import, which finds the same text pipeline again. Source: package.py, tokenizer.py of argostranslate 1.11.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "eval/export/export_format.h"
#include "eval/export/zip_write.h"
#include "share/base/file.h"
#include "share/conf/text_sides.h"
#include "share/format/json.h"
#include "share/format/language_name.h"
#include "share/workspace/model_files.h"

static int check_argos(const struct export_job *x, struct err *e)
{
	const struct conf *c = x->text;

	if (export_check_pieces(x, &export_argos, e))
		return e->code;
	if (c->vocabularies != VOCABULARIES_JOINT)
		return export_refuse(x, &export_argos, e,
				     "a package has one SentencePiece model, but the sides of this "
				     "text have one each (vocabularies)");
	if (c->train_tags.n || c->tag_languages.n)
		return export_refuse(
			x, &export_argos, e,
			"a package is for one pair of languages, but the lines of this "
			"text begin with tags (train_tags)");
	return 0;
}

/* The archive in progress, and the name of the folder in it. */
struct package {
	struct zip_writer zip;
	const struct export_job *x;
	char folder[64];
};

static void member_name(const struct package *p, const char *name, char out[128])
{
	snprintf(out, 128, "%s/%s", p->folder, name);
}

static int put_package_text(void *arg, const char *name, const struct buf *text, struct err *e)
{
	struct package *p = arg;
	char member[128], within[64];

	snprintf(within, sizeof(within), "model/%s", name);
	member_name(p, within, member);
	return buf_check(text, e) ? e->code
				  : zip_add_bytes(&p->zip, member, text->data, text->len, e);
}

static ssize_t write_member(void *cookie, const char *bytes, size_t n)
{
	zip_put(cookie, bytes, n);
	return (ssize_t)n;
}

/* The weights through a stream that writes into the archive. */
static int put_package_weights(void *arg, struct zip_writer *z, struct err *e)
{
	const struct package *p = arg;
	FILE *out = fopencookie(z, "w", (cookie_io_functions_t){ .write = write_member });
	int rc = out ? export_ct2_weights(p->x, out, e)
		     : err_set(e, ERR_NOMEM, "cannot open a stream");

	if (out && fclose(out) != 0 && !rc)
		rc = err_set_errno(e, ERR_IO, "cannot write the weights");
	return rc;
}

static int put_metadata(struct package *p, struct err *e)
{
	const char *from = p->x->text->source_language, *to = p->x->text->target_language;
	struct buf text = { 0 };
	struct json_writer w = { .out = &text };
	char member[128];
	int rc;

	json_open(&w, '{');
	json_put_str(&w, "package_version", "1.0");
	json_put_str(&w, "argos_version", "1.9.0");
	json_put_str(&w, "type", "translate");
	json_put_str(&w, "from_code", from);
	json_put_str(&w, "from_name", language_name_of(from));
	json_put_str(&w, "to_code", to);
	json_put_str(&w, "to_name", language_name_of(to));
	json_close(&w, '}');
	buf_add_char(&text, '\n');
	member_name(p, "metadata.json", member);
	rc = buf_check(&text, e);
	if (!rc)
		rc = zip_add_bytes(&p->zip, member, text.data, text.len, e);
	buf_free(&text);
	return rc;
}

/* Adds a file of the model's folder if it exists. */
static int put_package_file(struct package *p, const char *name, struct err *e)
{
	char *path = file_path(e, "%s/%s", p->x->folder, name), member[128];
	int rc = path ? 0 : e->code;

	member_name(p, name, member);
	if (!rc && file_exists(path))
		rc = zip_add_file(&p->zip, member, path, e);
	free(path);
	return rc;
}

static int write_argos(const struct export_job *x, struct err *e)
{
	static const char *const names[] = { SENTENCEPIECE_FILE, "recipe.ini", VOCABULARY_FILE };
	struct package p = { .zip = { .out = x->file }, .x = x };
	char member[128];
	int rc;

	snprintf(p.folder, sizeof(p.folder), "translate-%.20s_%.20s-1_0", x->text->source_language,
		 x->text->target_language);
	rc = put_metadata(&p, e);
	for (size_t i = 0; !rc && i < ARRAY_LEN(names); i++)
		rc = put_package_file(&p, names[i], e);
	if (!rc)
		rc = export_ct2_texts(x, put_package_text, &p, e);
	member_name(&p, "model/model.bin", member);
	if (!rc)
		rc = zip_add_member(&p.zip, member, put_package_weights, &p, e);
	if (!rc)
		rc = zip_finish(&p.zip, e);
	zip_writer_close(&p.zip);
	return rc;
}

const struct export_format export_argos = { .name = "argos",
					    .title = "Argos Translate",
					    .is_file = true,
					    .has_int8 = true,
					    .limits = export_ct2_limits,
					    .check = check_argos,
					    .write = write_argos };
