/* openseq2seq.c - converts a log of OpenSeq2Seq to a journal; see openseq2seq.h */
#include "train/record/openseq2seq.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "share/base/mem.h"
#include "share/base/util.h"
#include "share/format/json.h"

#define LINE_BYTES 500 /* only the first bytes of a line are read */
#define MOST_STEPS INT64_C(1000000000000)

enum what { BEGIN, TRAIN, EVAL };

struct entry {
	enum what what;
	int64_t step;	     /* EVAL: set by place_evals() */
	int64_t after, upto; /* EVAL: its step is in (after, upto]; upto -1: unknown */
	bool has_loss;
	double loss;   /* EVAL: of the development set */
	double step_s; /* seconds of a step; NAN: not in the log */
	double pseudo_bleu;
};

struct log {
	struct entry *entries; /* owned */
	size_t n, cap;
	struct openseq2seq *seen;
};

/* ---- lines ------------------------------------------------------------- */

/* The text after these words and blanks; NULL: text does not contain the words. */
static const char *text_after_words(const char *text, const char *words)
{
	const char *at = strstr(text, words);

	if (!at)
		return NULL;
	at += strlen(words);
	while (*at == ' ')
		at++;
	return at;
}

/* The same if text begins with the words. */
static const char *text_after_prefix(const char *text, const char *words)
{
	return strncmp(text, words, strlen(words)) != 0 ? NULL : text_after_words(text, words);
}

static bool get_real(const char *at, double *v)
{
	char *end;

	if (!at)
		return false;
	*v = strtod(at, &end);
	return end != at;
}

/* Reads "60,880,896"; -1: not a number, or out of range. */
static int64_t get_count(const char *at)
{
	int64_t v = 0;
	bool digits = false;

	for (; at && v <= MOST_STEPS; at++) {
		if (*at >= '0' && *at <= '9') {
			v = v * 10 + (*at - '0');
			digits = true;
		} else if (*at != ',') {
			break;
		}
	}
	return digits && v <= MOST_STEPS ? v : -1;
}

/* Reads "0:00:1.710" as seconds; NAN: not a time. */
static double get_time(const char *at)
{
	double seconds = 0;

	for (int i = 0; at && i < 3; i++) {
		char *end;
		double v = strtod(at, &end);

		if (end == at || !(v >= 0 && v < 1e9))
			return NAN;
		seconds = seconds * 60 + v;
		if (*end != ':')
			return i == 2 ? seconds : NAN;
		at = end + 1;
	}
	return NAN;
}

static struct entry *log_add_entry(struct log *l, enum what what, struct err *e)
{
	struct entry *x;

	if (mem_grow(&l->entries, &l->cap, l->n + 1, sizeof(*l->entries), e))
		return NULL;
	x = &l->entries[l->n++];
	*x = (struct entry){ .what = what,
			     .step = -1,
			     .after = l->seen->last_step,
			     .upto = -1,
			     .loss = NAN,
			     .step_s = NAN,
			     .pseudo_bleu = NAN };
	return x;
}

static struct entry *last_of(struct log *l, enum what what)
{
	struct entry *x = l->n ? &l->entries[l->n - 1] : NULL;

	return x && x->what == what ? x : NULL;
}

/* If a step is printed again, another attempt has begun there. */
static int log_parse_step(struct log *l, const char *text, int64_t step, struct err *e)
{
	struct entry *x = NULL;

	if (step <= l->seen->last_step || !l->seen->starts) {
		size_t at = l->n;

		while (at > 0 && l->entries[at - 1].what == EVAL && l->entries[at - 1].upto < 0)
			at--; /* evaluations after the last step belong to the new attempt */
		if (!log_add_entry(l, BEGIN, e))
			return e->code;
		memmove(&l->entries[at + 1], &l->entries[at], (l->n - 1 - at) * sizeof(*x));
		l->entries[at] = (struct entry){ .what = BEGIN, .step = MAX(step - 1, 0) };
		for (size_t i = at + 1; i < l->n; i++)
			l->entries[i].after = step - 1;
		l->seen->starts++;
	}
	for (size_t i = l->n; i > 0 && l->entries[i - 1].what == EVAL; i--)
		l->entries[i - 1].upto = step;
	l->seen->last_step = step;
	x = log_add_entry(l, TRAIN, e);
	if (!x)
		return e->code;
	x->step = step;
	x->has_loss = get_real(text_after_words(text, "loss ="), &x->loss) ||
		      get_real(text_after_words(text, "loss:"), &x->loss);
	x->step_s = get_time(text_after_words(text, "time per step ="));
	l->seen->trains++;
	return 0;
}

/* The loss is printed first; a score after it belongs to the same evaluation. */
static struct entry *log_get_eval(struct log *l, bool is_loss, struct err *e)
{
	struct entry *x = last_of(l, EVAL);

	if (x && !is_loss && isnan(x->pseudo_bleu))
		return x;
	x = log_add_entry(l, EVAL, e);
	l->seen->evals += x != NULL;
	return x;
}

/* Lines about the last printed step, and about the whole training. */
static int log_parse_summary(struct log *l, const char *text)
{
	struct openseq2seq *seen = l->seen;
	struct entry *x = last_of(l, TRAIN);
	const char *at;
	double v;

	if (x && get_real(text_after_prefix(text, "Train loss:"), &v)) {
		x->has_loss = true;
		x->loss = v;
	} else if (x && text_after_prefix(text, "time per step =")) {
		x->step_s = get_time(text_after_prefix(text, "time per step ="));
	} else if ((at = text_after_prefix(text, "Total trainable parameters:")) != NULL)
		seen->parameters = get_count(at);
	else if ((at = text_after_prefix(text, "Building graph on Horovod rank:")) != NULL)
		seen->ranks = MAX(seen->ranks, get_count(at) + 1);
	else if (text_after_prefix(text, "Finished training"))
		seen->finished = true;
	else if (get_real(text_after_prefix(text, "Avg time per step:"), &v))
		seen->avg_step_s = v;
	else if (get_real(text_after_prefix(text, "Avg objects per second:"), &v))
		seen->avg_objects = v;
	return 0;
}

/* text: the rest of a line after "*** " and blanks. */
static int log_parse_text(struct log *l, const char *text, struct err *e)
{
	const char *at = text_after_prefix(text, "Global step");
	struct entry *x;
	double v;

	if (!at && text_after_prefix(text, "Epoch "))
		at = text_after_words(text, ", global step");
	if (at)
		return get_count(at) < 0 ? 0 : log_parse_step(l, text, get_count(at), e);
	if (get_real(text_after_prefix(text, "Validation loss:"), &v)) {
		x = log_get_eval(l, true, e);
		if (!x)
			return e->code;
		x->has_loss = true;
		x->loss = v;
		return 0;
	}
	if (get_real(text_after_prefix(text, "Eval BLUE score:"), &v) ||
	    get_real(text_after_prefix(text, "Eval BLEU score:"), &v)) {
		x = log_get_eval(l, false, e);
		if (!x)
			return e->code;
		x->pseudo_bleu = v;
		return 0;
	}
	return log_parse_summary(l, text);
}

static int log_parse_lines(struct log *l, const char *bytes, size_t n, struct err *e)
{
	while (n > 0) {
		const char *end = memchr(bytes, '\n', n);
		size_t len = end ? (size_t)(end - bytes) : n;
		char line[LINE_BYTES + 1];
		const char *text;

		memcpy(line, bytes, MIN(len, LINE_BYTES));
		line[MIN(len, LINE_BYTES)] = 0;
		text = text_after_words(line, "*** ");
		if (text && log_parse_text(l, text, e))
			return e->code;
		bytes += len + (end != NULL);
		n -= len + (end != NULL);
	}
	return 0;
}

/* ---- steps of evaluations ---------------------------------------------- */

/* The roundest number in (after, upto]: a multiple of the greatest power of ten. */
static int64_t find_roundest_step(int64_t after, int64_t upto)
{
	for (int64_t p = MOST_STEPS; p > 1; p /= 10)
		if (upto / p * p > after)
			return upto / p * p;
	return upto;
}

/* The interval of evaluations; those at step 0 and at the end say nothing about it. 0: none fits. */
static int64_t find_interval(const struct log *l)
{
	int64_t low = 0, high = MOST_STEPS, k = 0;

	for (size_t i = 0; i < l->n; i++) {
		const struct entry *x = &l->entries[i];

		if (x->what != EVAL)
			continue;
		if (k > 0 && x->upto >= 0) {
			low = MAX(low, MAX(x->after, 0) / k); /* steps > after */
			high = MIN(high, x->upto / k);
		}
		k++;
	}
	return k > 1 && high > low && high < MOST_STEPS ? find_roundest_step(low, high) : 0;
}

static void place_evals(struct log *l)
{
	int64_t every = l->seen->starts == 1 ? find_interval(l) : 0, k = 0;

	l->seen->eval_every = every;
	for (size_t i = 0; i < l->n; i++) {
		struct entry *x = &l->entries[i];
		int64_t step = every * k;

		if (x->what != EVAL)
			continue;
		if (k == 0 && x->after <= 0)
			x->step = 0;
		else if (x->upto < 0)
			x->step = MAX(x->after, 0); /* at the end of the log: no step follows */
		else
			x->step = every && step > x->after && step <= x->upto
					  ? step
					  : find_roundest_step(x->after, x->upto);
		k++;
	}
}

/* ---- records ----------------------------------------------------------- */

static void log_begin_record(struct json_writer *w, const char *kind, double t, int64_t step)
{
	json_open(w, '{');
	json_put_int(w, "v", 1);
	json_put_str(w, "kind", kind);
	json_put_real(w, "t", t);
	json_put_int(w, "step", step);
}

static void log_end_record(struct json_writer *w)
{
	json_close(w, '}');
	buf_add_char(w->out, '\n');
	w->need_comma = false;
}

static void put_start(struct json_writer *w, const struct log *l, const char *run, double t,
		      int64_t step, int64_t attempt)
{
	log_begin_record(w, "start", t, step);
	json_put_str(w, "run", run);
	json_put_int(w, "attempt", attempt);
	json_put_str(w, "imported", "OpenSeq2Seq");
	if (l->seen->ranks > 0)
		json_put_int(w, "ranks", l->seen->ranks);
	if (l->seen->parameters > 0)
		json_put_int(w, "parameters", l->seen->parameters);
	log_end_record(w);
}

static void put_entry(struct json_writer *w, const struct entry *x, double t)
{
	const char *name = x->what == TRAIN ? "loss" : "dev_loss";

	log_begin_record(w, x->what == TRAIN ? "train" : "eval", t, x->step);
	if (x->has_loss)
		json_put_real(w, name, x->loss);
	if (x->has_loss && !isfinite(x->loss))
		json_put_str(w, "nonfinite", name);
	if (!isnan(x->step_s))
		json_put_real(w, "step_s", x->step_s);
	if (!isnan(x->pseudo_bleu))
		json_put_real(w, "pseudo_bleu", x->pseudo_bleu);
	log_end_record(w);
}

static void put_note(struct json_writer *w, const struct openseq2seq *s, double t)
{
	struct buf text = { 0 };

	buf_add_str(&text, "imported from a log of OpenSeq2Seq: losses are label-smoothed, minus "
			   "the minimum of smoothing; pseudo_bleu is teacher-forced");
	if (s->eval_every)
		buf_printf(&text, "; evaluations every %lld steps, estimated from the log",
			   (long long)s->eval_every);
	if (!isnan(s->avg_step_s))
		buf_printf(&text, "; %g s a step according to the log", s->avg_step_s);
	if (!isnan(s->avg_objects))
		buf_printf(&text, "; %g tokens a second, source and target", s->avg_objects);
	log_begin_record(w, "event", t, MAX(s->last_step, 0));
	json_put_str(w, "level", "info");
	json_put_str(w, "text", buf_text(&text));
	log_end_record(w);
	buf_free_part(&text, w->out);
}

/* Seconds between the entry before and this one. *before: in and out, step of the last TRAIN. */
static double log_entry_seconds(const struct entry *x, int64_t *before)
{
	double s = 0;

	if (x->what == BEGIN)
		*before = x->step;
	if (x->what != TRAIN)
		return 0;
	if (!isnan(x->step_s))
		s = x->step_s * (double)MAX(x->step - *before, 0);
	*before = x->step;
	return s;
}

static void put_all(struct log *l, const char *run, double end_t, struct buf *journal)
{
	struct json_writer w = { .out = journal };
	int64_t before = 0, attempt = 0;
	double t;

	for (size_t i = 0; i < l->n; i++)
		l->seen->seconds += log_entry_seconds(&l->entries[i], &before);
	t = end_t - l->seen->seconds;
	before = 0;
	for (size_t i = 0; i < l->n; i++) {
		const struct entry *x = &l->entries[i];

		t += log_entry_seconds(x, &before);
		if (x->what == BEGIN)
			put_start(&w, l, run, t, x->step, ++attempt);
		else
			put_entry(&w, x, t);
	}
	put_note(&w, l->seen, end_t);
	if (!l->seen->finished)
		return;
	log_begin_record(&w, "stop", end_t, MAX(l->seen->last_step, 0));
	json_put_str(&w, "reason", "finished");
	json_put_int(&w, "exit", 0);
	log_end_record(&w);
}

int openseq2seq_read(const char *bytes, size_t n, const char *run, double end_t,
		     struct buf *journal, struct openseq2seq *seen, struct err *e)
{
	struct log l = { .seen = seen };
	int rc;

	*seen = (struct openseq2seq){ .last_step = -1,
				      .parameters = -1,
				      .ranks = -1,
				      .avg_step_s = NAN,
				      .avg_objects = NAN };
	rc = log_parse_lines(&l, bytes, n, e);
	assert(rc || seen->trains >= 0);
	if (!rc && !seen->trains)
		rc = err_set(e, ERR_DATA,
			     "not a log of OpenSeq2Seq: no line has \"*** Global step N:\"");
	if (!rc) {
		place_evals(&l);
		put_all(&l, run, end_t, journal);
		rc = buf_check(journal, e);
	}
	free(l.entries);
	return rc;
}
