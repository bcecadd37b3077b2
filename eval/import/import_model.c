/* import_model.c - makes a model or a run of what a format reads; see import_model.h */
#include "eval/import/import_model.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "data/pipeline/pipeline.h"
#include "data/pipeline/vocabs.h"
#include "share/base/mem.h"
#include "share/conf/text_facts.h"
#include "share/workspace/model_files.h"
#include "share/workspace/paths.h"

#define MAX_MISSING_NUMBERS (1 << 20)

struct model_import {
	struct import_job job;
	char *to;     /* owned: the result, a run folder or a model folder */
	char *beside; /* owned: temporary folders are made beside this path */
	struct outfolder result;
	char *model; /* owned: the model folder in the result's temporary */
	struct ckpt_state state;
};

/* ---- paths and options ------------------------------------------------- */

static int find_output(struct model_import *m, struct err *e)
{
	const struct conf *c = m->job.c;
	char *workspace = paths_workspace(c->workspace, e);
	size_t n = c->output ? strlen(c->output) : 0;

	if (!workspace)
		return e->code;
	while (n > 1 && c->output[n - 1] == '/')
		n--;
	if (c->run)
		m->to = file_path(e, "%s/runs/%s", workspace, c->run);
	else
		m->to = file_path(e, "%.*s", (int)n, c->output);
	if (m->to) /* every entry of runs/ is a run, so the temporary is not there */
		m->beside = c->run ? file_path(e, "%s/import", workspace) : mem_strdup(m->to, e);
	if (m->beside && conf_is_given(c, "corpus"))
		m->job.pieces = file_path(e, "%s/corpora/%s", workspace, c->corpus);
	else if (m->beside)
		m->job.pieces = mem_strdup(m->job.folder, e);
	free(workspace);
	if (!m->job.pieces)
		return e->code;
	if (c->run && file_exists(m->to))
		return err_set(e, ERR_CANTCREAT,
			       "a run called %s already exists: give another --run", c->run);
	return 0;
}

static int check_options(const struct conf *c, struct err *e)
{
	if (!c->run == !c->output)
		return err_set(e, ERR_USAGE,
			       "give either --run NAME to import the weights as a run, or --output "
			       "FOLDER to make a model folder");
	if (c->run && paths_check_name("run", c->run, e))
		return e->code;
	return c->corpus ? paths_check_name("corpus", c->corpus, e) : 0;
}

static int import_load_recipe(struct model_import *m, struct err *e)
{
	char *path;
	int rc = import_find_piece(&m->job, "recipe.ini", &path, e);

	if (!rc && path && conf_is_given(m->job.c, "corpus")) /* the folder is that of the corpus */
		rc = text_facts_adopt(m->job.c, m->job.c->corpus, path, e);
	else if (!rc && path)
		rc = conf_load_recipe(m->job.c, path, e);
	m->job.has_recipe = path && !conf_is_given(m->job.c, "corpus");
	free(path);
	return rc;
}

/* Sets the sizes of the weights in the recipe. */
static int set_size_options(struct model_import *m, struct err *e)
{
	const struct arch_row *row;
	char text[ARCH_TEXT_MAX];
	int rc = 0;

	for (size_t i = 0; !rc && (row = arch_at(i)) != NULL; i++)
		if (row->is_option && arch_is_written(&m->job.t.shape, row))
			rc = conf_set(m->job.c, row->name, arch_text(&m->job.t.shape, row, text),
				      "imported weights", e);
	return rc;
}

/* ---- writing ----------------------------------------------------------- */

/* Takes the sizes of the staged vocabularies. */
static int measure_vocabulary(struct model_import *m, struct err *e)
{
	struct vocabs v;
	struct model_shape *s = &m->state.shape;
	int rc = vocabs_open(&v, m->job.staging.temporary, m->job.c, e);

	m->state = (struct ckpt_state){ .best_bleu = -1, .best_step = -1, .shape = m->job.t.shape };
	if (!rc) {
		s->vocabulary = vocab_size(v.target);
		s->real_vocabulary = vocab_real_size(v.target);
		s->source_vocabulary = vocabs_own_source(&v);
		s->real_source_vocabulary = vocabs_own_real_source(&v);
		snprintf(m->state.vocabulary_sha256, sizeof(m->state.vocabulary_sha256), "%s",
			 v.id);
	}
	vocabs_close(&v);
	return rc;
}

/*
 * The files may claim any sizes, so memory for the parameters is allocated only if the tensors have about as many
 * numbers. Fewer: biases that stay zero, and rows without a token.
 */
static int check_parameters(const struct model_import *m, struct err *e)
{
	const struct import_reader *f = &m->job.f;
	struct model_param *params = NULL;
	int64_t floats = 0, numbers = 0;
	size_t n;
	int rc = model_params(&m->state.shape, &params, &n, &floats, e);

	free(params);
	for (size_t i = 0; i < f->n; i++)
		if (__builtin_add_overflow(numbers, f->all[i].rows * f->all[i].cols, &numbers))
			numbers = INT64_MAX / 2;
	if (!rc && floats / 2 > numbers + MAX_MISSING_NUMBERS)
		rc = err_set(e, ERR_DATA,
			     "%s: the tensors have %lld numbers, but a model of the sizes that the "
			     "files name has %lld parameters",
			     m->job.file, (long long)numbers, (long long)floats);
	return rc;
}

static int write_model(struct model_import *m, struct err *e)
{
	const struct dev_options options = { .threads = 1 };
	const struct ckpt_folder of = { m->job.staging.temporary, m->job.c, &m->state };
	struct model *model = model_new(&m->state.shape, ops_ref(), &options, e);
	struct pipeline *p;
	float *arena = model ? model_param_arena(model) : NULL;
	int rc = model ? 0 : e->code;

	assert(m->state.shape.real_vocabulary <= m->state.shape.vocabulary);
	if (!rc) {
		memset(arena, 0, (size_t)model_floats(model) * sizeof(*arena));
		rc = weight_map_load(&m->job.t, &m->state.shape, &m->job.rows, arena, e);
	}
	if (!rc)
		rc = ckpt_save_model(m->model, &of, model, NULL, e);
	model_free(model);
	if (rc)
		return rc;
	p = pipeline_open(m->model, m->job.c, e); /* verify that the foreign files are usable */
	pipeline_close(p);
	return p ? 0 : e->code;
}

/* Adds the files of a run: two links, recipe, state, and a journal that names the origin. */
static int write_run(struct model_import *m, struct err *e)
{
	struct buf journal = { 0 }, state = { 0 }, recipe = { 0 };
	struct json_writer j = { .out = &journal }, s = { .out = &state };
	char *link = file_path(e, "%s/checkpoints/last", m->result.temporary);
	char origin[600];
	int rc = link ? ckpt_set_best(m->result.temporary, 0, e) : e->code;

	if (!rc)
		rc = file_make_link(link, "0", e);
	free(link);
	snprintf(origin, sizeof(origin), "weights imported from %.500s", m->job.file);
	json_open(&j, '{');
	json_put_int(&j, "v", 1);
	json_put_str(&j, "kind", "event");
	json_put_int(&j, "t", (int64_t)time(NULL));
	json_put_int(&j, "step", 0);
	json_put_str(&j, "level", "info");
	json_put_str(&j, "text", origin);
	json_close(&j, '}');
	buf_add_char(&journal, '\n');
	json_open(&s, '{');
	json_put_str(&s, "state", "finished");
	json_put_int(&s, "attempt", 1);
	json_put_str(&s, "event", origin);
	json_close(&s, '}');
	buf_add_char(&state, '\n');
	conf_write_recipe(m->job.c, &recipe);
	if (!rc)
		rc = file_write_into(m->result.temporary, "journal.jsonl", &journal, e);
	if (!rc)
		rc = file_write_into(m->result.temporary, "state.json", &state, e);
	if (!rc)
		rc = file_write_into(m->result.temporary, "recipe.ini", &recipe, e);
	buf_free(&journal);
	buf_free(&state);
	buf_free(&recipe);
	return rc;
}

static int open_result(struct model_import *m, struct err *e)
{
	if (outfolder_open(&m->result, m->to, m->beside, e))
		return e->code;
	m->model = m->job.c->run ? file_path(e, "%s/checkpoints/0", m->result.temporary)
				 : mem_strdup(m->result.temporary, e);
	return m->model ? 0 : e->code;
}

static int make_imported_model(struct model_import *m, struct err *e)
{
	int rc = m->job.format->stage(&m->job, e);

	if (!rc)
		rc = import_keep_frequencies(&m->job, e);
	if (!rc)
		rc = measure_vocabulary(m, e);
	if (!rc)
		rc = check_parameters(m, e);
	if (!rc)
		rc = set_size_options(m, e);
	if (!rc)
		rc = open_result(m, e);
	if (!rc)
		rc = write_model(m, e);
	if (!rc && m->job.c->run)
		rc = write_run(m, e);
	return rc ? rc : outfolder_commit(&m->result, e);
}

static void report_model_import(const struct model_import *m)
{
	static const char *const names[] = {
		[NAMING_own] = "Werkbank's own names",
		[NAMING_pytorch] = "PyTorch's nn.Transformer",
	};
	const char *name = m->job.t.scheme < ARRAY_LEN(names) ? names[m->job.t.scheme] : NULL;
	const struct model_shape *s = &m->state.shape;

	fprintf(stderr, "%s: %s: d_model %d, d_ff %d, %d heads, %d and %d layers, %d tokens\n",
		m->to, name ? name : m->job.format->name, s->d_model, s->d_ff, s->heads,
		s->encoder_layers, s->decoder_layers, s->real_vocabulary);
	if (m->job.c->beam_rules)
		fprintf(stderr,
			"translate follows the beam search of its program: beam %lld, length "
			"penalty %g; --beam, --alpha and --beam-rules change it\n",
			(long long)m->job.c->beam, m->job.c->alpha);
	if (!import_option_given(m->job.c, "source_language") ||
	    !import_option_given(m->job.c, "target_language"))
		fprintf(stderr,
			"the files do not name the languages; the model is taken for one from %s "
			"to %s. If that is wrong, give --source-language and --target-language\n",
			m->job.c->source_language, m->job.c->target_language);
	if (m->job.t.scheme == NAMING_pytorch)
		fprintf(stderr, "the import assumes layer_norm_eps 1e-6; if the model was trained "
				"with PyTorch's default 1e-5, translations can differ slightly\n");
}

int import_model(struct conf *c, const struct import_format *format,
		 const struct import_source *source, struct err *e)
{
	struct model_import m = {
		.job = { .c = c, .format = format, .file = source->file, .folder = source->folder }
	};
	int rc = check_options(c, e);

	if (!rc)
		rc = find_output(&m, e);
	if (!rc)
		rc = import_load_recipe(&m, e);
	if (!rc)
		rc = outfolder_open(&m.job.staging, m.beside, NULL, e);
	if (!rc)
		rc = format->open(&m.job, e);
	if (!rc)
		rc = make_imported_model(&m, e);
	outfolder_abandon(&m.result);
	outfolder_abandon(&m.job.staging);
	if (!rc && !c->quiet)
		report_model_import(&m);
	import_reader_close(&m.job.f);
	json_free(m.job.config);
	free(m.job.rows.target);
	free(m.job.rows.source);
	free(m.job.pieces);
	free(m.job.unpacked);
	free(m.job.unpacked_file);
	free(m.to);
	free(m.beside);
	free(m.model);
	return rc;
}
