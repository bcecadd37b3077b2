/* data_stats.c - the answer of "data stats": stats.json and the stages as tables or JSON */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "data/data_command.h"
#include "data/judge/corpus_judge.h"
#include "data/text/clean.h"
#include "share/base/file.h"
#include "share/base/number_format.h"
#include "share/base/text.h"
#include "share/format/json.h"

#define JSON_LIMIT (64u << 20) /* bytes */

static int64_t stats_integer(const struct json *object, const char *key)
{
	return json_integer(json_get(object, key), 0);
}

static double stats_number(const struct json *object, const char *key)
{
	return json_number(json_get(object, key), 0);
}

static const char *stats_text(const struct json *object, const char *key)
{
	return json_text(json_get(object, key), "");
}

static double stats_percent(int64_t part, int64_t of)
{
	return of ? 100.0 * (double)part / (double)of : 0;
}

static void stats_print_pairs(const struct json *s)
{
	const struct json *pairs = json_get(s, "pairs"), *n;
	const char *name;
	size_t i;

	printf("%s: %s to %s, %s, vocabulary of %s, %s merges, %s distinct words\n",
	       stats_text(s, "name"), stats_text(s, "source_language"),
	       stats_text(s, "target_language"), stats_text(s, "segmentation"),
	       COUNT_TEXT(stats_integer(s, "vocabulary")), COUNT_TEXT(stats_integer(s, "merges")),
	       COUNT_TEXT(stats_integer(s, "distinct_words")));
	if (json_get(s, "source_merges"))
		printf("source: %s merges or pieces of its own",
		       COUNT_TEXT(stats_integer(s, "source_merges")));
	if (json_get(s, "source_vocabulary"))
		printf(", vocabulary of %s", COUNT_TEXT(stats_integer(s, "source_vocabulary")));
	if (json_get(s, "source_merges"))
		putchar('\n');
	printf("pairs:");
	for (i = 0; (name = json_member(pairs, i, &n)); i++)
		printf("%s %s %s", i ? "," : "", COUNT_TEXT(json_integer(n, 0)), name);
	printf("\n\n");
}

static void stats_print_texts(const struct json *s)
{
	const struct json *texts = json_get(s, "texts"), *t;
	size_t i;

	printf("%12s %12s %9s %9s %9s %12s %12s  text\n", "pairs", "kept", "dropped", "source MB",
	       "target MB", "source words", "target words");
	for (i = 0; i < json_len(texts); i++) {
		t = json_at(texts, i);
		printf("%12s %12s %9s %9.1f %9.1f %12s %12s  %s\n",
		       COUNT_TEXT(stats_integer(t, "pairs")), COUNT_TEXT(stats_integer(t, "kept")),
		       COUNT_TEXT((stats_integer(t, "pairs") - stats_integer(t, "kept"))),
		       (double)stats_integer(t, "source_bytes") / 1e6,
		       (double)stats_integer(t, "target_bytes") / 1e6,
		       COUNT_TEXT(stats_integer(t, "source_words")),
		       COUNT_TEXT(stats_integer(t, "target_words")), stats_text(t, "name"));
	}
}

/* One line for each rule that dropped pairs, then its count for each text. */
static void stats_print_dropped(const struct json *s)
{
	const struct json *dropped = json_get(s, "dropped"), *texts = json_get(s, "texts"), *n;
	const char *name;
	int64_t count;
	size_t i, k;

	for (i = 0; (name = json_member(dropped, i, &n)); i++) {
		if (!json_integer(n, 0))
			continue;
		printf("\ndropped by '%s': %s (%s)\n", name, COUNT_TEXT(json_integer(n, 0)),
		       clean_rule_meaning(clean_rule_find(name)));
		for (k = 0; json_len(texts) > 1 && k < json_len(texts); k++) {
			count = stats_integer(json_get(json_at(texts, k), "dropped"), name);
			if (count)
				printf("%12s of %s\n", COUNT_TEXT(count),
				       stats_text(json_at(texts, k), "name"));
		}
	}
}

static void stats_print_columns(const struct json *s)
{
	static const char *const sides[] = { "source", "target" };
	const struct json *side;
	size_t i;

	printf("\n%-10s %12s %12s %15s %12s\n", "kept text", "words", "tokens", "tokens per word",
	       "whole words");
	for (i = 0; i < ARRAY_LEN(sides); i++) {
		side = json_get(s, sides[i]);
		printf("%s %-3s %12s %12s %15.3f %10.2f %%\n", sides[i],
		       stats_text(side, "language"), COUNT_TEXT(stats_integer(side, "words")),
		       COUNT_TEXT(stats_integer(side, "tokens")),
		       stats_number(side, "tokens_per_word"),
		       100 * stats_number(side, "whole_words"));
	}
}

static void stats_print_held_out(const struct json *s)
{
	const struct json *sets = json_get(s, "held_out"), *h;
	int64_t tokens;
	size_t i;

	if (!json_len(sets))
		return;
	printf("\n%-10s %8s %12s %12s %16s %9s\n", "held out", "pairs", "source tok.",
	       "target tok.", "unknown", "in train");
	for (i = 0; i < json_len(sets); i++) {
		h = json_at(sets, i);
		tokens = stats_integer(h, "source_tokens") + stats_integer(h, "target_tokens");
		printf("%-10s %8s %12s %12s %7s %6.3f %% %9s\n", stats_text(h, "set"),
		       COUNT_TEXT(stats_integer(h, "pairs")),
		       COUNT_TEXT(stats_integer(h, "source_tokens")),
		       COUNT_TEXT(stats_integer(h, "target_tokens")),
		       COUNT_TEXT(stats_integer(h, "unknown_tokens")),
		       stats_percent(stats_integer(h, "unknown_tokens"), tokens),
		       COUNT_TEXT(stats_integer(h, "in_train")));
	}
}

/* What speaks against the corpus, with examples. A corpus of an older program was not judged. */
static void stats_print_verdicts(const struct json *s)
{
	const struct json *judged = json_get(s, "judged"), *verdicts = json_get(s, "verdicts");
	struct buf line = { 0 };

	if (!judged)
		return;
	printf("\njudged: %s pairs, %s verdict%s against the corpus\n",
	       COUNT_TEXT(stats_integer(judged, "pairs")),
	       json_len(verdicts) ? COUNT_TEXT(json_len(verdicts)) : "no",
	       text_plural((int64_t)json_len(verdicts)));
	for (size_t i = 0; i < json_len(verdicts); i++) {
		const struct json *v = json_at(verdicts, i), *examples = json_get(v, "examples");

		buf_clear(&line);
		corpus_verdict_describe(v, &line);
		printf("%s\n", buf_text(&line));
		for (size_t k = 0; k < json_len(examples); k++)
			printf("%12s  %s\n%12s  %s\n",
			       COUNT_TEXT(stats_integer(json_at(examples, k), "line")),
			       stats_text(json_at(examples, k), "source"), "",
			       stats_text(json_at(examples, k), "target"));
	}
	buf_free(&line);
}

static void stats_print_lengths(const struct json *s)
{
	static const struct {
		const char *side, *what;
	} columns[] = {
		{ "source", "words_a_line" },
		{ "target", "words_a_line" },
		{ "source", "tokens_a_line" },
		{ "target", "tokens_a_line" },
	};
	const struct json *lines[ARRAY_LEN(columns)];
	size_t i, k, rows = 0, step = 1;

	for (i = 0; i < ARRAY_LEN(columns); i++) {
		const struct json *bins = json_get(json_get(s, columns[i].side), columns[i].what);

		step = (size_t)MAX(stats_integer(bins, "step"), 1);
		lines[i] = json_get(bins, "lines");
		rows = MAX(rows, json_len(lines[i]));
	}
	printf("\n%-11s %12s %12s %13s %13s\n", "lines of", "source words", "target words",
	       "source tokens", "target tokens");
	for (k = 0; k < rows; k++) {
		int64_t any = 0;

		for (i = 0; i < ARRAY_LEN(columns); i++)
			any |= json_integer(json_at(lines[i], k), 0);
		if (!any)
			continue;
		printf("%4zu to %-4zu", k * step + 1, (k + 1) * step);
		for (i = 0; i < ARRAY_LEN(columns); i++)
			printf(" %*s", i < 2 ? 12 : 13,
			       COUNT_TEXT(json_integer(json_at(lines[i], k), 0)));
		putchar('\n');
	}
}

static void stats_print_stages(const struct json *manifest)
{
	const struct json *stages = json_get(manifest, "stages"), *s;
	size_t i;

	printf("\n%-10s %9s %12s %12s %12s\n", "stage", "seconds", "pairs in", "pairs out",
	       "MB written");
	for (i = 0; i < json_len(stages); i++) {
		s = json_at(stages, i);
		printf("%-10s %9.1f %12s %12s %12.1f\n", stats_text(s, "name"),
		       stats_number(s, "seconds"), COUNT_TEXT(stats_integer(s, "pairs_in")),
		       COUNT_TEXT(stats_integer(s, "pairs_out")),
		       (double)stats_integer(s, "bytes") / 1e6);
	}
}

static int stats_read_file(const char *folder, const char *name, struct buf *out,
			   struct json **root, struct err *e)
{
	char *path = file_path(e, "%s/%s", folder, name);
	int rc = path ? file_read_all(path, JSON_LIMIT, out, e) : e->code;

	if (!rc) {
		*root = json_parse(buf_text(out), out->len, e);
		if (!*root)
			rc = err_prefix(e, "%s: damaged, prepare the corpus again with --force",
					path);
	}
	free(path);
	return rc;
}

static void copy_value_json(struct json_writer *w, const struct json *v);

/* Copy the stages of manifest.json: texts, numbers and booleans only. */
static void copy_stages_json(struct json_writer *w, const struct json *manifest)
{
	const struct json *stages = json_get(manifest, "stages"), *value;
	const char *key;
	size_t i, k;

	json_open(w, '[');
	for (i = 0; i < json_len(stages); i++) {
		json_open(w, '{');
		for (k = 0; (key = json_member(json_at(stages, i), k, &value)); k++) {
			json_key(w, key);
			copy_value_json(w, value);
		}
		json_close(w, '}');
	}
	json_close(w, ']');
}

static void copy_value_json(struct json_writer *w, const struct json *v)
{
	const char *s = json_text(v, NULL);
	bool is_true = json_boolean(v, false);

	if (s)
		json_str(w, s);
	else if (is_true == json_boolean(v, true))
		json_bool(w, is_true);
	else
		json_real(w, json_number(v, 0));
}

/* Print stats.json with the members "ready" and "stages" inserted before its last brace. */
static int stats_print_json(const struct buf *stats, const struct json *manifest, struct err *e)
{
	struct buf b = { 0 };
	struct json_writer w = { .out = &b, .need_comma = true };
	size_t end = stats->len;
	int rc;

	while (end > 0 && stats->data[end - 1] != '}')
		end--;
	buf_add(&b, stats->data, end ? end - 1 : 0);
	json_put_bool(&w, "ready", manifest != NULL);
	json_key(&w, "stages");
	copy_stages_json(&w, manifest);
	buf_add_str(&b, "}\n");
	rc = file_put_stdout(&b, e);
	buf_free(&b);
	return rc;
}

/* manifest.json of the corpus; *root stays NULL if its preparation did not end. */
static int stats_read_manifest(const char *folder, struct json **root, struct err *e)
{
	char *path = file_path(e, "%s/manifest.json", folder);
	struct buf text = { 0 };
	int rc = path ? 0 : e->code;

	if (path && file_exists(path))
		rc = stats_read_file(folder, "manifest.json", &text, root, e);
	free(path);
	buf_free(&text);
	return rc;
}

int data_print_stats(struct conf *c, const char *folder, struct err *e)
{
	struct buf stats = { 0 };
	struct json *s = NULL, *m = NULL;
	int rc;

	if (c->n_arguments != 2)
		return err_set(e, ERR_USAGE, "data stats needs CORPUS and nothing else");
	rc = stats_read_file(folder, "stats.json", &stats, &s, e);
	if (!rc)
		rc = stats_read_manifest(folder, &m, e);
	if (!rc && c->json) {
		rc = stats_print_json(&stats, m, e);
	} else if (!rc) {
		if (!m)
			printf("%s is not ready: its preparation did not end\n",
			       stats_text(s, "name"));
		stats_print_pairs(s);
		stats_print_texts(s);
		stats_print_dropped(s);
		stats_print_columns(s);
		stats_print_held_out(s);
		stats_print_verdicts(s);
		stats_print_lengths(s);
		if (m)
			stats_print_stages(m);
	}
	json_free(s);
	json_free(m);
	buf_free(&stats);
	return rc;
}
