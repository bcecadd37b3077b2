/* prep_plan.c - which stages of a preparation must run, and why; run them (see prep_plan.h) */
#include "data/prep/prep_plan.h"

#include <assert.h>
#include <errno.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "data/prep/prep_pieces.h"
#include "data/text/chars.h"
#include "share/base/clock.h"
#include "share/base/file.h"
#include "share/base/text.h"
#include "share/base/util.h"
#include "share/conf/text_facts.h"

/* ---- "depends" and the key of a stage ---- */

/* No member for an option without a value: keys of corpora that are older than the option stay valid. */
static void depends_add_option(struct json_writer *w, const struct conf *c, const char *name)
{
	struct buf value = { 0 };

	conf_value(c, name, &value);
	if (value.len)
		json_put_strn(w, name, buf_text(&value), value.len);
	buf_free_part(&value, w->out);
}

/* The facts of text of the stage, then its further options. */
static void depends_add_options(struct json_writer *w, const struct conf *c,
				const struct prep_stage *s)
{
	const struct text_fact *f;
	const char *word, *list = s->options, *end = list + strlen(list);
	char name[64];
	size_t n;

	json_put_open(w, "options", '{');
	for (size_t i = 0; (f = text_fact_at(i)) != NULL; i++)
		if (!strcmp(f->stage, s->name) && text_fact_counts(c, f))
			depends_add_option(w, c, f->option);
	while ((word = chars_next_word(&list, end, &n)) != NULL) {
		snprintf(name, sizeof(name), "%.*s", (int)n, word);
		depends_add_option(w, c, name);
	}
	json_close(w, '}');
}

/* "texts": the lines of texts_describe(), or the names of the texts. */
static int depends_add_texts(struct json_writer *w, const struct texts *t, enum prep_texts which,
			     struct err *e)
{
	struct buf all = { 0 };
	const char *line;
	size_t i, n;
	int rc;

	if (which == PREP_TEXTS_CONTENTS)
		texts_describe(t, &all);
	rc = buf_check(&all, e);
	json_put_open(w, "texts", '[');
	for (line = buf_text(&all); *line; line += n + (line[n] == '\n')) {
		n = strcspn(line, "\n");
		json_strn(w, line, n);
	}
	for (i = 0; which == PREP_TEXTS_NAMES && i < t->n; i++)
		json_str(w, t->pairs[i].name);
	json_close(w, ']');
	buf_free(&all);
	return rc;
}

/* "pieces": the files of pieces_from. No member without that option: old keys stay valid. */
static int depends_add_pieces(struct json_writer *w, const struct prep *p, struct err *e)
{
	struct buf pieces = { 0 };
	int rc = p->c->pieces_from ? prep_pieces_describe(p, &pieces, e) : 0;

	if (!rc && p->c->pieces_from)
		json_put_str(w, "pieces", buf_text(&pieces));
	buf_free(&pieces);
	return rc;
}

static struct prep_step *find_step(struct prep_plan *plan, const char *name, size_t n)
{
	int i;

	for (i = 0; i < plan->n; i++)
		if (strlen(plan->stages[i].name) == n && !memcmp(plan->stages[i].name, name, n))
			return &plan->steps[i];
	return NULL;
}

static void depends_add_inputs(struct json_writer *w, struct prep_plan *plan, const char *list)
{
	const char *word, *end = list + strlen(list);
	char name[64];
	size_t n;

	json_put_open(w, "inputs", '{');
	while ((word = chars_next_word(&list, end, &n)) != NULL) {
		const struct prep_step *input = find_step(plan, word, n);

		assert(input && input->key[0]); /* inputs come before the stages that read them */
		snprintf(name, sizeof(name), "%.*s", (int)n, word);
		json_put_str(w, name, input->key);
	}
	json_close(w, '}');
}

static int sha256_of(const struct buf *b, char hex[HASH_SHA256_HEX], struct err *e)
{
	struct hash *h = hash_new(HASH_SHA256, e);
	int rc = h ? hash_add(h, b->data, b->len, e) : e->code;

	if (!rc)
		rc = hash_hex(h, hex, e);
	hash_free(h);
	return rc;
}

static int find_key(struct prep_plan *plan, struct prep *p, int i, struct err *e)
{
	const struct prep_stage *s = &plan->stages[i];
	struct prep_step *step = &plan->steps[i];
	struct json_writer w = { .out = &step->depends };
	int rc = 0;

	json_open(&w, '{');
	json_put_str(&w, "stage", s->name);
	json_put_int(&w, "version", s->version);
	depends_add_options(&w, p->c, s);
	if (s->texts == PREP_TEXTS_PIECES)
		rc = depends_add_pieces(&w, p, e);
	else if (s->texts != PREP_TEXTS_NONE)
		rc = depends_add_texts(&w, &p->texts, s->texts, e);
	depends_add_inputs(&w, plan, s->inputs);
	json_close(&w, '}');
	if (!rc)
		rc = buf_check(&step->depends, e);
	return rc ? rc : sha256_of(&step->depends, step->key, e);
}

/* ---- the reason to run ---- */

/* The stage must run; always returns true. */
static bool PRINTF_LIKE(2, 3) set_run_reason(struct prep_step *step, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(step->reason, sizeof(step->reason), fmt, ap);
	va_end(ap);
	step->run = true;
	return true;
}

static const char *or_none(const char *value)
{
	return *value ? value : "(none)";
}

static bool options_differ(struct prep_step *step, const struct json *then, const struct json *now)
{
	const struct json *value;
	const char *name, *old, *new;
	size_t i;

	for (i = 0; (name = json_member(now, i, &value)); i++) {
		if (!json_get(then, name))
			return set_run_reason(step, "option %s is new", name);
		old = json_text(json_get(then, name), "");
		new = json_text(value, "");
		if (strcmp(old, new))
			return set_run_reason(step, "option %s was %s, is %s", name, or_none(old),
					      or_none(new));
	}
	return json_len(then) != json_len(now) &&
	       set_run_reason(step, "depends on other options now");
}

static bool texts_differ(struct prep_step *step, const struct texts *t, const struct json *then,
			 const struct json *now)
{
	size_t i;

	if (json_len(then) != json_len(now))
		return set_run_reason(step, "sources changed: %zu pair%s of texts instead of %zu",
				      json_len(now), text_plural(json_len(now)), json_len(then));
	for (i = 0; i < json_len(now); i++)
		if (strcmp(json_text(json_at(then, i), ""), json_text(json_at(now, i), "")))
			return set_run_reason(step, "sources changed: %s",
					      i < t->n ? t->pairs[i].name : "?");
	return false;
}

static bool inputs_differ(struct prep_step *step, const struct json *then, const struct json *now)
{
	const struct json *key;
	const char *name;
	size_t i;

	for (i = 0; (name = json_member(now, i, &key)); i++)
		if (strcmp(json_text(json_get(then, name), ""), json_text(key, "")))
			return set_run_reason(step, "reads from %s", name);
	return json_len(then) != json_len(now) &&
	       set_run_reason(step, "reads from other stages now");
}

/* pieces_from was added, removed, or its files changed. */
static bool pieces_differ(struct prep_step *step, const struct json *then, const struct json *now)
{
	const char *old = json_text(json_get(then, "pieces"), ""),
		   *new = json_text(json_get(now, "pieces"), "");

	return strcmp(old, new) &&
	       set_run_reason(step, !*old   ? "pieces_from is new"
				    : !*new ? "pieces_from is no longer given"
					    : "pieces_from has other pieces now");
}

/* The key has changed: set the reason to the first difference of "depends". */
static int explain_change(struct prep_step *step, const struct texts *t, struct err *e)
{
	const struct json *then = json_get(step->record, "depends");
	struct json *now = json_parse(buf_text(&step->depends), step->depends.len, e);

	if (!now)
		return e->code;
	if (json_integer(json_get(then, "version"), -1) !=
	    json_integer(json_get(now, "version"), -1))
		set_run_reason(step, "was done by another version of werkbank");
	else if (!pieces_differ(step, then, now) &&
		 !options_differ(step, json_get(then, "options"), json_get(now, "options")) &&
		 !texts_differ(step, t, json_get(then, "texts"), json_get(now, "texts")) &&
		 !inputs_differ(step, json_get(then, "inputs"), json_get(now, "inputs")))
		set_run_reason(step, "the record of the stage is damaged");
	json_free(now);
	return 0;
}

/* The stage must run if a file is missing or differs from the record. */
static int check_files(struct prep *p, struct prep_step *step, struct err *e)
{
	struct prep_files files = { 0 };
	char hex[HASH_SHA256_HEX];
	const char *path;
	int64_t bytes;
	size_t i;
	int rc = prep_files_add_json(step->record, &files, e);

	for (i = 0; !rc && !step->run && i < files.n; i++) {
		path = prep_path(p, e, "%s", files.items[i].name);
		if (!path) {
			rc = e->code;
			break;
		}
		bytes = file_size(path);
		if (bytes < 0)
			set_run_reason(step, "output %s is missing", files.items[i].name);
		else if (bytes != files.items[i].bytes)
			set_run_reason(step, "output %s has changed", files.items[i].name);
		else if (p->c->force && !(rc = hash_file(path, hex, e)) &&
			 strcmp(hex, files.items[i].sha256))
			set_run_reason(step, "output %s has changed", files.items[i].name);
	}
	prep_files_free(&files);
	return rc;
}

static int decide_step(struct prep_plan *plan, struct prep *p, int i, struct err *e)
{
	struct prep_step *step = &plan->steps[i];

	if (prep_record_read(p, plan->stages[i].name, &step->record, e))
		return e->code;
	if (!step->record) {
		set_run_reason(step, "never run");
		return 0;
	}
	if (strcmp(json_text(json_get(step->record, "key"), ""), step->key))
		return explain_change(step, &p->texts, e);
	return check_files(p, step, e);
}

int prep_plan_compare(struct prep_plan *plan, struct prep *p, struct err *e)
{
	int i, rc = 0;

	for (i = 0; !rc && i < plan->n; i++) {
		rc = find_key(plan, p, i, e);
		if (!rc)
			rc = decide_step(plan, p, i, e);
	}
	return rc;
}

int prep_plan_n_to_run(const struct prep_plan *plan)
{
	int i, n = 0;

	for (i = 0; i < plan->n; i++)
		n += plan->steps[i].run;
	return n;
}

void prep_plan_free(struct prep_plan *plan)
{
	int i;

	for (i = 0; i < plan->n; i++) {
		buf_free(&plan->steps[i].depends);
		json_free(plan->steps[i].record);
	}
	*plan = (struct prep_plan){ 0 };
}

/* ---- running ---- */

/* Remove the record first: a stage without record counts as not done. */
static int discard_stage_files(struct prep *p, const struct prep_stage *stage,
			       struct prep_step *step, struct err *e)
{
	struct prep_files files = { 0 };
	size_t i;
	int rc = step->record ? prep_files_add_json(step->record, &files, e) : 0;

	if (!rc)
		rc = prep_remove_file(p, e, "work/%s.json", stage->name);
	for (i = 0; !rc && i < files.n; i++)
		rc = prep_remove_file(p, e, "%s", files.items[i].name);
	prep_files_free(&files);
	json_free(step->record);
	step->record = NULL;
	return rc;
}

static int run_step(struct prep *p, const struct prep_stage *stage, struct prep_step *step,
		    struct err *e)
{
	struct prep_numbers before = p->numbers;
	struct prep_step_result done = { .step = step, .before = &before };
	struct prep_files files = { 0 };
	double began = clock_mono_s();
	int rc = discard_stage_files(p, stage, step, e);

	if (!rc)
		rc = stage->run(p, e);
	if (!rc)
		rc = prep_files_add_stage(p, stage, false, &files, e);
	if (!rc)
		rc = prep_files_measure(p, &files, e);
	done.seconds = clock_mono_s() - began;
	if (!rc)
		rc = prep_record_write(p, stage->name, &done, &files, e);
	prep_files_free(&files);
	if (rc)
		return rc;
	if (prep_record_read(p, stage->name, &step->record, e))
		return e->code;
	return step->record ? 0
			    : err_set(e, ERR_IO, "%s/%s.json: cannot be read back", p->work,
				      stage->name);
}

int prep_plan_run(struct prep_plan *plan, struct prep *p, struct err *e)
{
	int i;

	p->numbers = (struct prep_numbers){ 0 };
	for (i = 0; i < plan->n; i++) {
		struct prep_step *step = &plan->steps[i];

		if (!step->run)
			prep_record_load_numbers(step->record, &p->numbers);
		else if (run_step(p, &plan->stages[i], step, e))
			return e->code;
	}
	return 0;
}
