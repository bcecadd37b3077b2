/*
 * import_argos.c - packages of Argos Translate (OUT.argosmodel): a ZIP archive with one folder
 *
 *	metadata.json			languages
 *	model/				a folder of CTranslate2
 *	sentencepiece.model		splits text of both sides
 *	recipe.ini, vocab.tsv		of packages that Werkbank has exported
 *
 * The members are unpacked into the temporary folder of the import and read as those of CTranslate2. Packages with
 * bpe.model, other types than "translate" and a target_prefix are refused. Source: package.py, tokenizer.py of
 * argostranslate 1.11; zlib's raw inflate.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

#include "eval/import/import_format.h"
#include "share/base/mem.h"
#include "share/workspace/model_files.h"

#define CHUNK	       ((size_t)1 << 18) /* bytes */
#define MAX_TEXT       (1u << 20)	 /* metadata.json */
#define MAX_VOCABULARY ((size_t)1 << 28) /* other members than the weights */
#define MAX_WEIGHTS    ((size_t)1 << 35)

/* Members that are unpacked, by their names below the folder; is_needed: a package has it. */
static const struct {
	const char *name, *to;
	size_t most; /* bytes */
	bool is_needed;
} members[] = {
	{ "metadata.json", "metadata.json", MAX_TEXT, true },
	{ "model/model.bin", "model.bin", MAX_WEIGHTS, true },
	{ "model/config.json", "config.json", MAX_TEXT, false },
	{ "model/shared_vocabulary.json", "shared_vocabulary.json", MAX_VOCABULARY, false },
	{ "model/shared_vocabulary.txt", "shared_vocabulary.txt", MAX_VOCABULARY, false },
	{ "model/source_vocabulary.json", "source_vocabulary.json", MAX_VOCABULARY, false },
	{ "model/source_vocabulary.txt", "source_vocabulary.txt", MAX_VOCABULARY, false },
	{ "model/target_vocabulary.json", "target_vocabulary.json", MAX_VOCABULARY, false },
	{ "model/target_vocabulary.txt", "target_vocabulary.txt", MAX_VOCABULARY, false },
	{ SENTENCEPIECE_FILE, SENTENCEPIECE_FILE, MAX_VOCABULARY, false },
	{ "recipe.ini", "recipe.ini", MAX_TEXT, false },
	{ VOCABULARY_FILE, VOCABULARY_FILE, MAX_VOCABULARY, false },
};

static bool recognise_argos(const struct import_source *s)
{
	struct err ignored = { 0 };
	struct zip z = { .n = 0 };
	const bool is_one =
		zip_recognise(s->bytes, s->n) && !zip_open(&z, "", s->bytes, s->n, &ignored) &&
		zip_find(&z, "metadata.json", true) && zip_find(&z, "model/model.bin", true);

	zip_close(&z);
	return is_one;
}

/* ---- unpacking --------------------------------------------------------- */

static int damaged_member(const char *path, const struct zip_member *m, struct err *e)
{
	return err_set(e, ERR_DATA, "%s: the member \"%.*s\" is damaged", path,
		       (int)MIN(m->n_name, 100), m->name);
}

/* Inflates the member to the stream; never more than m->full bytes. */
static int inflate_member(const char *path, const struct zip_member *m, unsigned char *chunk,
			  FILE *out, struct err *e)
{
	z_stream z = { .next_in = (Bytef *)(uintptr_t)m->data };
	size_t left = m->n, made = 0;
	int rc = inflateInit2(&z, -MAX_WBITS); /* no header */

	if (rc != Z_OK)
		return err_set(e, ERR_NOMEM, "out of memory for unpacking");
	while (rc == Z_OK && made <= m->full) {
		const size_t feed = MIN(left, CHUNK), before = z.avail_in ? z.avail_in : feed;
		size_t got;

		if (!z.avail_in) {
			z.avail_in = (uInt)feed;
			left -= feed;
		}
		z.next_out = chunk;
		z.avail_out = (uInt)CHUNK;
		rc = inflate(&z, Z_NO_FLUSH);
		got = CHUNK - z.avail_out;
		made += got;
		if (made <= m->full)
			(void)!fwrite(chunk, 1, got, out);
		if (rc == Z_OK && !got && z.avail_in == before) /* the data ends too early */
			break;
	}
	inflateEnd(&z);
	return rc == Z_STREAM_END && made == m->full ? 0 : damaged_member(path, m, e);
}

static int unpack_member(const char *package, const struct zip_member *from, const char *folder,
			 const char *to, size_t most, struct err *e)
{
	char *path = file_path(e, "%s/%s", folder, to);
	unsigned char *chunk = path ? mem_alloc(CHUNK, 1, e) : NULL;
	struct outfile out = { 0 };
	int rc = chunk ? 0 : e->code;

	if (!rc && from->full > most)
		rc = err_set(e, ERR_DATA, "%s: the member \"%s\" has more than %zu bytes", package,
			     to, most);
	if (!rc)
		rc = outfile_open(&out, path, e);
	out.is_volatile = true;
	if (!rc && from->is_deflated)
		rc = inflate_member(package, from, chunk, out.stream, e);
	else if (!rc)
		(void)!fwrite(from->data, 1, from->n, out.stream);
	if (!rc)
		rc = outfile_commit(&out, e); /* checks the stream */
	outfile_abandon(&out);
	free(chunk);
	free(path);
	return rc;
}

int import_unpack_argos(const char *package, const char *folder, struct err *e)
{
	struct map map = { 0 };
	struct zip z = { .n = 0 };
	int rc = map_open(&map, package, e);

	if (!rc)
		rc = zip_open(&z, package, map.data, map.len, e);
	if (!rc && zip_find(&z, "bpe.model", true) && !zip_find(&z, SENTENCEPIECE_FILE, true))
		rc = err_set(
			e, ERR_DATA,
			"%s: the text of the package is split by bpe.model; only packages with "
			"sentencepiece.model can be imported",
			package);
	for (size_t i = 0; !rc && i < ARRAY_LEN(members); i++) {
		const struct zip_member *from = zip_find(&z, members[i].name, true);

		if (from)
			rc = unpack_member(package, from, folder, members[i].to, members[i].most,
					   e);
		else if (members[i].is_needed)
			rc = err_set(e, ERR_DATA, "%s has no %s", package, members[i].name);
	}
	zip_close(&z);
	map_close(&map);
	return rc;
}

/* ---- metadata ---------------------------------------------------------- */

static int read_package_metadata(struct import_job *m, struct err *e)
{
	char *path = file_path(e, "%s/metadata.json", m->unpacked);
	struct json *root = NULL;
	int rc = path ? json_read_optional(&root, path, MAX_TEXT, e) : e->code;
	const char *type = json_text(json_get(root, "type"), "translate"),
		   *prefix = json_text(json_get(root, "target_prefix"), "");

	if (!rc && !json_is_object(root))
		rc = err_set(e, ERR_DATA, "%s: metadata.json is damaged", m->file);
	if (!rc && (strcmp(type, "translate") != 0 || *prefix))
		rc = err_set(
			e, ERR_DATA,
			"%s: metadata.json: the type is \"%.40s\" and target_prefix is "
			"\"%.40s\"; only packages of type \"translate\" without a prefix can be "
			"imported",
			m->file, type, prefix);
	if (!rc && (!json_text(json_get(root, "from_code"), NULL) ||
		    !json_text(json_get(root, "to_code"), NULL)))
		rc = err_set(e, ERR_DATA,
			     "%s: metadata.json names no languages: expected the texts from_code "
			     "and to_code, as Argos Translate writes them",
			     m->file);
	if (!rc)
		rc = import_set_languages(m, root, "from_code", "to_code", e);
	json_free(root);
	free(path);
	return rc;
}

static int read_recipe(struct import_job *m, struct err *e)
{
	char *path = file_path(e, "%s/recipe.ini", m->unpacked);
	int rc = path ? 0 : e->code;

	if (!rc && file_exists(path))
		m->has_recipe = !(rc = conf_load_recipe(m->c, path, e));
	free(path);
	return rc;
}

static int open_argos(struct import_job *m, struct err *e)
{
	int rc;

	m->unpacked = file_path(e, "%s/package", m->staging.temporary);
	rc = m->unpacked ? file_make_folders(m->unpacked, e) : e->code;
	if (!rc)
		rc = import_unpack_argos(m->file, m->unpacked, e);
	if (!rc)
		rc = read_recipe(m, e);
	if (!rc)
		rc = read_package_metadata(m, e);
	free(m->pieces);
	m->pieces = rc ? NULL : mem_strdup(m->unpacked, e);
	m->unpacked_file = m->pieces ? file_path(e, "%s/model.bin", m->unpacked) : NULL;
	if (!m->unpacked_file)
		return e->code;
	m->folder = m->unpacked;
	m->file = m->unpacked_file;
	return import_ctranslate2.open(m, e);
}

static int stage_argos(struct import_job *m, struct err *e)
{
	return import_ctranslate2.stage(m, e);
}

const struct import_format import_argos = { "Argos Translate", recognise_argos, open_argos,
					    stage_argos };
