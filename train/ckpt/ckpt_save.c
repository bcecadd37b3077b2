/* ckpt_save.c - writes checkpoints and model folders; see ckpt.h */
#include "train/ckpt/ckpt_internal.h"

#include <assert.h>
#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "share/base/file.h"
#include "share/base/hash.h"
#include "share/base/mem.h"
#include "share/base/text.h"
#include "share/format/json.h"
#include "train/ckpt/safetensors.h"
#include "train/model/arena.h"
#include "train/optim/adafactor.h"

/* A checkpoint or model folder that is being written. */
struct saving {
	const char *run_folder;		/* borrowed */
	const struct ckpt_state *state; /* borrowed */
	struct model *m;		/* borrowed */
	const struct ckpt_arenas *from; /* borrowed */
	const char *folder;		/* borrowed: it gets the files */
	struct model_param *params;	/* owned */
	size_t n_params;
	float *room;		 /* owned: with a GPU, host buffer for the largest tensor */
	struct ckpt_arena arena; /* the array that is being written */
	bool training;		 /* also write training.safetensors */
	int first;		 /* first array of the file that is being written; -1: weights */
	int64_t bytes;
};

/* ---- tensors ----------------------------------------------------------- */

/* Items are the tensors of the first array, then those of the next array, and so on. */
static const float *ckpt_fetch_tensor(void *arg, size_t i, struct err *e)
{
	struct saving *s = arg;
	const struct model_param *p = &s->params[i % s->n_params];
	const float *view;

	assert(s->first >= 0 || i < s->n_params);
	if (i % s->n_params == 0 && s->first >= 0 &&
	    s->from->get(s->from->arg, s->first + (int)(i / s->n_params), &s->arena, e))
		return NULL;
	view = s->arena.x + p->offset;
	if (!s->arena.on_host)
		view = arena_view_const(s->m, view, s->room, (size_t)(p->rows * p->cols));
	return model_get_ops(s->m)->sync(model_get_dev(s->m), e) ? NULL : view;
}

void ckpt_set_suffix(int which, char *out, size_t size)
{
	if (which == CKPT_FIRST || which == CKPT_SECOND)
		snprintf(out, size, "%s", which == CKPT_FIRST ? ".m" : ".v");
	else if (which >= CKPT_FEEDBACK)
		snprintf(out, size, ".r%d", which - CKPT_FEEDBACK);
	else
		*out = 0;
}

/* Write a file of n_arenas arrays, from number first on. */
static int write_arenas(struct saving *s, const char *name, int first, int n_arenas, struct err *e)
{
	const size_t n = s->n_params * (size_t)n_arenas;
	struct safetensors_item *items =
		mem_alloc(s->n_params, (size_t)n_arenas * sizeof(*items), e);
	char *path = items ? file_path(e, "%s/%s", s->folder, name) : NULL;
	int rc = path ? 0 : e->code;

	for (size_t i = 0; !rc && i < n; i++) {
		const struct model_param *p = &s->params[i % s->n_params];
		char suffix[16];

		ckpt_set_suffix(first + (int)(i / s->n_params), suffix, sizeof(suffix));
		snprintf(items[i].name, sizeof(items[i].name), "%s%s", p->name, suffix);
		items[i].rows = p->rows;
		items[i].cols = p->cols;
	}
	s->first = first;
	if (!rc)
		rc = safetensors_write(path, items, n, ckpt_fetch_tensor, s, e);
	free(path);
	free(items);
	return rc;
}

static int ckpt_write_weights(struct saving *s, struct err *e)
{
	int64_t floats, largest = 1;
	int rc;

	if (model_params(model_get_shape(s->m), &s->params, &s->n_params, &floats, e))
		return e->code;
	for (size_t i = 0; i < s->n_params; i++)
		largest = MAX(largest, s->params[i].rows * s->params[i].cols);
	if (!arena_is_host(s->m) && !(s->room = mem_alloc((size_t)largest, sizeof(*s->room), e)))
		return e->code;
	s->arena.x = s->from->average ? s->from->average : model_param_read(s->m);
	rc = write_arenas(s, CKPT_WEIGHTS, -1, 1, e);
	if (rc || !s->training)
		return rc;
	s->arena.x = model_param_read(s->m);
	return write_arenas(s, CKPT_TRAINING, -1, 1, e);
}

/* The tensors of the state are not those of the model. */
static int ckpt_write_factored(struct saving *s, struct err *e)
{
	struct model_param *const params = s->params;
	const size_t n_params = s->n_params;
	int64_t floats;
	int rc =
		adafactor_state_params(model_get_shape(s->m), &s->params, &s->n_params, &floats, e);

	if (!rc) {
		rc = write_arenas(s, CKPT_MOMENTS, CKPT_SECOND, 1, e);
		free(s->params);
	}
	s->params = params;
	s->n_params = n_params;
	return rc;
}

static int write_optimizer(struct saving *s, struct err *e)
{
	enum optimizer_kind kind;
	int rc;

	optimizer_find(s->state->optimizer, &kind);
	rc = optimizer_is_factored(kind) ? ckpt_write_factored(s, e)
					 : write_arenas(s, CKPT_MOMENTS, CKPT_FIRST, 2, e);

	if (!rc && s->from->n > CKPT_FEEDBACK)
		rc = write_arenas(s, CKPT_FEEDBACK_FILE, CKPT_FEEDBACK, s->from->n - CKPT_FEEDBACK,
				  e);
	return rc;
}

/* ---- the rest of the folder -------------------------------------------- */

static int ckpt_write_state(const struct saving *s, struct err *e)
{
	const struct ckpt_state *state = s->state;
	struct buf b = { 0 };
	struct json_writer w = { .out = &b };
	int rc;

	json_open(&w, '{');
	arch_put_shape(&w, &state->shape);
	json_put_int(&w, "step", state->step);
	json_put_int(&w, "loader_position", (int64_t)state->loader_position);
	json_put_int(&w, "seed", (int64_t)state->seed);
	json_put_real(&w, "seconds", state->seconds);
	json_put_real(&w, "best_bleu", state->best_bleu);
	json_put_int(&w, "best_step", state->best_step);
	json_put_str(&w, "vocabulary_sha256", state->vocabulary_sha256);
	if (state->evaluation_s > 0)
		json_put_real(&w, "evaluation_s", state->evaluation_s);
	if (state->cooldown.to > 0) {
		json_put_int(&w, "cooldown_from", state->cooldown.from);
		json_put_int(&w, "cooldown_to", state->cooldown.to);
		json_put_real(&w, "cooldown_factor", state->cooldown.factor);
	}
	if (state->held_steps > 0)
		json_put_int(&w, "held_steps", state->held_steps);
	if (state->schedule_end > 0)
		json_put_int(&w, "schedule_end", state->schedule_end);
	if (state->cooldown.to > 0 || state->schedule_end > 0)
		json_put_real(&w, "cooldown_minutes", state->cooldown_minutes);
	if (*state->precision)
		json_put_str(&w, "precision", state->precision);
	if (*state->optimizer && strcmp(state->optimizer, optimizer_name(OPTIMIZER_adam)) != 0)
		json_put_str(&w, "optimizer", state->optimizer);
	if (state->longest > 0) {
		json_put_real(&w, "several_sentences", state->several);
		json_put_int(&w, "longest_source", state->longest);
	}
	if (s->from->n > CKPT_FEEDBACK) {
		json_put_int(&w, "error_feedback_ranks", s->from->n - CKPT_FEEDBACK);
		json_put_int(&w, "error_feedback_wire", state->feedback_wire);
		json_put_int(&w, "error_feedback_bucket", state->feedback_bucket);
	}
	json_close(&w, '}');
	buf_add_char(&b, '\n');
	rc = file_write_into(s->folder, CKPT_STATE, &b, e);
	buf_free(&b);
	return rc;
}

int ckpt_copy_file(const char *from_folder, const char *to_folder, const char *name, struct err *e)
{
	char *from = file_path(e, "%s/%s", from_folder, name),
	     *to = file_path(e, "%s/%s", to_folder, name);
	int rc = from && to ? 0 : e->code;

	if (!rc && file_exists(from) && !file_exists(to))
		rc = file_copy(from, to, e);
	free(from);
	free(to);
	return rc;
}

/* Add a line to the sums if the file exists, and its size to *bytes. */
static int add_sum(struct buf *sums, const char *folder, const char *name, int64_t *bytes,
		   struct err *e)
{
	char hex[HASH_SHA256_HEX];
	char *path = file_path(e, "%s/%s", folder, name);
	int rc = path ? 0 : e->code;

	if (!rc && file_exists(path)) {
		rc = hash_file(path, hex, e);
		if (!rc)
			buf_printf(sums, "%s  %s\n", hex, name);
		*bytes += file_size(path);
	}
	free(path);
	return rc;
}

int ckpt_finish_folder(const char *from, const char *to, const char *const *names, size_t n,
		       int64_t *bytes, struct err *e)
{
	static const char *const copies[] = { CKPT_COPIES };
	struct buf sums = { 0 };
	int rc = 0;

	for (size_t i = 0; !rc && i < ARRAY_LEN(copies); i++)
		rc = ckpt_copy_file(from, to, copies[i], e);
	for (size_t i = 0; !rc && i < n; i++)
		rc = add_sum(&sums, to, names[i], bytes, e);
	for (size_t i = 0; !rc && i < ARRAY_LEN(copies); i++)
		rc = add_sum(&sums, to, copies[i], bytes, e);
	if (!rc)
		rc = file_write_into(to, CKPT_SUMS, &sums, e);
	buf_free(&sums);
	return rc;
}

static int write_small_files(struct saving *s, struct err *e)
{
	static const char *const files[] = { CKPT_WEIGHTS, CKPT_TRAINING, CKPT_MOMENTS,
					     CKPT_FEEDBACK_FILE, CKPT_STATE };

	return ckpt_write_state(s, e) ? e->code
				      : ckpt_finish_folder(s->run_folder, s->folder, files,
							   ARRAY_LEN(files), &s->bytes, e);
}

/* ---- putting it in place ----------------------------------------------- */

int ckpt_remove_folder(const char *folder, struct err *e)
{
	char *away = file_path(e, "%s.old.tmp", folder);
	int rc = away ? file_remove_tree(away, e) : e->code;

	if (!rc && rename(folder, away))
		rc = errno == ENOENT ? 0
				     : err_set_errno(e, ERR_IO, "%s: cannot be removed", folder);
	if (!rc)
		rc = file_remove_tree(away, e);
	free(away);
	return rc;
}

/*
 * Rename the temporary to STEP. If an earlier attempt left a folder STEP, exchange the two
 * atomically and remove the old one.
 */
static int ckpt_swap_folder(struct outfolder *o, struct err *e)
{
	bool is_done;
	int rc = outfolder_exchange(o, &is_done, e);

	if (rc || is_done)
		return rc;
	rc = ckpt_remove_folder(o->path, e);
	return rc ? rc : outfolder_commit(o, e);
}

int ckpt_point_link(const char *run_folder, const char *name, int64_t step, struct err *e)
{
	char *link = file_path(e, "%s/checkpoints/%s", run_folder, name);
	char target[32];
	int rc = link ? 0 : e->code;

	snprintf(target, sizeof(target), "%lld", (long long)step);
	if (!rc)
		rc = file_make_link(link, target, e);
	free(link);
	return rc;
}

int ckpt_set_best(const char *run_folder, int64_t step, struct err *e)
{
	return ckpt_point_link(run_folder, "best", step, e);
}

/* Remove all checkpoints except the newest keep ones and the targets of best and last. */
static int ckpt_remove_old(const char *run_folder, int keep, struct err *e)
{
	int64_t *steps = NULL, best, last;
	size_t n = 0;
	int rc = ckpt_link_step(run_folder, "best", &best, e);

	if (!rc)
		rc = ckpt_link_step(run_folder, "last", &last, e);
	if (!rc)
		rc = ckpt_list(run_folder, &steps, &n, e);
	for (size_t i = (size_t)MAX(keep, 1); !rc && i < n; i++) {
		char *folder;

		if (steps[i] == best || steps[i] == last)
			continue;
		folder = file_path(e, "%s/checkpoints/%lld", run_folder, (long long)steps[i]);
		rc = folder ? ckpt_remove_folder(folder, e) : e->code;
		free(folder);
	}
	free(steps);
	return rc;
}

/* Remove the folders STEP.HEX.tmp and STEP.old.tmp that a killed process has left. */
static int ckpt_remove_temporary(const char *run_folder, struct err *e)
{
	char *path = file_path(e, "%s/checkpoints", run_folder);
	DIR *folder = path ? opendir(path) : NULL;
	struct dirent *entry;
	int rc = path ? 0 : e->code;

	while (!rc && folder && (entry = readdir(folder))) {
		char *leftover;

		if (!text_ends_with(entry->d_name, ".tmp") || entry->d_name[0] < '0' ||
		    entry->d_name[0] > '9')
			continue;
		leftover = file_path(e, "%s/%s", path, entry->d_name);
		rc = leftover ? file_remove_tree(leftover, e) : e->code;
		free(leftover);
	}
	if (folder)
		closedir(folder);
	free(path);
	return rc;
}

/* is_claimed: another process may save the same step at the same time. */
static int save_checkpoint(const char *run_folder, const struct ckpt_state *state, struct model *m,
			   const struct ckpt_arenas *from, int keep, bool is_claimed,
			   int64_t *bytes, struct err *e)
{
	struct saving s = { .run_folder = run_folder,
			    .state = state,
			    .m = m,
			    .from = from,
			    .training = from->average != NULL };
	struct outfolder out = { 0 };
	char *folder = file_path(e, "%s/checkpoints/%lld", run_folder, (long long)state->step);
	int rc = !folder ? e->code : is_claimed ? 0 : ckpt_remove_temporary(run_folder, e);

	assert(from->n >= CKPT_FEEDBACK && state->step >= 0);
	if (!rc)
		rc = outfolder_open(&out, folder, NULL, e);
	s.folder = out.temporary;
	if (!rc)
		rc = ckpt_write_weights(&s, e);
	if (!rc)
		rc = write_optimizer(&s, e);
	if (!rc)
		rc = write_small_files(&s, e);
	if (!rc)
		rc = is_claimed ? outfolder_commit(&out, e) : ckpt_swap_folder(&out, e);
	outfolder_abandon(&out); /* it may have filled the disk */
	if (!rc)
		rc = ckpt_point_link(run_folder, "last", state->step, e);
	if (!rc)
		rc = ckpt_remove_old(run_folder, keep, e);
	*bytes = s.bytes;
	free(s.room);
	free(s.params);
	free(folder);
	return rc;
}

int ckpt_save_arenas(const char *run_folder, const struct ckpt_state *state, struct model *m,
		     const struct ckpt_arenas *from, int keep, int64_t *bytes, struct err *e)
{
	return save_checkpoint(run_folder, state, m, from, keep, false, bytes, e);
}

bool ckpt_exists(const char *run_folder, int64_t step)
{
	struct err ignored;
	char *folder = file_path(&ignored, "%s/checkpoints/%lld", run_folder, (long long)step);
	const bool exists = folder && file_exists(folder);

	free(folder);
	return exists;
}

/* Making a folder is exclusive on every file system. */
int ckpt_claim(const char *run_folder, int64_t step, int number, bool *is_mine, struct err *e)
{
	char *claim = file_path(e, "%s/checkpoints/%lld.claim-%d.tmp", run_folder, (long long)step,
				number);
	char *parent = claim ? file_path(e, "%s/checkpoints", run_folder) : NULL;
	int rc = parent ? file_make_folders(parent, e) : e->code;

	*is_mine = !rc && !mkdir(claim, 0777);
	if (!rc && !*is_mine && errno != EEXIST)
		rc = err_set_errno(e, ERR_CANTCREAT, "%s: cannot create this folder", claim);
	free(parent);
	free(claim);
	return rc;
}

static int ckpt_write_recipe(const struct saving *s, const struct conf *c, struct err *e)
{
	struct buf text = { 0 };
	int rc;

	conf_write_recipe(c, &text);
	rc = file_write_into(s->folder, "recipe.ini", &text, e);
	buf_free(&text);
	return rc;
}

int ckpt_save_model(const char *folder, const struct ckpt_folder *of, struct model *m,
		    const float *weights, struct err *e)
{
	const struct ckpt_arenas from = { .average = weights };
	struct saving s = { .run_folder = of->corpus_folder,
			    .state = of->state,
			    .m = m,
			    .from = &from,
			    .folder = folder };
	int rc = file_make_folders(folder, e);

	if (!rc)
		rc = ckpt_write_recipe(&s, of->conf, e);
	if (!rc)
		rc = ckpt_write_weights(&s, e);
	if (!rc)
		rc = write_small_files(&s, e);
	free(s.room);
	free(s.params);
	return rc;
}

static int ckpt_get_moments(void *arg, int which, struct ckpt_arena *found, struct err *e)
{
	(void)e;
	assert(which == CKPT_FIRST || which == CKPT_SECOND);
	*found = (struct ckpt_arena){ .x = ((const float *const *)arg)[which] };
	return 0;
}

int ckpt_save(const char *run_folder, const struct ckpt_state *state, struct model *m,
	      const float *first, const float *second, int keep, int64_t *bytes, struct err *e)
{
	const float *moments[] = { first, second };
	const struct ckpt_arenas from = { ckpt_get_moments, moments, ARRAY_LEN(moments), NULL };

	return ckpt_save_arenas(run_folder, state, m, &from, keep, bytes, e);
}

int ckpt_save_claimed(const char *run_folder, const struct ckpt_state *state, struct model *m,
		      const float *first, const float *second, int keep, int64_t *bytes,
		      struct err *e)
{
	const float *moments[] = { first, second };
	const struct ckpt_arenas from = { ckpt_get_moments, moments, ARRAY_LEN(moments), NULL };

	return save_checkpoint(run_folder, state, m, &from, keep, true, bytes, e);
}
