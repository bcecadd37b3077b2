/*
 * fake_eval.c - a translator with fixed answers, for tests of the console.
 *
 * It replaces werkbank-eval: "translate --serve …" speaks the protocol of eval/translate/serve.h,
 * "translate … FILE" translates a file. A dictionary gives the words; all numbers follow from
 * them. "--list-sentences" and "--post-edited FILE" are for documents. The step is the argument of --checkpoint, or 1200 if that is no number. Texts that
 * begin with one of these words make it fail. A word "." ends a sentence:
 *	die	a line on standard error, then SIGKILL	exit	the same, then status 65
 *	sulk	no answer at all			garbage	a line that is no answer
 *	slow	an answer after 0.3 s (FAKE_SLOW_MS)	wrong	an error
 *	lies	arrays of different lengths
 * With FAKE_LOG, each request appends a line to that file.
 */
#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "share/base/buf.h"
#include "share/base/lines.h"
#include "share/base/text.h"
#include "share/base/util.h"
#include "share/format/json.h"

#define MAX_WORDS 256

static const char *const dictionary[][3] = {
	/* clang-format off */
	{"two", "zwei", "zwo"},		      {"dogs", "Hun@@ de", "Rüden"},
	{"are", "", ""},		      {"running", "rennen", "laufen"},
	{"in", "in", "durch"},		      {"the", "dem", "den"},
	{"park", "Park", "Gar@@ ten"},	      {"a", "ein", "eine"},
	{"man", "Mann", "Herr"},	      {"reads", "liest", "studiert"},
	{"newspaper", "Zei@@ tung", "Blatt"}, {"house", "Haus", "Ge@@ bäude"},
	/* clang-format on */
};

static int64_t step = 1200;

struct word {
	const char *piece;
	int source;
	bool joins;
};

struct sentence {
	char source[4096], target[8192]; /* cut into pieces in place */
	const char *sources[MAX_WORDS];
	struct word words[MAX_WORDS];
	int n_source, n;
};

static void add_pieces(struct sentence *s, char **at, const char *pieces, int source)
{
	size_t n = strlen(pieces), room = (size_t)(s->target + sizeof(s->target) - *at);

	if (!n || n + 1 > room)
		return;
	memcpy(*at, pieces, n + 1);
	for (char *p = *at, *end = *at + n; p < end && s->n < MAX_WORDS;) {
		size_t k = strcspn(p, " ");

		p[k] = 0;
		s->words[s->n++] = (struct word){ p, source, k > 2 && p[k - 1] == '@' };
		p += k + 1;
	}
	*at += n + 1;
}

/* Which translation of a word: variant v of the sentence changes its v-th word. */
static const char *look_up(const char *word, bool other)
{
	for (size_t i = 0; i < ARRAY_LEN(dictionary); i++)
		if (!strcasecmp(dictionary[i][0], word))
			return dictionary[i][other ? 2 : 1];
	return word;
}

static bool listed(const struct json *list, const char *word)
{
	for (size_t i = 0; i < json_len(list); i++)
		if (!strcmp(json_text(json_at(list, i), ""), word))
			return true;
	return false;
}

static void translate(struct sentence *s, const char *text, const struct json *request, int variant)
{
	const char *prefix = json_text(json_get(request, "prefix"), "");
	const struct json *force = json_get(request, "force");
	const struct json *forbid = json_get(request, "forbid");
	char *at = s->target, *p = s->source;
	int said = 0;

	*s = (struct sentence){ 0 };
	snprintf(s->source, sizeof(s->source), "%s", text);
	while (*(p += strspn(p, " ")) && s->n_source < MAX_WORDS) {
		s->sources[s->n_source++] = p;
		p += strcspn(p, " ");
		if (*p)
			*p++ = 0;
	}
	if (*prefix) {
		char copy[4096];

		snprintf(copy, sizeof(copy), "%s", prefix);
		add_pieces(s, &at, copy, 0);
		said = s->n;
		for (int i = 0; i < s->n; i++)
			s->words[i].source = MIN(i, s->n_source - 1);
	}
	for (int i = 0, k = 0; i < s->n_source; i++) {
		/* an earlier checkpoint and a greedy search say something else at times */
		bool other = (variant && i == variant - 1) || (step < 200 && i % 4 == 1) ||
			     (json_integer(json_get(request, "beam"), 4) == 1 && i % 4 == 1);
		const char *word = look_up(s->sources[i], other);

		if (k++ < said)
			continue;
		word = json_text(json_get(json_get(request, "terms"), s->sources[i]), word);
		if (listed(forbid, word))
			word = look_up(s->sources[i], true);
		add_pieces(s, &at, word, i);
	}
	for (size_t i = 0; i < json_len(force); i++)
		add_pieces(s, &at, json_text(json_at(force, i), ""), s->n_source - 1);
}

static double log_prob(const char *piece, int i)
{
	unsigned h = 17 + (unsigned)i;

	for (; *piece; piece++)
		h = h * 31 + (unsigned char)*piece;
	h %= 10;
	return log(h < 6 ? 0.9 + h * 0.015 : h < 8 ? 0.6 : h < 9 ? 0.3 : 0.08);
}

static void join(const struct sentence *s, int n, struct buf *out)
{
	for (int i = 0; i < n; i++) {
		size_t k = strlen(s->words[i].piece);

		buf_add(out, s->words[i].piece, s->words[i].joins ? k - 2 : k);
		if (!s->words[i].joins && i + 1 < n)
			buf_add_char(out, ' ');
	}
	buf_add_char(out, 0);
}

/* Most of the weight is at the aligned word; layer and head move a part of it. */
static void write_attention(struct json_writer *w, const struct sentence *s,
			    const struct json *attention)
{
	int layer = (int)json_integer(json_get(attention, "layer"), 6),
	    head = (int)json_integer(json_get(attention, "head"), 0);

	json_key(w, "attention");
	json_open(w, '[');
	for (int i = 0; i < s->n; i++) {
		int other = (i + layer + head) % (s->n_source + 1);

		json_open(w, '[');
		for (int j = 0; j <= s->n_source; j++)
			json_real(w, (j == s->words[i].source ? 0.625 : 0) +
					     (j == other ? 0.25 : 0) +
					     (j == s->n_source ? 0.125 : 0));
		json_close(w, ']');
	}
	json_close(w, ']');
}

/* attention: of the request; NULL: no map */
static void write_sentence(struct json_writer *w, const struct sentence *s, int variant,
			   const struct json *attention)
{
	struct buf text = { 0 };
	double sum = -0.3 * variant;

	for (int i = 0; i < s->n; i++)
		sum += log_prob(s->words[i].piece, i);
	join(s, s->n, &text);
	json_put_str(w, "text", buf_text(&text));
	json_put_real(w, "score", round(sum / MAX(s->n, 1) * 1e4) / 1e4);
	json_put_real(w, "log_prob", round(sum * 1e4) / 1e4);
	json_key(w, "tokens");
	json_open(w, '[');
	for (int i = 0; i < s->n; i++)
		json_str(w, s->words[i].piece);
	json_close(w, ']');
	json_key(w, "token_log_probs");
	json_open(w, '[');
	for (int i = 0; i < s->n; i++)
		json_real(w, log_prob(s->words[i].piece, i));
	json_close(w, ']');
	json_key(w, "alignment");
	json_open(w, '[');
	for (int i = 0; i < s->n; i++)
		json_int(w, s->words[i].source);
	json_close(w, ']');
	if (attention)
		write_attention(w, s, attention);
	buf_free(&text);
}

static void write_alternatives(struct json_writer *w, const struct sentence *s, int64_t n, int at)
{
	static const char *const words[] = { "eine", "zwei", "drei", "viele", "keine" };
	struct buf before = { 0 };

	at = MIN(MAX(at, 0), s->n);
	while (at > 0 && s->words[at - 1].joins)
		at--;
	join(s, at, &before);
	json_put_int(w, "at", at);
	json_key(w, "alternatives");
	json_open(w, '[');
	for (int64_t i = 0; i < n && i < (int64_t)ARRAY_LEN(words); i++) {
		char prefix[4096];

		snprintf(prefix, sizeof(prefix), "%s%s%s", buf_text(&before), at ? " " : "",
			 words[i]);
		json_open(w, '{');
		json_put_str(w, "piece", words[i]);
		json_put_str(w, "word", words[i]);
		json_put_real(w, "log_prob", log(0.5) * (double)(i + 1));
		json_put_str(w, "prefix", prefix);
		json_close(w, '}');
	}
	json_close(w, ']');
	buf_free(&before);
}

static bool is_last_of_sentence(const char *word, int i, int n)
{
	return i + 1 == n || !strcmp(word, ".");
}

/* The sentences, if several: of the source their words, of the translation its pieces. */
static void write_fake_parts(struct json_writer *w, const struct sentence *s, bool is_source)
{
	const int n = is_source ? s->n_source : s->n;
	struct buf text = { 0 };
	int first = 0, last = 0;

	for (int i = 0; i < s->n_source; i++)
		last += is_last_of_sentence(s->sources[i], i, s->n_source);
	if (last < 2)
		return;
	json_put_open(w, is_source ? "source_parts" : "parts", '[');
	for (int i = 0; i < n; i++) {
		const char *word = is_source ? s->sources[i] : s->words[i].piece;
		const bool joins = !is_source && s->words[i].joins;

		buf_add(&text, word, strlen(word) - (joins ? 2 : 0));
		if (!is_last_of_sentence(word, i, n)) {
			buf_add_str(&text, joins ? "" : " ");
			continue;
		}
		json_open(w, '{');
		json_put_str(w, "text", buf_text(&text));
		json_put_int(w, "tokens", i + 1 - first);
		json_close(w, '}');
		buf_clear(&text);
		first = i + 1;
	}
	json_close(w, ']');
	buf_free(&text);
}

static void write_error(struct json_writer *w, const char *text)
{
	json_put_str(w, "error", text);
}

static void write_lies(struct json_writer *w)
{
	json_put_str(w, "text", "bad \x1b[2J");
	json_key(w, "tokens");
	json_open(w, '[');
	json_str(w, "bad");
	json_int(w, 7);
	json_close(w, ']');
	json_key(w, "alignment");
	json_open(w, '[');
	json_int(w, 1000000);
	json_int(w, -5);
	json_close(w, ']');
	json_put_str(w, "n_best", "none");
}

static void write_answer(struct json_writer *w, const struct json *request, const char *text)
{
	int64_t n_best = json_integer(json_get(request, "n_best"), 1),
		n = json_integer(json_get(request, "alternatives"), 0);
	struct sentence s;

	translate(&s, text, request, 0);
	write_sentence(w, &s, 0, json_get(request, "attention"));
	write_fake_parts(w, &s, false);
	write_fake_parts(w, &s, true);
	json_key(w, "source_tokens");
	json_open(w, '[');
	for (int i = 0; i < s.n_source; i++)
		json_str(w, s.sources[i]);
	json_close(w, ']');
	if (n > 0)
		write_alternatives(w, &s, n, (int)json_integer(json_get(request, "at"), 0));
	if (n_best < 2)
		return;
	json_key(w, "n_best");
	json_open(w, '[');
	for (int v = 0; v < n_best && v <= s.n_source; v++) {
		translate(&s, text, request, v);
		json_open(w, '{');
		write_sentence(w, &s, v, json_get(request, "attention"));
		write_fake_parts(w, &s, false);
		json_close(w, '}');
	}
	json_close(w, ']');
}

static void note(const char *line)
{
	const char *path = getenv("FAKE_LOG");
	FILE *f = path ? fopen(path, "a") : NULL;

	if (f) {
		fprintf(f, "%s\n", line);
		fclose(f);
	}
}

/* What some texts do besides. true: there is no answer. */
static bool misbehave(const char *text)
{
	if (text_starts_with(text, "die") || text_starts_with(text, "exit")) {
		fprintf(stderr, "first line\nthe fake was asked to %.4s\n", text);
		if (text[0] == 'd')
			raise(SIGKILL);
		exit(65);
	}
	if (text_starts_with(text, "slow")) {
		const char *ms = getenv("FAKE_SLOW_MS");

		usleep(ms ? (useconds_t)strtoul(ms, NULL, 10) * 1000 : 300000);
	}
	if (text_starts_with(text, "garbage"))
		printf("{\"id\":\n");
	return text_starts_with(text, "garbage") || text_starts_with(text, "sulk");
}

static void serve(void)
{
	struct buf out = { 0 };
	struct lines in;
	struct err e;

	printf("{\"ready\":true,\"source_language\":\"en\",\"target_language\":\"de\","
	       "\"step\":%lld,\"beam\":4,\"alpha\":0.6,\"decoder_layers\":6,\"heads\":8}\n",
	       (long long)step);
	fflush(stdout);
	if (lines_open(&in, NULL, &e))
		exit(70);
	while (lines_next(&in, &e) > 0) {
		struct json *request = json_parse(in.text, in.len, &e);
		const char *text = json_text(json_get(request, "text"), "");
		struct json_writer w = { .out = &out };

		note(in.text);
		if (!misbehave(text)) {
			buf_clear(&out);
			json_open(&w, '{');
			json_put_int(&w, "id", json_integer(json_get(request, "id"), -1));
			if (text_starts_with(text, "wrong"))
				write_error(&w, "the fake was asked to be wrong");
			else if (text_starts_with(text, "lies"))
				write_lies(&w);
			else
				write_answer(&w, request, text);
			json_close(&w, '}');
			printf("%s\n", buf_text(&out));
		}
		fflush(stdout);
		json_free(request);
	}
	lines_close(&in);
	buf_free(&out);
}

/* What the fake does with a file. Of a document, lines that begin with "<" are mark-up. */
enum file_task { TASK_TRANSLATE, TASK_LIST, TASK_POST_EDITED };

static void handle_file_line(const char *text, enum file_task task, struct lines *edited)
{
	struct buf out = { 0 };
	struct sentence s;
	struct err e;

	if (task != TASK_TRANSLATE && text[0] == '<') {
		if (task == TASK_POST_EDITED)
			printf("%s\n", text);
		return;
	}
	if (task == TASK_LIST) {
		buf_add_str(&out, text);
	} else if (task == TASK_POST_EDITED) {
		const char *tab = lines_next(edited, &e) > 0 ? strchr(edited->text, '\t') : NULL;

		if (!tab || strncmp(edited->text, text, (size_t)(tab - edited->text)) != 0)
			exit(65);
		buf_add_str(&out, tab + 1);
	} else {
		translate(&s, text, NULL, 0);
		join(&s, s.n, &out);
	}
	printf("%s\n", buf_text(&out));
	fflush(stdout);
	buf_free(&out);
}

static int translate_file(const char *path, enum file_task task, const char *post_edited)
{
	struct lines in, edited;
	struct err e;

	if (lines_open(&in, path, &e) || (post_edited && lines_open(&edited, post_edited, &e))) {
		fprintf(stderr, "%s\n", e.text);
		return 66;
	}
	while (lines_next(&in, &e) > 0)
		if (!misbehave(in.text))
			handle_file_line(in.text, task, &edited);
	lines_close(&in);
	if (post_edited)
		lines_close(&edited);
	return 0;
}

int main(int argc, char **argv)
{
	const char *path = NULL, *edited = NULL;
	bool serves = false, lists = false;

	for (int i = 2; i < argc; i++) {
		if (!strcmp(argv[i], "--serve"))
			serves = true;
		else if (!strcmp(argv[i], "--list-sentences"))
			lists = true;
		else if (!strcmp(argv[i], "--post-edited") && i + 1 < argc)
			edited = argv[++i];
		else if (!strcmp(argv[i], "--"))
			continue;
		else if (!strcmp(argv[i], "--checkpoint") && i + 1 < argc)
			text_to_int(argv[++i], &step);
		else if (argv[i][0] == '-' && i + 1 < argc)
			i++;
		else
			path = argv[i];
	}
	if (serves)
		serve();
	return path ? translate_file(path,
				     lists    ? TASK_LIST
				     : edited ? TASK_POST_EDITED
					      : TASK_TRANSLATE,
				     edited)
		    : 0;
}
