/* evaluations.c - the list of a run's evaluations; see evaluations.h */
#include "train/record/evaluations.h"

#include <assert.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "share/base/file.h"
#include "share/base/mem.h"
#include "share/format/json.h"
#include "train/common/run_versions.h"

#define FILE_LIMIT (64u << 20) /* bytes */

/* Is a, the later one, better than b? An unknown score is worse than any known one. */
static bool is_better_evaluation(enum best_metric metric, const struct evaluated *a,
				 const struct evaluated *b)
{
	const double x = metric == BEST_LOSS ? -a->nll : a->bleu,
		     y = metric == BEST_LOSS ? -b->nll : b->bleu;

	return isfinite(x) &&
	       (!isfinite(y) || x > y || (metric == BEST_BLEU && strcmp(a->tok, b->tok) != 0));
}

const struct evaluated *evaluations_best(const struct evaluations *v, enum best_metric metric)
{
	static const struct evaluated none = { .step = -1, .bleu = NAN, .nll = NAN };
	const struct evaluated *best = &none;

	for (size_t i = 0; i < v->n; i++)
		if (is_better_evaluation(metric, &v->all[i], best))
			best = &v->all[i];
	return best == &none ? NULL : best;
}

bool evaluations_would_be_best(const struct evaluations *v, enum best_metric metric,
			       const struct evaluated *one)
{
	const struct evaluated *best = evaluations_best(v, metric),
			       none = { .step = -1, .bleu = NAN, .nll = NAN };

	return is_better_evaluation(metric, one, best ? best : &none);
}

int64_t evaluations_waited(const struct evaluations *v, enum best_metric metric)
{
	const struct evaluated *best = evaluations_best(v, metric);

	return (int64_t)v->n - (best ? best - v->all + 1 : 0);
}

void evaluations_cut(struct evaluations *v, int64_t step)
{
	while (v->n > 0 && v->all[v->n - 1].step > step)
		v->n--;
}

int evaluations_note(struct evaluations *v, struct evaluated one, struct err *e)
{
	evaluations_cut(v, one.step - 1);
	if (mem_grow(&v->all, &v->cap, v->n + 1, sizeof(*v->all), e))
		return e->code;
	assert(v->n == 0 || v->all[v->n - 1].step < one.step);
	v->all[v->n++] = one;
	return 0;
}

void evaluations_free(struct evaluations *v)
{
	free(v->all);
	*v = (struct evaluations){ 0 };
}

/* Version 1 of the file has only the last and the best evaluation. */
static int parse_evaluations_v1(const struct json *root, struct evaluations *v, struct err *e)
{
	const struct evaluated best = { json_integer(json_get(root, "best_step"), -1),
					json_number(json_get(root, "best_bleu"), NAN), NAN, "13a" },
			       last = { json_integer(json_get(root, "step"), -1), NAN, NAN, "13a" };

	if (best.step >= 0 && evaluations_note(v, best, e))
		return e->code;
	return last.step > best.step ? evaluations_note(v, last, e) : 0;
}

static int parse_evaluations(const struct json *root, struct evaluations *v, struct err *e)
{
	const struct json *list = json_get(root, "evaluations"), *one;

	if (!list)
		return parse_evaluations_v1(root, v, e);
	for (size_t i = 0; i < json_len(list); i++) {
		struct evaluated seen;

		one = json_at(list, i);
		seen.step = json_integer(json_at(one, 0), -1);
		seen.bleu = json_number(json_at(one, 1), NAN);
		seen.nll = json_number(json_at(one, 2), NAN);
		snprintf(seen.tok, sizeof(seen.tok), "%s", json_text(json_at(one, 3), "13a"));
		if (seen.step >= 0 && evaluations_note(v, seen, e))
			return e->code;
	}
	return 0;
}

int evaluations_read(const char *run_folder, struct evaluations *v, struct err *e)
{
	struct buf text = { 0 };
	struct json *root;
	char *path = file_path(e, "%s/checkpoints/evaluated.json", run_folder);
	int rc = path ? 0 : e->code;

	v->n = 0;
	if (!rc && file_exists(path)) {
		rc = file_read_all(path, FILE_LIMIT, &text, e);
		root = rc ? NULL : json_parse(buf_text(&text), text.len, e);
		if (!rc && !root)
			rc = err_prefix(e, "%s", path);
		else if (!rc &&
			 !(rc = format_check_version(root, &run_evaluations_format, path, e)))
			rc = parse_evaluations(root, v, e);
		json_free(root);
	}
	buf_free(&text);
	free(path);
	return rc;
}

int evaluations_write(const char *run_folder, const struct evaluations *v, struct err *e)
{
	struct buf b = { 0 };
	struct json_writer w = { .out = &b };
	char *path = file_path(e, "%s/checkpoints/evaluated.json", run_folder);
	int rc = path ? 0 : e->code;

	json_open(&w, '{');
	format_put_version(&w, &run_evaluations_format, NULL);
	json_put_open(&w, "evaluations", '[');
	for (size_t i = 0; i < v->n; i++) {
		json_open(&w, '[');
		json_int(&w, v->all[i].step);
		json_real(&w, v->all[i].bleu);
		json_real(&w, v->all[i].nll);
		json_str(&w, v->all[i].tok);
		json_close(&w, ']');
	}
	json_close(&w, ']');
	json_close(&w, '}');
	buf_add_char(&b, '\n');
	if (!rc)
		rc = file_write_buf(path, &b, e);
	buf_free(&b);
	free(path);
	return rc;
}
