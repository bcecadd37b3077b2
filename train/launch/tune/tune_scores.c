/* tune_scores.c - see tune_scores.h */
#include "train/launch/tune/tune_scores.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "share/base/file.h"
#include "share/base/hash.h"
#include "share/base/util.h"
#include "share/format/json.h"
#include "share/workspace/journal.h"
#include "train/launch/tune/tune_steps.h"

/* Path of a translation. Owned by the caller; NULL: failure. */
static char *translation_path(const struct tune_scores *s, const struct tune_set *set,
			      const char *state, struct err *e)
{
	return file_path(e, "%s/%s.%s", s->folder, set->name, state);
}

static char *set_path(const struct tune_scores *s, const struct tune_set *set, const char *language,
		      struct err *e)
{
	return file_path(e, "%s/%s.%s", s->corpus, set->name, language);
}

/* Options that say how and where to translate; values are owned by the buffers. */
static const char *const decoding[] = {
	"threads", "backend", "gpu", "beam", "alpha", "beam_rules"
};

static void add_decoding_options(struct tune_step *step, const struct conf *c,
				 struct buf values[ARRAY_LEN(decoding)])
{
	for (size_t i = 0; i < ARRAY_LEN(decoding); i++) {
		if (!strcmp(conf_origin(c, decoding[i]), "default"))
			continue;
		buf_printf(&values[i], "--%s=", decoding[i]);
		conf_value(c, decoding[i], &values[i]);
		tune_step_add(step, buf_text(&values[i]));
	}
}

int tune_keep_set(const struct tune_scores *s, const struct tune_set *set, struct err *e)
{
	const char *const languages[] = { s->conf->source_language, s->conf->target_language };
	int rc = 0;

	for (size_t i = 0; !rc && i < ARRAY_LEN(languages); i++) {
		char *from = set_path(s, set, languages[i], e);
		char *kept = from ? translation_path(s, set, languages[i], e) : NULL;
		char is[HASH_SHA256_HEX], was[HASH_SHA256_HEX];

		rc = kept ? 0 : e->code;
		if (!rc && !file_exists(kept))
			rc = file_copy(from, kept, e);
		else if (!rc && !(rc = hash_file(from, is, e)) && !(rc = hash_file(kept, was, e)) &&
			 strcmp(is, was) != 0)
			rc = err_set(e, ERR_CONFIG,
				     "the text has changed since this tuning began: %s is not %s; "
				     "give another --run NAME",
				     from, kept);
		free(kept);
		free(from);
	}
	return rc;
}

int tune_translate(const struct tune_scores *s, const struct tune_set *set, const char *model,
		   const char *state, int *status, struct err *e)
{
	char *from = set_path(s, set, s->conf->source_language, e),
	     *to = from ? translation_path(s, set, state, e) : NULL;
	struct buf values[ARRAY_LEN(decoding)] = { 0 };
	struct tune_step step = { .n = 0 };
	int rc = to ? 0 : e->code;

	*status = 0;
	if (!rc && !file_exists(to)) {
		const char *const words[] = { "translate", "-q",	   "--model", model,
					      from,	   "--one-a-line", "-o",      to };

		for (size_t i = 0; i < ARRAY_LEN(words); i++)
			tune_step_add(&step, words[i]);
		add_decoding_options(&step, s->conf, values);
		rc = tune_step_run("werkbank-eval", &step, NULL, status, e);
	}
	for (size_t i = 0; i < ARRAY_LEN(values); i++)
		buf_free(&values[i]);
	free(to);
	free(from);
	return rc;
}

/* What an evaluation of the run, or a "tune" record of a set, says. */
static int read_journal(const struct tune_scores *s, const char *set, char *tok, size_t room,
			bool *is_compared, struct err *e)
{
	char *path = file_path(e, "%s/journal.jsonl", s->run);
	struct journal_reader *r = path ? journal_reader_open(path, e) : NULL;
	const struct json *record;
	int got = r ? 0 : e->code;

	*is_compared = false;
	while (r && (got = journal_next(r, &record, e)) > 0) {
		const char *kind = json_text(json_get(record, "kind"), "");

		if (!strcmp(kind, "start")) /* trained on after the comparison */
			*is_compared = false;
		if (!strcmp(kind, "eval") && tok)
			snprintf(tok, room, "%s", json_text(json_get(record, "tok"), tok));
		if (!strcmp(kind, "tune") && !strcmp(json_text(json_get(record, "set"), ""), set))
			*is_compared = true;
	}
	journal_reader_free(r);
	free(path);
	return got;
}

int tune_is_compared(const struct tune_scores *s, const struct tune_set *set, bool *is,
		     struct err *e)
{
	return read_journal(s, set->name, NULL, 0, is, e);
}

int tune_print_before(const struct tune_scores *s, const struct tune_set *set, int *status,
		      struct err *e)
{
	char *reference = set_path(s, set, s->conf->target_language, e),
	     *before = reference ? translation_path(s, set, "before", e) : NULL;
	struct tune_step step = { .n = 0 };
	struct buf score = { 0 };
	char pair[64];
	int rc = before ? 0 : e->code;

	snprintf(pair, sizeof(pair), "%.30s-%.30s", s->conf->source_language,
		 s->conf->target_language);
	if (!rc) {
		const char *const words[] = { "bleu", "-q", "-b",      "-l",
					      pair,   "-r", reference, before };

		for (size_t i = 0; i < ARRAY_LEN(words); i++)
			tune_step_add(&step, words[i]);
		rc = tune_step_run("werkbank-eval", &step, &score, status, e);
	}
	if (!rc && !*status && !s->conf->quiet)
		fprintf(stderr, "before: BLEU %.*s on the set %s (%lld pairs)\n",
			(int)strcspn(buf_text(&score), "\n"), buf_text(&score), set->name,
			(long long)set->pairs);
	buf_free(&score);
	free(before);
	free(reference);
	return rc;
}

/* The record "tune" from what compare printed. */
static int write_record(const struct tune_scores *s, const struct tune_set *set, const char *tok,
			const struct json *compared, struct err *e)
{
	const struct json *systems = json_get(compared, "systems");
	const struct json *before = json_at(systems, 0), *after = json_at(systems, 1);
	char *path = file_path(e, "%s/journal.jsonl", s->run);
	struct journal *j = path ? journal_open(path, e) : NULL;
	struct json_writer *w = j ? journal_begin(j, "tune", -1) : NULL;
	int rc = w ? 0 : e->code;

	free(path);
	if (rc)
		return rc;
	json_put_str(w, "set", set->name);
	json_put_str(w, "role", set->is_general ? "general" : "own");
	json_put_int(w, "sentences", set->pairs);
	json_put_str(w, "tok", tok);
	json_put_real(w, "before", json_number(json_get(before, "score"), NAN));
	json_put_real(w, "before_interval",
		      json_number(json_get(json_get(before, "confidence"), "interval"), NAN));
	json_put_real(w, "after", json_number(json_get(after, "score"), NAN));
	json_put_real(w, "after_interval",
		      json_number(json_get(json_get(after, "confidence"), "interval"), NAN));
	json_put_real(w, "p", json_number(json_get(after, "p"), NAN));
	rc = journal_end(j, e);
	journal_free(j);
	return rc;
}

int tune_compare(const struct tune_scores *s, const struct tune_set *set, int *status,
		 struct err *e)
{
	char *reference = set_path(s, set, s->conf->target_language, e),
	     *before = reference ? translation_path(s, set, "before", e) : NULL,
	     *after = before ? translation_path(s, set, "after", e) : NULL, tok[16] = "13a";
	struct tune_step step = { .n = 0 };
	struct buf text = { 0 };
	struct json *root = NULL;
	bool is_compared;
	int rc = after ? read_journal(s, set->name, tok, sizeof(tok), &is_compared, e) : e->code;

	if (!rc) {
		const char *const words[] = { "compare", "-q",	    "--json", "--tokenizer", tok,
					      "-r",	 reference, before,   after };

		for (size_t i = 0; i < ARRAY_LEN(words); i++)
			tune_step_add(&step, words[i]);
		rc = tune_step_run("werkbank-eval", &step, &text, status, e);
	}
	if (!rc && !*status) {
		root = json_parse(buf_text(&text), text.len, e);
		rc = root ? write_record(s, set, tok, root, e) : e->code;
	}
	json_free(root);
	buf_free(&text);
	free(after);
	free(before);
	free(reference);
	return rc;
}
