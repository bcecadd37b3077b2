/* evidence.c - reads the journal, recipe and corpus manifest of a run; see evidence.h */
#include "eval/report/evidence.h"

#include <assert.h>
#include <ctype.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "data/source/corpus.h"
#include "share/base/file.h"
#include "share/base/mem.h"
#include "share/base/util.h"
#include "share/conf/text_facts.h"
#include "share/workspace/journal.h"
#include "share/workspace/paths.h"
#include "share/workspace/workspace_names.h"

#define MANIFEST_LIMIT (64u << 20)
#define STATS_LIMIT    (64u << 20)
#define MAX_STEP       1e15 /* larger step numbers come from a damaged journal */
#define MAX_MEASURED   1e30 /* larger numbers come from a damaged journal */

/* ---- records into structs ---------------------------------------------- */

#define EVIDENCE_NAME(name) #name,

static const char *const train_names[] = { TRAIN_NUMBERS(EVIDENCE_NAME) };
static const char *const eval_names[] = { EVAL_NUMBERS(EVIDENCE_NAME) };
static const char *const save_names[] = { SAVE_NUMBERS(EVIDENCE_NAME) };
static const char *const rank_names[] = { RANK_NUMBERS(EVIDENCE_NAME) };
static const char *const weights_names[] = { WEIGHTS_NUMBERS(EVIDENCE_NAME) };
static const char *const tune_names[] = { TUNE_NUMBERS(EVIDENCE_NAME) };
static const char *const host_names[] = { HOST_NUMBERS(EVIDENCE_NAME) };

/* Reads the numbers that a point begins with. Its time becomes that of a clock that nobody set back. */
static void read_point_numbers(const struct evidence *v, void *point, const char *const *names,
			       size_t n, const struct json *record)
{
	double *values = point;

	json_numbers(record, names, n, values);
	values[0] += v->set_back_s;
}

/* The mean of a field over the GPUs of a host that report it; NAN without any. */
static double mean_of_gpus(const struct json *gpus, const char *field)
{
	double sum = 0, known = 0;

	for (size_t i = 0; i < json_len(gpus); i++) {
		double v = json_number(json_get(json_at(gpus, i), field), NAN);

		if (!isnan(v)) {
			sum += v;
			known++;
		}
	}
	return known > 0 ? sum / known : NAN;
}

static void read_gpu_means(struct host_point *p, const struct json *record)
{
	const struct json *gpus = json_get(record, "gpus");

	snprintf(p->host, sizeof(p->host), "%.63s", json_text(json_get(record, "host"), ""));
	snprintf(p->gpu_name, sizeof(p->gpu_name), "%.63s",
		 json_text(json_get(json_at(gpus, 0), "name"), ""));
	p->gpus = (double)json_len(gpus);
	p->gpu_util = mean_of_gpus(gpus, "util");
	p->gpu_power_w = mean_of_gpus(gpus, "power_w");
	p->gpu_power_limit_w = mean_of_gpus(gpus, "power_limit_w");
}

static bool is_step(double x)
{
	return x >= 0 && x <= MAX_STEP;
}

/* ---- kinds of records -------------------------------------------------- */

/* An attempt starts at this step: drop the records of the steps that it repeats. */
static void drop_repeated_steps(struct evidence *v, double step)
{
	while (v->n_train && v->train[v->n_train - 1].step > step) {
		const struct train_point *p = &v->train[--v->n_train];

		if (!isnan(p->step_s) && p->steps > 0)
			v->lost_s += p->step_s * p->steps;
	}
	while (v->n_evals && v->evals[v->n_evals - 1].step > step)
		v->n_evals--;
	while (v->n_weights && v->weights[v->n_weights - 1].step > step)
		v->n_weights--;
}

/* The options of the start record replace those of the recipe: they are what ran. */
static void read_start_options(struct evidence *v, const struct json *r)
{
	const struct json *options = json_get(r, "options"), *value;
	struct err ignored;
	const char *name;

	for (size_t i = 0; (name = json_member(options, i, &value)) != NULL; i++) {
		/* an option that this version does not know stays unread */
		(void)conf_set(&v->recipe, name, json_text(value, ""), "journal", &ignored);
		v->has_plan |= !strcmp(name, "steps");
	}
}

/*
 * Each completes the new point of its record and says whether to keep it; point NULL: the kind has no points.
 */
static bool take_start_record(struct evidence *v, void *point, const struct json *r)
{
	(void)point;
	v->n_attempts++;
	v->n_tune = 0; /* the comparisons were of an earlier state of the run */
	v->link = (struct link_evidence){ NAN, NAN, NAN };
	drop_repeated_steps(v, json_number(json_get(r, "step"), 0));
	v->ranks = json_number(json_get(r, "ranks"), NAN);
	v->parameters = json_number(json_get(r, "parameters"), v->parameters);
	v->vocabulary = json_number(json_get(r, "vocabulary"), v->vocabulary);
	v->source_vocabulary = json_number(json_get(r, "source_vocabulary"), v->vocabulary);
	snprintf(v->precision, sizeof(v->precision), "%.15s",
		 json_text(json_get(r, "precision"), ""));
	snprintf(v->backend, sizeof(v->backend), "%.15s", json_text(json_get(r, "backend"), ""));
	snprintf(v->started_on, sizeof(v->started_on), "%.63s", json_text(json_get(r, "host"), ""));
	v->reason[0] = 0;
	v->end = (struct run_end){ 0 };
	v->stop_step = NAN;
	read_start_options(v, r);
	return false;
}

static bool take_train_record(struct evidence *v, void *point, const struct json *r)
{
	struct train_point *p = point;

	if (!is_step(p->step))
		return false;
	p->steps = p->step - (v->n_train ? p[-1].step : 0);
	v->nonfinite += json_get(r, "nonfinite") != NULL;
	return true;
}

/* Scores of another tokenizer say nothing about those that follow. Old records have no tok: 13a. */
static void take_tokenizer(struct evidence *v, const struct json *r)
{
	const char *tok = json_text(json_get(r, "tok"), "13a");

	for (size_t i = 0; strcmp(v->tok, tok) != 0 && i < v->n_evals; i++)
		v->evals[i].bleu = NAN;
	snprintf(v->tok, sizeof(v->tok), "%.15s", tok);
}

static bool take_eval_record(struct evidence *v, void *point, const struct json *r)
{
	struct eval_point *p = point;

	take_tokenizer(v, r);
	if (isnan(p->dev_nll)) /* an imported log has only dev_loss */
		p->dev_nll = json_number(json_get(r, "dev_loss"), NAN);
	return is_step(p->step);
}

static bool take_rank_record(struct evidence *v, void *point, const struct json *r)
{
	struct rank_point *p = point;

	(void)v;
	snprintf(p->host, sizeof(p->host), "%.63s", json_text(json_get(r, "host"), ""));
	return p->rank >= 0 && is_step(p->step);
}

static bool take_host_record(struct evidence *v, void *point, const struct json *r)
{
	struct host_point *p = point;

	(void)v;
	/* the highest rate seen is not a speed: compared with it, a link would always look full */
	if (!strcmp(json_text(json_get(r, "link_from"), ""), "seen"))
		p->link_bytes_s = NAN;
	read_gpu_means(p, r);
	return true;
}

static bool take_tune_record(struct evidence *v, void *point, const struct json *r)
{
	struct tune_point *p = point;

	(void)v;
	snprintf(p->set, sizeof(p->set), "%.31s", json_text(json_get(r, "set"), ""));
	p->is_general = !strcmp(json_text(json_get(r, "role"), ""), "general");
	return true;
}

static bool take_link_record(struct evidence *v, void *point, const struct json *r)
{
	(void)point;
	v->link = (struct link_evidence){ json_number(json_get(r, "latency_s"), NAN),
					  json_number(json_get(r, "link_bytes_s"), NAN),
					  json_number(json_get(r, "lost"), NAN) };
	return false;
}

static bool take_event_record(struct evidence *v, void *point, const struct json *r)
{
	const char *level = json_text(json_get(r, "level"), "");

	(void)point;
	if (json_get(r, "cooldown_to")) {
		if (!(v->cooldown_to > 0))
			v->cooldown_from = json_number(json_get(r, "cooldown_from"), NAN);
		v->cooldown_to = json_number(json_get(r, "cooldown_to"), NAN);
	}
	if (json_get(r, "schedule_end")) {
		v->schedule_from = json_number(json_get(r, "schedule_from"), NAN);
		v->schedule_end = json_number(json_get(r, "schedule_end"), NAN);
	}
	v->skipped += strstr(json_text(json_get(r, "text"), ""), " is skipped: its ") != NULL;
	if (!strcmp(level, "error"))
		snprintf(v->last_error, sizeof(v->last_error), "%.399s",
			 json_text(json_get(r, "text"), ""));
	return false;
}

static bool take_stop_record(struct evidence *v, void *point, const struct json *r)
{
	const struct run_limits limits = { .step = json_integer(json_get(r, "step"), -1),
					   .steps = v->has_plan ? v->recipe.steps : -1,
					   .minutes = v->recipe.max_minutes,
					   .patience = v->recipe.patience };

	(void)point;
	run_end_read(&v->end, r);
	run_end_complete(&v->end, NULL, NULL, &limits);
	v->stop_step = json_number(json_get(r, "step"), NAN);
	snprintf(v->reason, sizeof(v->reason), "%.15s", json_text(json_get(r, "reason"), ""));
	return false;
}

/* A list of points in struct evidence, and what its points begin with. */
#define POINT_LIST(list, type, names)                                                              \
	sizeof(struct type), offsetof(struct evidence, list), offsetof(struct evidence, n_##list), \
		offsetof(struct evidence, cap_##list), names, ARRAY_LEN(names)

static const struct record_kind {
	const char *kind;
	bool (*take)(struct evidence *v, void *point, const struct json *r); /* NULL: keep it */
	size_t point_bytes, list, n, cap; /* offsets in struct evidence; 0: no points */
	const char *const *names;
	size_t n_names;
} record_kinds[] = {
	{ .kind = "start", .take = take_start_record },
	{ "train", take_train_record, POINT_LIST(train, train_point, train_names) },
	{ "eval", take_eval_record, POINT_LIST(evals, eval_point, eval_names) },
	{ "save", NULL, POINT_LIST(saves, save_point, save_names) },
	{ "rank", take_rank_record, POINT_LIST(rank, rank_point, rank_names) },
	{ "host", take_host_record, POINT_LIST(host, host_point, host_names) },
	{ "tune", take_tune_record, POINT_LIST(tune, tune_point, tune_names) },
	{ .kind = "link", .take = take_link_record },
	{ .kind = "event", .take = take_event_record },
	{ .kind = "stop", .take = take_stop_record },
};

static int add_record_of_kind(struct evidence *v, const struct record_kind *k, const struct json *r,
			      struct err *e)
{
	char *base = (char *)v, *points = NULL;
	size_t *n = (size_t *)(void *)(base + k->n);
	void *point = NULL;

	if (k->point_bytes) {
		if (mem_grow(base + k->list, (size_t *)(void *)(base + k->cap), *n + 1,
			     k->point_bytes, e))
			return e->code;
		memcpy(&points, base + k->list, sizeof(points));
		point = points + *n * k->point_bytes;
		read_point_numbers(v, point, k->names, k->n_names, r);
	}
	if ((!k->take || k->take(v, point, r)) && point)
		++*n;
	return 0;
}

/* One point for each matrix of the record. */
static int add_weights_record(struct evidence *v, const struct json *r, struct err *e)
{
	const struct json *moved = json_get(r, "moved"), *still = json_get(r, "still"), *value;
	const char *name;

	for (size_t i = 0; (name = json_member(moved, i, &value)) != NULL; i++) {
		struct weights_point *p;

		if (mem_grow(&v->weights, &v->cap_weights, v->n_weights + 1, sizeof(*p), e))
			return e->code;
		p = &v->weights[v->n_weights];
		read_point_numbers(v, p, weights_names, ARRAY_LEN(weights_names), r);
		snprintf(p->matrix, sizeof(p->matrix), "%.63s", name);
		p->moved = json_number(value, NAN);
		p->still = json_number(json_get(still, name), 0);
		v->n_weights += is_step(p->step);
	}
	return 0;
}

static int add_record(struct evidence *v, const struct json *r, struct err *e)
{
	const char *kind = json_text(json_get(r, "kind"), "");
	double t = json_number(json_get(r, "t"), NAN) + v->set_back_s;

	if (t < v->last_t) { /* records are in the order of writing, so the clock was set back */
		v->set_back_s += v->last_t - t;
		t = v->last_t;
	}
	if (isnan(v->first_t))
		v->first_t = t;
	if (!isnan(t))
		v->last_t = t;
	for (size_t i = 0; i < ARRAY_LEN(record_kinds); i++)
		if (!strcmp(record_kinds[i].kind, kind))
			return add_record_of_kind(v, &record_kinds[i], r, e);
	return strcmp(kind, "weights") ? 0 : add_weights_record(v, r, e);
}

static int compare_host_names(const void *a, const void *b)
{
	const struct host_point *const *x = a, *const *y = b;

	return strcmp((*x)->host, (*y)->host);
}

/* Numbers the hosts of the host records by their names. */
static int number_hosts(struct evidence *v, struct err *e)
{
	struct host_point **order = mem_alloc(v->n_host + 1, sizeof(*order), e);

	if (!order)
		return e->code;
	for (size_t i = 0; i < v->n_host; i++)
		order[i] = &v->host[i];
	qsort(order, v->n_host, sizeof(*order), compare_host_names);
	for (size_t i = 0; i < v->n_host; i++) {
		v->hosts += i == 0 || strcmp(order[i - 1]->host, order[i]->host) != 0;
		order[i]->number = v->hosts - 1;
	}
	free(order);
	return 0;
}

/* ---- files ------------------------------------------------------------- */

static int evidence_read_journal(struct evidence *v, struct err *e)
{
	char *path = file_path(e, "%s/journal.jsonl", v->folder);
	struct journal_reader *r = path ? journal_reader_open(path, e) : NULL;
	const struct json *record;
	int got = r ? 0 : e->code;

	while (r && (got = journal_next(r, &record, e)) > 0)
		if (add_record(v, record, e)) {
			got = e->code;
			break;
		}
	journal_reader_free(r);
	free(path);
	return got ? got : number_hosts(v, e);
}

static int evidence_read_recipe(struct evidence *v, struct err *e)
{
	char *path = file_path(e, "%s/recipe.ini", v->folder);
	int rc = path ? 0 : e->code;

	if (!rc && file_exists(path)) {
		rc = conf_load_recipe(&v->recipe, path, e);
		v->has_plan = !rc;
	}
	if (!rc)
		conf_apply_size(&v->recipe);
	free(path);
	return rc;
}

/* A JSON file of the corpus; *found NULL if it is missing or damaged. The caller frees *found. */
static int read_corpus_file(const struct evidence *v, const char *name, size_t limit,
			    struct json **found, struct err *e)
{
	char *path = file_path(e, "%s/%s", v->corpus, name);
	int rc = path ? json_read_optional(found, path, limit, e) : e->code;

	free(path);
	return rc;
}

/* Pieces of the development set that the vocabulary lacks. */
static void read_unknown_share(struct evidence *v, const struct json *sets)
{
	for (size_t i = 0; i < json_len(sets); i++) {
		const struct json *s = json_at(sets, i);
		const double all = json_number(json_get(s, "source_tokens"), NAN) +
				   json_number(json_get(s, "target_tokens"), NAN);

		if (!strcmp(json_text(json_get(s, "set"), ""), "dev") && all > 0)
			v->unknown_share = json_number(json_get(s, "unknown_tokens"), NAN) / all;
	}
}

/* The sum of a number of the training texts; NAN: unknown. */
static double add_up_texts(const struct json *texts, const char *member)
{
	double sum = json_len(texts) ? 0 : NAN;

	for (size_t i = 0; i < json_len(texts); i++)
		sum += json_number(json_get(json_at(texts, i), member), NAN);
	return sum;
}

/* Lengths of the training text, in words, pieces and bytes. */
static int evidence_read_stats(struct evidence *v, struct err *e)
{
	static const char *const sides[] = { "source", "target" };
	struct json *stats = NULL;
	const int rc = read_corpus_file(v, "stats.json", STATS_LIMIT, &stats, e);
	const struct json *texts = json_get(stats, "texts");

	for (size_t i = 0; i < ARRAY_LEN(sides); i++) {
		const struct json *side = json_get(stats, sides[i]);

		v->words[i] = json_number(json_get(side, "words"), NAN);
		v->pieces[i] = json_number(json_get(side, "tokens"), NAN);
	}
	v->bytes_a_word[0] =
		add_up_texts(texts, "source_bytes") / add_up_texts(texts, "source_words");
	v->bytes_a_word[1] =
		add_up_texts(texts, "target_bytes") / add_up_texts(texts, "target_words");
	read_unknown_share(v, json_get(stats, "held_out"));
	json_free(stats);
	return rc;
}

/*
 * Has the corpus been prepared again since the training began? Its numbers are not those of the run
 * then. A recipe that cannot be read tells nothing.
 */
static int evidence_compare_corpus(struct evidence *v, struct err *e)
{
	char *recipe = file_path(e, "%s/recipe.ini", v->corpus);
	struct buf note = { 0 }, out = { 0 };
	struct err why = { 0 };
	int rc = recipe ? text_facts_check_run(&v->recipe, recipe, &note, &why) : e->code;

	if (rc == ERR_NOMEM && recipe)
		*e = why;
	free(recipe);
	if (rc == ERR_DATA || (!rc && note.len)) {
		buf_add_str(&out, rc ? why.text : buf_text(&note));
		buf_add_str(&out, ". The report leaves out the numbers of the new corpus.");
		rc = buf_check(&out, e);
		if (!rc) {
			out.data[0] = (char)toupper((unsigned char)out.data[0]);
			v->corpus_changed = mem_strdup(buf_text(&out), e);
			rc = v->corpus_changed ? 0 : e->code;
		}
	}
	buf_free(&note);
	buf_free(&out);
	return rc == ERR_NOMEM ? rc : 0;
}

const char *evidence_no_manifest(const struct evidence *v)
{
	return v->corpus_changed ? v->corpus_changed
				 : "The workspace has no manifest.json of the run's corpus.";
}

/* A missing corpus is no failure: its facts are unknown then. */
static int evidence_read_corpus(struct evidence *v, struct err *e)
{
	struct err why = { 0 };

	v->corpus = corpus_folder(&v->recipe, &why);
	if (!v->corpus) {
		if (why.code != ERR_NOMEM)
			return 0; /* the recipe names none */
		*e = why;
		return e->code;
	}
	if (evidence_compare_corpus(v, e))
		return e->code;
	if (v->corpus_changed)
		return 0;
	if (read_corpus_file(v, "manifest.json", MANIFEST_LIMIT, &v->manifest, e))
		return e->code;
	return evidence_read_stats(v, e);
}

int evidence_open(struct evidence *v, const char *workspace, const char *run, struct err *e)
{
	int rc;

	*v = (struct evidence){ .parameters = NAN,
				.stop_step = NAN,
				.vocabulary = NAN,
				.words = { NAN, NAN },
				.pieces = { NAN, NAN },
				.bytes_a_word = { NAN, NAN },
				.unknown_share = NAN,
				.link = { NAN, NAN, NAN },
				.ranks = NAN,
				.first_t = NAN,
				.last_t = NAN };
	rc = conf_init(&v->recipe, e);
	if (rc || paths_check_name("run", run, e))
		return e->code;
	snprintf(v->run, sizeof(v->run), "%.127s", run);
	v->folder = file_path(e, "%s/runs/%s", workspace, run);
	if (!v->folder)
		return e->code;
	if (!file_exists(v->folder))
		return workspace_unknown_run(workspace, run, e);
	if (evidence_read_recipe(v, e) ||
	    conf_set(&v->recipe, "workspace", workspace, "report", e) ||
	    evidence_read_journal(v, e) || samples_read(&v->samples, v->folder, e))
		return e->code;
	/* every skipped step has a train record; old journals have an event as well */
	v->skipped = MAX(v->skipped, v->nonfinite);
	evidence_find_signs(v);
	return evidence_read_corpus(v, e);
}

void evidence_close(struct evidence *v)
{
	conf_free(&v->recipe);
	json_free(v->manifest);
	free(v->folder);
	free(v->corpus);
	free(v->corpus_changed);
	free(v->train);
	free(v->evals);
	free(v->saves);
	free(v->rank);
	free(v->host);
	free(v->weights);
	free(v->tune);
	samples_free(&v->samples);
	*v = (struct evidence){ 0 };
}

int evidence_get_series(struct evidence_series *c, const void *array, size_t n, size_t size,
			size_t x_offset, size_t y_offset, struct err *e)
{
	assert(x_offset + sizeof(double) <= size && y_offset + sizeof(double) <= size);
	*c = (struct evidence_series){ 0 };
	if (!n)
		return 0;
	c->x = mem_alloc(n, 2 * sizeof(*c->x), e);
	if (!c->x)
		return e->code;
	c->y = c->x + n;
	for (size_t i = 0; i < n; i++) {
		const char *element = (const char *)array + i * size;
		double x, y;

		memcpy(&x, element + x_offset, sizeof(x));
		memcpy(&y, element + y_offset, sizeof(y));
		if (fabs(x) <= MAX_MEASURED && fabs(y) <= MAX_MEASURED) {
			c->x[c->n] = x;
			c->y[c->n++] = y;
		}
	}
	return 0;
}
