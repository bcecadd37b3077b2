/* model_export.c - the command "export": opens a model and lets a format write it; see model_export.h */
#include "eval/export/model_export.h"

#include <stdlib.h>
#include <string.h>

#include "eval/export/export_format.h"
#include "eval/export/records.h"
#include "share/base/file.h"
#include "share/conf/text_sides.h"

/* What an export opens. */
struct model_export {
	struct export_job job;
	struct conf text;
	struct ckpt_state state;
	struct safetensors *weights;
	struct outfolder folder;
	struct outfile file;
};

/* The options of the model's text; a folder without recipe.ini has the defaults. */
static int read_text_options(struct model_export *x, struct err *e)
{
	char *path = file_path(e, "%s/recipe.ini", x->job.folder);
	int rc = path ? conf_init(&x->text, e) : e->code;

	if (!rc && file_exists(path))
		rc = conf_load_recipe(&x->text, path, e);
	free(path);
	return rc;
}

static int open_vocabularies(struct model_export *x, struct err *e)
{
	struct vocabs *v = &x->job.vocabs;
	const struct model_shape *s = &x->state.shape;

	if (vocabs_open(v, x->job.folder, &x->text, e))
		return e->code;
	if (vocab_size(v->target) != s->vocabulary ||
	    vocabs_own_source(v) != s->source_vocabulary ||
	    strcmp(v->id, x->state.vocabulary_sha256) != 0)
		return err_set(e, ERR_DATA,
			       "%s/%s is not the vocabulary that the model was trained with",
			       x->job.folder, text_vocabulary_file(&x->text, 1));
	return 0;
}

static int open_weights(struct model_export *x, const struct ckpt_source *from, struct err *e)
{
	char *path = file_path(e, "%s/%s", from->folder, ckpt_weights_name(from));

	x->weights = path ? safetensors_open(path, e) : NULL;
	x->job.weights = x->weights;
	free(path);
	return x->weights ? 0 : e->code;
}

static int open_exported_model(struct model_export *x, const struct ckpt_source *from,
			       struct err *e)
{
	struct ckpt_check *check = ckpt_check_start(from, e);
	int rc = check ? ckpt_check_finish(check, e) : e->code;

	if (!rc) /* false: the optimizer's moments may be missing */
		rc = ckpt_read_state(from->folder, false, &x->state, e);
	if (!rc)
		rc = read_text_options(x, e);
	if (!rc)
		rc = open_vocabularies(x, e);
	return rc ? rc : open_weights(x, from, e);
}

static int write_export(struct model_export *x, const struct export_format *f, const char *to,
			struct err *e)
{
	int rc = f->is_file ? outfile_open(&x->file, to, e)
			    : outfolder_open(&x->folder, to, NULL, e);

	x->job.out = f->is_file ? NULL : x->folder.temporary;
	x->job.file = f->is_file ? x->file.stream : NULL;
	if (!rc)
		rc = f->write(&x->job, e);
	if (!rc)
		rc = f->is_file ? outfile_commit(&x->file, e) : outfolder_commit(&x->folder, e);
	outfile_abandon(&x->file);
	outfolder_abandon(&x->folder);
	return rc;
}

int model_export_write(const struct ckpt_source *from, const struct export_format *format,
		       bool int8, const char *to, struct err *e)
{
	struct model_export x = { .job = { .folder = from->folder, .int8 = int8 } };
	int rc;

	x.job.text = &x.text;
	x.job.shape = &x.state.shape;
	rc = open_exported_model(&x, from, e);
	if (!rc)
		rc = export_check_format(format, &x.job, e);
	if (!rc)
		rc = write_export(&x, format, to, e);
	safetensors_close(x.weights);
	vocabs_close(&x.job.vocabs);
	conf_free(&x.text);
	return rc;
}

static int check_export_options(const struct conf *c, const struct export_format *f, struct err *e)
{
	if (!f)
		return err_set(e, ERR_USAGE, "export needs --format %s%s%s", EXPORT_LIST,
			       c->format ? ", not " : "", c->format ? c->format : "");
	if (!c->output)
		return err_set(e, ERR_USAGE, "export --format %s makes a %s: give --output %s",
			       f->name, f->is_file ? "file" : "folder",
			       f->is_file ? "FILE" : "FOLDER");
	if (c->precision == PRECISION_INT8 ? !f->has_int8 : c->precision == PRECISION_BF16)
		return err_set(e, ERR_USAGE, "export --format %s supports --precision fp32%s",
			       f->name,
			       f->has_int8 ? " and int8; CTranslate2 converts fp32 to other types "
					     "when it loads a model"
					   : " only");
	return 0;
}

int model_export_run(struct conf *c, struct err *e)
{
	const struct export_format *f = c->format ? export_find_format(c->format) : NULL;
	struct ckpt_source from;
	char *folder;
	int rc;

	if (c->format && records_knows(c->format))
		return records_export(c, e);
	if (check_export_options(c, f, e))
		return e->code;
	folder = ckpt_resolve(c, e);
	if (folder && !file_exists(folder)) {
		err_set(e, ERR_NOINPUT, "the model folder %s does not exist", folder);
		free(folder);
		return e->code;
	}
	from = (struct ckpt_source){ folder, c->unaveraged };
	rc = folder ? model_export_write(&from, f, c->precision == PRECISION_INT8, c->output, e)
		    : e->code;
	free(folder);
	return rc;
}
