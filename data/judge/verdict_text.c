/* verdict_text.c - verdicts on a corpus as JSON and as text (see corpus_judge.h) */
#include <math.h>
#include <string.h>

#include "data/judge/corpus_judge.h"
#include "share/base/number_format.h"
#include "share/base/util.h"

static const char *const rule_names[] = {
#define X(id, name) name,
	JUDGE_RULES(X)
#undef X
};

const char *judge_rule_name(enum judge_rule r)
{
	return rule_names[r];
}

static void put_examples(struct json_writer *w, const struct corpus_verdict *v,
			 const char *const *text_names)
{
	json_put_open(w, "examples", '[');
	for (int i = 0; i < v->n_examples; i++) {
		json_open(w, '{');
		if (v->examples[i].text >= 0)
			json_put_str(w, "text", text_names[v->examples[i].text]);
		json_put_int(w, "line", v->examples[i].line);
		json_put_str(w, "source", v->examples[i].source);
		json_put_str(w, "target", v->examples[i].target);
		json_close(w, '}');
	}
	json_close(w, ']');
}

static void put_verdict(struct json_writer *w, const struct corpus_verdict *v,
			const char *const *text_names)
{
	json_open(w, '{');
	json_put_str(w, "rule", rule_names[v->rule]);
	json_put_str(w, "confidence", v->is_clear ? "clear" : "likely");
	json_put_str(w, "set", v->set);
	if (v->text >= 0)
		json_put_str(w, "text", text_names[v->text]);
	if (v->first) {
		json_put_int(w, "first", v->first);
		json_put_int(w, "last", v->last);
	}
	json_put_int(w, "bad", v->n_bad);
	json_put_int(w, "judged", v->n_judged);
	json_put_str(w, "what", v->what);
	json_put_str(w, "cure", v->cure);
	put_examples(w, v, text_names);
	json_close(w, '}');
}

/* The mean over the judged lines; NaN: no judge has measured it. */
static double mean_alignment(struct corpus_judge *const *judges, size_t n)
{
	double sum = 0, lines = 0;

	if (n == 1)
		return corpus_judge_alignment(judges[0]);
	for (size_t i = 0; i < n; i++) {
		const double alignment = corpus_judge_alignment(judges[i]);

		if (!isfinite(alignment))
			continue;
		sum += alignment * (double)corpus_judge_lines(judges[i]);
		lines += (double)corpus_judge_lines(judges[i]);
	}
	return lines > 0 ? sum / lines : NAN;
}

void corpus_judges_put_json(struct corpus_judge *const *judges, size_t n, struct json_writer *w,
			    const char *const *text_names)
{
	const double alignment = mean_alignment(judges, n);
	int64_t lines = 0;

	for (size_t i = 0; i < n; i++)
		lines += corpus_judge_lines(judges[i]);
	json_put_open(w, "judged", '{');
	json_put_int(w, "pairs", lines);
	if (isfinite(alignment))
		json_put_real(w, "alignment", alignment);
	json_close(w, '}');
	json_put_open(w, "verdicts", '[');
	for (size_t i = 0; i < n; i++) {
		int n_verdicts;
		const struct corpus_verdict *v = corpus_judge_verdicts(judges[i], &n_verdicts);

		for (int k = 0; k < n_verdicts; k++)
			put_verdict(w, &v[k], text_names);
	}
	json_close(w, ']');
}

void corpus_verdict_describe(const struct json *v, struct buf *out)
{
	const int64_t first = json_integer(json_get(v, "first"), 0);
	const char *text = json_text(json_get(v, "text"), NULL);
	const bool is_clear = !strcmp(json_text(json_get(v, "confidence"), ""), "clear");

	buf_add_str(out, json_text(json_get(v, "set"), "train"));
	if (first)
		buf_printf(out, ", lines %s to %s", COUNT_TEXT(first),
			   COUNT_TEXT(json_integer(json_get(v, "last"), 0)));
	if (text)
		buf_printf(out, "%s%s", first ? " of " : ", ", text);
	buf_printf(out, ": %s%s %s",
		   is_clear ? "" : "probably: ", json_text(json_get(v, "what"), ""),
		   json_text(json_get(v, "cure"), ""));
}
