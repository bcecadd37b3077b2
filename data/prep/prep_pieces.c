/* prep_pieces.c - option pieces_from: reuse codes and vocabulary (see prep_pieces.h) */
#include "data/prep/prep_pieces.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "data/subword/bpe_codes.h"
#include "data/subword/pipeline.h"
#include "data/words/vocab.h"
#include "share/base/file.h"
#include "share/base/hash.h"
#include "share/base/util.h"
#include "share/workspace/model_files.h"
#include "share/workspace/paths.h"

/* Path of a file in the folder of pieces_from, owned by the caller. NULL: ERR_NOINPUT. */
static char *pieces_find_file(const struct prep *p, const char *name, struct err *e)
{
	char *folder = paths_model(p->c->workspace, p->c->pieces_from, e);
	char *path = folder ? file_path(e, "%s/%s", folder, name) : NULL;

	free(folder);
	if (!path || file_exists(path))
		return path;
	err_set(e, ERR_NOINPUT,
		"pieces_from: there is no %s: name a model, a run, or a corpus prepared with this "
		"segmentation",
		path);
	free(path);
	return NULL;
}

/* Text that is split into other words does not fit the pieces that the codes were learnt from. */
static int pieces_check_options(const struct conf *now, const struct conf *then, const char *path,
				struct err *e)
{
	static const char *const names[] = { "source_language", "target_language", "normalize",
					     "tokenize",	"escape",	   "aggressive",
					     "protect",		"segmentation" };
	struct buf a = { 0 }, b = { 0 };
	int rc = 0;

	for (size_t i = 0; !rc && i < ARRAY_LEN(names); i++) {
		buf_clear(&a);
		buf_clear(&b);
		conf_value(now, names[i], &a);
		conf_value(then, names[i], &b);
		if (buf_check(&a, e) || buf_check(&b, e))
			rc = e->code;
		else if (strcmp(buf_text(&a), buf_text(&b)) != 0)
			rc = err_set(
				e, ERR_CONFIG,
				"pieces_from: %s has %s = %s, this recipe '%s': both must split "
				"text into words in the same way; set the same value here",
				path, names[i], buf_text(&b), buf_text(&a));
	}
	buf_free(&a);
	buf_free(&b);
	return rc;
}

/* A corpus cannot reuse its own pieces: preparation removes them before it copies them. */
static int pieces_check_is_other(const struct prep *p, const char *recipe, struct err *e)
{
	char *own = file_path(e, "%s/recipe.ini", p->folder);
	struct stat a, b;
	int rc = own ? 0 : e->code;

	if (!rc && !stat(recipe, &a) && !stat(own, &b) && a.st_dev == b.st_dev &&
	    a.st_ino == b.st_ino)
		rc = err_set(e, ERR_CONFIG,
			     "pieces_from: %s is the corpus itself: name another one, or omit the "
			     "option",
			     p->c->pieces_from);
	free(own);
	return rc;
}

static int pieces_check_recipe(const struct prep *p, struct err *e)
{
	char *path = pieces_find_file(p, "recipe.ini", e);
	struct conf then;
	int rc;

	if (!path)
		return e->code;
	rc = pieces_check_is_other(p, path, e);
	if (!rc)
		rc = conf_init(&then, e);
	if (!rc) {
		rc = conf_load_recipe(&then, path, e);
		if (!rc)
			rc = pieces_check_options(p->c, &then, path, e);
		conf_free(&then);
	}
	free(path);
	return rc;
}

int prep_pieces_describe(const struct prep *p, struct buf *out, struct err *e)
{
	const char *const names[] = { pipeline_codes_file(p->c, SIDE_SOURCE),
				      pipeline_vocab_file(p->c, SIDE_SOURCE) };
	int rc = pieces_check_recipe(p, e);

	for (size_t i = 0; !rc && i < ARRAY_LEN(names); i++) {
		char hex[HASH_SHA256_HEX], *path = pieces_find_file(p, names[i], e);

		rc = path ? hash_file_within(path, HASH_PIECES_LIMIT, hex, e) : e->code;
		if (!rc)
			buf_printf(out, "%s%s %s", i ? " " : "", names[i], hex);
		free(path);
	}
	return rc ? rc : buf_check(out, e);
}

static int pieces_copy_file(const struct prep *p, const char *name, struct err *e)
{
	char *from = pieces_find_file(p, name, e),
	     *to = from ? file_path(e, "%s/%s", p->folder, name) : NULL;
	int rc = to ? file_copy(from, to, e) : e->code;

	free(from);
	free(to);
	return rc;
}

/* Set p->numbers.merges, for the report. */
static int count_merges(struct prep *p, struct err *e)
{
	struct bpe_codes codes = { 0 };
	const char *path = prep_path(p, e, BPE_CODES_FILE);
	int rc = path ? bpe_codes_read(&codes, path, e) : e->code;

	if (!rc)
		p->numbers.merges = codes.n_rules;
	bpe_codes_free(&codes);
	return rc;
}

int prep_pieces_copy_codes(struct prep *p, struct err *e)
{
	struct vocab *v;
	char *path;
	int rc = pieces_copy_file(p, pipeline_codes_file(p->c, SIDE_SOURCE), e);

	if (rc || p->c->segmentation == SEGMENTATION_BPE)
		return rc ? rc : count_merges(p, e);
	path = pieces_find_file(p, VOCABULARY_FILE, e);
	v = path ? vocab_open(path, e) : NULL;
	p->numbers.merges = v ? vocab_real_size(v) : 0;
	rc = v ? 0 : e->code;
	vocab_close(v);
	free(path);
	return rc;
}

int prep_pieces_copy_vocab(const struct prep *p, struct err *e)
{
	return pieces_copy_file(p, VOCABULARY_FILE, e);
}
