/* serve.c - targets for lines of the translate service and for files of terms; see fuzz.h */
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "eval/translate/serve.h"
#include "share/format/json.h"
#include "tests/fuzz/fuzz.h"

/* Opened once, with the small model of the tests, and never closed. */
static struct engine *engine_of_tests(void)
{
	static struct engine engine;
	static struct conf c;
	static bool is_open;
	char model[500];
	char program[] = "werkbank-eval", command[] = "translate", model_option[] = "-m",
	     threads_option[] = "--threads", one[] = "1";
	char *words[] = { program, command, model_option, model, threads_option, one };
	const char *top = getenv("srcdir");
	struct err e = { 0 };

	if (is_open)
		return &engine;
	snprintf(model, sizeof(model), "%s/tests/golden/release/run/checkpoints/12",
		 top ? top : ".");
	if (conf_init(&c, &e) || conf_parse_command(&c, "eval", 6, words, &e) ||
	    engine_open(&engine, &c, ENGINE_TRANSLATE, &e)) {
		fprintf(stderr, "%s\n", e.text);
		exit(1);
	}
	is_open = true;
	return &engine;
}

/* Every line gets one line, which is JSON and has an id. */
FUZZ(serve)
{
	static struct passages *passages;
	struct serve_context s = { .engine = engine_of_tests() };
	struct err e = { 0 };
	struct buf out = { 0 };
	struct json *answer;

	if (!passages)
		passages = passages_new(s.engine, s.engine->conf, &e);
	property((s.passages = passages) != NULL);

	property(!decode_options_from_conf(&s.default_options, s.engine->conf, &e));
	s.default_options.max_length_extra = 4;
	property(!serve_answer(&s, (const char *)data, n, &out, &e));
	property(out.len && out.data[out.len - 1] == '\n' && !memchr(out.data, '\n', out.len - 1));
	answer = json_parse(out.data, out.len - 1, &e);
	property(answer && json_get(answer, "id") &&
		 (json_get(answer, "error") || json_get(answer, "text") ||
		  json_get(answer, "translations")));
	json_free(answer);
	buf_free(&out);
	return 0;
}

FUZZ(terms)
{
	static const char line[] = "the old teacher reads three letters";
	struct err e = { 0 };
	struct terms *t = terms_new(engine_of_tests(), NULL, &e);
	struct phrases p = { 0 };
	int32_t left = 0;

	property(t);
	if (!terms_read(t, fuzz_file(data, n), &e) && !terms_finish(t, NULL, &e) &&
	    !terms_find(t, line, strlen(line), &p, &left, &e))
		property(left >= 0 && p.n <= DECODE_MAX_PHRASES);
	phrases_free(&p);
	terms_free(t);
	return 0;
}
