/* ckpt.c - checks and reads checkpoints; see ckpt.h */
#include "train/ckpt/ckpt_internal.h"

#include <assert.h>
#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "share/base/file.h"
#include "share/base/hash.h"
#include "share/base/mem.h"
#include "share/base/text.h"
#include "share/conf/alias.h"
#include "share/format/json.h"
#include "train/ckpt/safetensors.h"
#include "train/optim/adafactor.h"

#define SMALL_FILE                                                                                 \
	(1u << 20) /* upper limit of the bytes of state.json, recipe.ini and SHA256SUMS */

/* ---- sums -------------------------------------------------------------- */

/* No reader of a checkpoint accepts a larger file than these limits, but for tensors, whose header says the size. */
static int hash_checkpoint_file(const char *path, const char *name, char hex[HASH_SHA256_HEX],
				struct err *e)
{
	const bool is_small = !strcmp(name, CKPT_STATE) || !strcmp(name, "recipe.ini");
	struct safetensors *tensors;

	if (!text_ends_with(name, ".safetensors") || file_size(path) <= HASH_PIECES_LIMIT)
		return hash_file_within(path, is_small ? SMALL_FILE : HASH_PIECES_LIMIT, hex, e);
	tensors = safetensors_open(path, e);
	safetensors_close(tensors);
	return tensors ? hash_file(path, hex, e) : e->code;
}

/* One line "HEX  NAME" of SHA256SUMS. */
static int verify_line(const char *folder, char *line, enum ckpt_part part, struct err *e)
{
	char hex[HASH_SHA256_HEX];
	char *name = line + HASH_SHA256_HEX + 1, *path;
	int rc;

	if (strlen(line) <= HASH_SHA256_HEX + 1 ||
	    strspn(line, "0123456789abcdef") != HASH_SHA256_HEX - 1 ||
	    memcmp(line + HASH_SHA256_HEX - 1, "  ", 2) != 0 || strchr(name, '/'))
		return err_set(e, ERR_DATA,
			       "%s/%s is damaged: a line does not have the form \"SHA-256  NAME\"",
			       folder, CKPT_SUMS);
	if (part != CKPT_WHOLE &&
	    (!strcmp(name, CKPT_MOMENTS) ||
	     !strcmp(name, part == CKPT_MODEL ? CKPT_TRAINING : CKPT_WEIGHTS)))
		return 0;
	path = file_path(e, "%s/%s", folder, name);
	if (!path)
		return e->code;
	rc = hash_checkpoint_file(path, name, hex, e);
	if (rc == ERR_NOINPUT)
		rc = e->code = ERR_DATA; /* SHA256SUMS names it: the checkpoint is incomplete */
	if (!rc && memcmp(hex, line, HASH_SHA256_HEX - 1) != 0)
		rc = err_set(e, ERR_DATA, "%s is damaged: its SHA-256 differs from that in %s",
			     path, CKPT_SUMS);
	free(path);
	return rc;
}

/*
 * Check the lines of SHA256SUMS. faults NULL: return the first fault; else each damaged file is a
 * line there and *n_files counts the files that are listed.
 */
static int verify_sums(const char *folder, enum ckpt_part part, struct buf *faults,
		       int64_t *n_files, struct err *e)
{
	struct buf sums = { 0 };
	char *path = file_path(e, "%s/%s", folder, CKPT_SUMS), *line, *rest;
	bool weights = false, state = false;
	int rc = path ? file_read_all(path, SMALL_FILE, &sums, e) : e->code;

	free(path);
	if (rc == ERR_NOINPUT)
		rc = err_set(e, ERR_DATA,
			     "%s is not a complete checkpoint: it has no %s; a model of another "
			     "program needs werkbank import first",
			     folder, CKPT_SUMS);
	rest = sums.data;
	while (!rc && rest && *rest) {
		char *end = strchr(line = rest, '\n');

		if (!end) {
			rc = err_set(e, ERR_DATA, "%s/%s is cut short", folder, CKPT_SUMS);
			break;
		}
		*end = 0;
		rest = end + 1;
		rc = verify_line(folder, line, part, e);
		if (rc && faults) {
			buf_printf(faults, "%s\n", e->text);
			rc = 0;
		}
		if (n_files)
			++*n_files;
		if (rc || strlen(line) <= HASH_SHA256_HEX + 1)
			continue;
		weights |= !strcmp(line + HASH_SHA256_HEX + 1, CKPT_WEIGHTS);
		state |= !strcmp(line + HASH_SHA256_HEX + 1, CKPT_STATE);
	}
	if (!rc && (!weights || !state))
		rc = err_set(e, ERR_DATA, "%s/%s does not list %s and %s", folder, CKPT_SUMS,
			     CKPT_WEIGHTS, CKPT_STATE);
	buf_free(&sums);
	return rc;
}

int ckpt_verify(const char *folder, enum ckpt_part part, struct err *e)
{
	return verify_sums(folder, part, NULL, NULL, e);
}

void ckpt_list_faults(const char *folder, struct buf *faults, int64_t *n_files)
{
	struct ckpt_state state;
	struct err e = { 0 };
	const size_t before = faults->len;

	/* state.json is parsed once its sum is right */
	if (verify_sums(folder, CKPT_WHOLE, faults, n_files, &e) ||
	    (faults->len == before && ckpt_read_state(folder, false, &state, &e)))
		buf_printf(faults, "%s\n", e.text);
}

int ckpt_file_sum(const char *folder, const char *name, char hex[HASH_SHA256_HEX], struct err *e)
{
	struct buf sums = { 0 };
	char *path = file_path(e, "%s/%s", folder, CKPT_SUMS),
	     *line = path ? file_path(e, "  %s\n", name) : NULL;
	int rc = line ? file_read_all(path, SMALL_FILE, &sums, e) : e->code;
	const char *at = rc ? NULL : strstr(buf_text(&sums), line);

	if (!rc && (!at || at - sums.data < HASH_SHA256_HEX - 1))
		rc = err_set(e, ERR_DATA, "%s does not list %s", path, name);
	if (!rc) {
		memcpy(hex, at - (HASH_SHA256_HEX - 1), HASH_SHA256_HEX - 1);
		hex[HASH_SHA256_HEX - 1] = 0;
	}
	buf_free(&sums);
	free(line);
	free(path);
	return rc;
}

int ckpt_weights_sum(const char *folder, char hex[HASH_SHA256_HEX], struct err *e)
{
	return ckpt_file_sum(folder, CKPT_WEIGHTS, hex, e);
}

const char *ckpt_weights_name(const struct ckpt_source *s)
{
	struct err ignored;
	char *path = s->unaveraged ? file_path(&ignored, "%s/%s", s->folder, CKPT_TRAINING) : NULL;
	bool both = path && file_exists(path);

	free(path);
	return both ? CKPT_TRAINING : CKPT_WEIGHTS;
}

/* The part of the folder to verify for these weights. */
static enum ckpt_part ckpt_part_of(const struct ckpt_source *s)
{
	return strcmp(ckpt_weights_name(s), CKPT_WEIGHTS) ? CKPT_UNAVERAGED : CKPT_MODEL;
}

struct ckpt_check {
	pthread_t thread;
	bool has_thread; /* false: ckpt_check_finish() does the work */
	char *folder;	 /* owned */
	enum ckpt_part part;
	struct err result;
};

static void *ckpt_check_thread(void *arg)
{
	struct ckpt_check *c = arg;

	if (!ckpt_verify(c->folder, c->part, &c->result))
		c->result.code = 0;
	return NULL;
}

struct ckpt_check *ckpt_check_start(const struct ckpt_source *s, struct err *e)
{
	struct ckpt_check *c = mem_alloc(1, sizeof(*c), e);

	if (!c)
		return NULL;
	c->folder = mem_strdup(s->folder, e);
	if (!c->folder) {
		free(c);
		return NULL;
	}
	c->part = ckpt_part_of(s);
	c->has_thread = !pthread_create(&c->thread, NULL, ckpt_check_thread, c);
	return c;
}

int ckpt_check_finish(struct ckpt_check *c, struct err *e)
{
	int rc;

	if (!c)
		return 0;
	if (c->has_thread)
		pthread_join(c->thread, NULL);
	else
		ckpt_check_thread(c);
	rc = c->result.code;
	if (rc)
		*e = c->result;
	free(c->folder);
	free(c);
	return rc;
}

/* ---- state.json -------------------------------------------------------- */

/* Integer member key in low .. high; if it is missing or out of range, *bad = the first such key. */
static int64_t ckpt_get_integer(const struct json *object, const char *key, int64_t low,
				int64_t high, const char **bad)
{
	int64_t v = json_integer(json_get(object, key), INT64_MIN);

	if (v == INT64_MIN || v < low || v > high) {
		if (!*bad)
			*bad = key;
		return low;
	}
	return v;
}

/* Absent: nothing was decided, or an older release saved it. */
static void ckpt_parse_cooldown(const struct json *root, struct ckpt_state *s, const char **bad)
{
	const double seconds = json_number(json_get(root, "evaluation_s"), 0),
		     factor = json_number(json_get(root, "cooldown_factor"), 1);

	s->evaluation_s = seconds > 0 ? seconds : 0;
	s->schedule_end = MAX(json_integer(json_get(root, "schedule_end"), 0), 0);
	s->cooldown_minutes = json_number(json_get(root, "cooldown_minutes"), 0);
	if (!json_get(root, "cooldown_to"))
		return;
	s->cooldown.from = ckpt_get_integer(root, "cooldown_from", 0, INT64_MAX - 1, bad);
	s->cooldown.to =
		ckpt_get_integer(root, "cooldown_to", s->cooldown.from + 1, INT64_MAX, bad);
	s->cooldown.factor = factor > 0 && factor <= 1 ? factor : 1;
}

static int ckpt_parse_state(const struct json *root, const char *path, struct ckpt_state *s,
			    struct err *e)
{
	const char *bad = NULL, *hash = json_text(json_get(root, "vocabulary_sha256"), "");

	if (format_check_version(root, &arch_checkpoint_format, path, e))
		return e->code;
	*s = (struct ckpt_state){
		.step = ckpt_get_integer(root, "step", 0, INT64_MAX, &bad),
		.loader_position =
			(uint64_t)ckpt_get_integer(root, "loader_position", 0, INT64_MAX, &bad),
		.seed = (uint64_t)ckpt_get_integer(root, "seed", 0, INT64_MAX, &bad),
		.seconds = json_number(json_get(root, "seconds"), 0),
		.best_bleu = json_number(json_get(root, "best_bleu"), -1),
		.best_step = ckpt_get_integer(root, "best_step", -1, INT64_MAX, &bad),
	};
	if (json_get(root, "held_steps"))
		s->held_steps = ckpt_get_integer(root, "held_steps", 0, s->step - 1, &bad);
	ckpt_parse_cooldown(root, s, &bad);
	if (bad)
		return err_set(e, ERR_DATA,
			       "%s: \"%s\" is missing or out of range: this is not a checkpoint of "
			       "Werkbank",
			       path, bad);
	if (arch_read_shape(&s->shape, root, path, e))
		return e->code;
	/* absent without error feedback */
	s->feedback_ranks = (int32_t)json_integer(alias_json_get(root, "error_feedback_ranks"), 0);
	s->feedback_wire = (int32_t)json_integer(alias_json_get(root, "error_feedback_wire"), 0);
	s->feedback_bucket = json_integer(alias_json_get(root, "error_feedback_bucket"), 0);
	s->several = json_number(json_get(root, "several_sentences"), 0);
	s->longest = (int32_t)MIN(json_integer(json_get(root, "longest_source"), 0), INT32_MAX);
	if (!text_is_vocabulary_id(hash))
		return err_set(e, ERR_DATA,
			       "%s: \"vocabulary_sha256\" is missing: this is not a checkpoint of "
			       "Werkbank",
			       path);
	snprintf(s->vocabulary_sha256, sizeof(s->vocabulary_sha256), "%s", hash);
	snprintf(s->precision, sizeof(s->precision), "%.7s",
		 json_text(json_get(root, "precision"), ""));
	snprintf(s->optimizer, sizeof(s->optimizer), "%.15s",
		 json_text(json_get(root, "optimizer"), ""));
	return 0;
}

int ckpt_read_state(const char *folder, bool verify, struct ckpt_state *s, struct err *e)
{
	struct buf text = { 0 };
	struct json *root = NULL;
	char *path = file_path(e, "%s/%s", folder, CKPT_STATE);
	int rc = path ? 0 : e->code;

	if (!rc && verify)
		rc = ckpt_verify(folder, CKPT_WHOLE, e);
	if (!rc)
		rc = file_read_all(path, SMALL_FILE, &text, e);
	if (!rc) {
		root = json_parse(buf_text(&text), text.len, e);
		rc = root ? ckpt_parse_state(root, path, s, e) : err_prefix(e, "%s", path);
	}
	json_free(root);
	buf_free(&text);
	free(path);
	return rc;
}

/* ---- tensors ----------------------------------------------------------- */

typedef void store_function(struct model *m, float *to, const void *from, size_t bytes);

static void store_on_backend(struct model *m, float *to, const void *from, size_t bytes)
{
	model_get_ops(m)->to_device(model_get_dev(m), to, from, bytes);
}

static void store_on_host(struct model *m, float *to, const void *from, size_t bytes)
{
	(void)m;
	memcpy(to, from, bytes);
}

/* An array, and the suffix of its tensors in a file. */
struct suffixed_arena {
	const char *suffix;
	float *x;
	bool is_factored; /* the tensors are those of adafactor.h, not of the model */
};

static int ckpt_list_tensors(struct model *m, bool is_factored, struct model_param **params,
			     size_t *n, struct err *e)
{
	int64_t floats;

	return (is_factored ? adafactor_state_params : model_params)(model_get_shape(m), params, n,
								     &floats, e);
}

/* Copy the tensors NAME + suffix of an open file into a flat array. */
static int load_arena(const struct safetensors *file, struct model *m,
		      const struct suffixed_arena *to, store_function *store, struct err *e)
{
	struct model_param *params;
	size_t n;
	int rc = ckpt_list_tensors(m, to->is_factored, &params, &n, e);

	if (rc)
		return rc;
	for (size_t i = 0; !rc && i < n; i++) {
		const struct model_param *p = &params[i];
		const unsigned char *data;
		char name[80];

		snprintf(name, sizeof(name), "%s%s", p->name, to->suffix);
		data = safetensors_get(file, name, p->rows, p->cols, e);
		if (data)
			store(m, to->x + p->offset, data,
			      (size_t)(p->rows * p->cols) * sizeof(float));
		else
			rc = e->code;
	}
	free(params);
	return rc ? rc : model_get_ops(m)->sync(model_get_dev(m), e);
}

static int count_tensors(const struct safetensors *file, const char *path, struct model *m,
			 bool is_factored, size_t each, struct err *e)
{
	struct model_param *params;
	size_t n;

	if (ckpt_list_tensors(m, is_factored, &params, &n, e))
		return e->code;
	free(params);
	if (safetensors_count(file) != n * each)
		return err_set(e, ERR_DATA,
			       "%s has %zu tensors, but the model needs %zu: this is another model",
			       path, safetensors_count(file), n * each);
	return 0;
}

/* Load arrays from the file `path`, which is freed; NULL: failure. each: arrays of the file; 0: any. */
static int ckpt_load_file(char *path, struct model *m, store_function *store,
			  const struct suffixed_arena *arenas, size_t n, size_t each, struct err *e)
{
	struct safetensors *file = path ? safetensors_open(path, e) : NULL;
	int rc = file ? 0 : e->code;

	for (size_t i = 0; !rc && i < n; i++)
		rc = load_arena(file, m, &arenas[i], store, e);
	if (!rc && each)
		rc = count_tensors(file, path, m, arenas->is_factored, each, e);
	safetensors_close(file);
	free(path);
	return rc;
}

static int load_weights(const char *folder, const char *name, struct model *m, float *arena,
			struct err *e)
{
	return ckpt_load_file(file_path(e, "%s/%s", folder, name), m, store_on_backend,
			      &(struct suffixed_arena){ "", arena, false }, 1, 1, e);
}

int ckpt_load_weights(const char *folder, struct model *m, struct err *e)
{
	return load_weights(folder, CKPT_WEIGHTS, m, model_param_arena(m), e);
}

int ckpt_load_average(const char *folder, struct model *m, float *arena, struct err *e)
{
	return load_weights(folder, CKPT_WEIGHTS, m, arena, e);
}

int ckpt_load_training(const char *folder, struct model *m, bool *average, struct err *e)
{
	char *path = file_path(e, "%s/%s", folder, CKPT_TRAINING);

	if (!path)
		return e->code;
	*average = file_exists(path);
	free(path);
	return load_weights(folder, *average ? CKPT_TRAINING : CKPT_WEIGHTS, m,
			    model_param_arena(m), e);
}

/*
 * The address of each tensor in the mapped file; the caller frees the array. NULL with e->code 0:
 * a tensor is not aligned, so the file cannot be mapped.
 */
static const float **find_tensors(const struct safetensors *file, const struct model_shape *shape,
				  struct err *e)
{
	struct model_param *params = NULL;
	const float **tensors = NULL;
	int64_t floats;
	size_t n;
	bool aligned = true;

	if (model_params(shape, &params, &n, &floats, e))
		return NULL;
	tensors = mem_alloc(n, sizeof(*tensors), e);
	for (size_t i = 0; tensors && i < n; i++) {
		const void *data =
			safetensors_get(file, params[i].name, params[i].rows, params[i].cols, e);

		if (!data) {
			free(tensors);
			tensors = NULL;
			break;
		}
		tensors[i] = data;
		aligned &= (uintptr_t)data % sizeof(float) == 0;
	}
	free(params);
	if (tensors && !aligned) {
		free(tensors);
		e->code = 0;
		return NULL;
	}
	return tensors;
}

struct model *ckpt_open_model(const struct ckpt_source *s, const struct model_shape *shape,
			      const struct ops *ops, const struct dev_options *o,
			      struct safetensors **weights, struct err *e)
{
	const char *name = ckpt_weights_name(s);
	char *path = file_path(e, "%s/%s", s->folder, name);
	const float **tensors = NULL;
	struct model *m = NULL;

	*weights = path ? safetensors_open(path, e) : NULL;
	if (!*weights)
		goto out;
	e->code = 0;
	if (ops->pack && !ops->has_device_memory)
		tensors = find_tensors(*weights, shape, e);
	if (e->code)
		goto out;
	m = tensors ? model_new_mapped(shape, ops, o, tensors, e) : model_new(shape, ops, o, e);
	if (m && (tensors ? count_tensors(*weights, path, m, false, 1, e)
			  : load_weights(s->folder, name, m, model_param_arena(m), e))) {
		model_free(m);
		m = NULL;
	}
out:
	if (!m || !tensors) {
		safetensors_close(*weights);
		*weights = NULL;
	}
	free(tensors);
	free(path);
	return m;
}

int ckpt_load_moments(const char *folder, struct model *m, float *first, float *second,
		      struct err *e)
{
	const struct suffixed_arena moments[] = { { ".m", first, false }, { ".v", second, false } };

	return ckpt_load_file(file_path(e, "%s/%s", folder, CKPT_MOMENTS), m, store_on_backend,
			      moments, 2, 2, e);
}

int ckpt_load_factored(const char *folder, struct model *m, float *state, struct err *e)
{
	const struct suffixed_arena to = { ".v", state, true };

	return ckpt_load_file(file_path(e, "%s/%s", folder, CKPT_MOMENTS), m, store_on_host, &to, 1,
			      1, e);
}

/* The path of the file with the error feedback, under its present or its former name. */
static char *feedback_path(const char *folder, struct err *e)
{
	char *path = file_path(e, "%s/%s", folder, CKPT_FEEDBACK_FILE);

	if (!path || file_exists(path))
		return path;
	free(path);
	return file_path(e, "%s/%s", folder, CKPT_FEEDBACK_OLD);
}

int ckpt_load_arena(const char *folder, struct model *m, int which, float *arena, struct err *e)
{
	char suffix[16];
	const struct suffixed_arena to = { suffix, arena, false };

	assert(which >= CKPT_FIRST);
	ckpt_set_suffix(which, suffix, sizeof(suffix));
	if (which >= CKPT_FEEDBACK)
		return ckpt_load_file(feedback_path(folder, e), m, store_on_host, &to, 1, 0, e);
	return ckpt_load_file(file_path(e, "%s/%s", folder, CKPT_MOMENTS), m, store_on_backend, &to,
			      1, 2, e);
}
