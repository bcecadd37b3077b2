/* detect_api.c - the language of a text, among those of the models: /detect, and requests without a source language */
#include <ctype.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "eval/server/server_api.h"
#include "share/base/util.h"

/* Adds a code once. */
static size_t add_language(struct detected_language *found, size_t n, const char *code)
{
	for (size_t i = 0; i < n; i++)
		if (!strcmp(found[i].code, code))
			return n;
	found[n].code = code;
	return n + (*code != '\0');
}

/* target NULL: all languages of the models; else those from which it is reached. */
static size_t list_languages(const struct server_state *s, const char *target,
			     struct detected_language *found)
{
	size_t n = 0;

	for (size_t i = 0; i < s->n_decoders; i++)
		if (!target || api_has_direction(s, s->decoders[i].source, target))
			n = add_language(found, n, s->decoders[i].source);
	for (size_t i = 0; i < s->n_decoders && !target; i++)
		n = add_language(found, n, s->decoders[i].target);
	return n;
}

/* Adds a text without its tags, whose words tell nothing about the language. */
static void collect_words(const char *text, struct buf *all)
{
	while (*text) {
		const bool begins_tag = *text == '<' && text[1] &&
					(isalpha((unsigned char)text[1]) || strchr("/!?", text[1]));
		size_t n = 1 + strcspn(text + 1, begins_tag ? "<>" : "<");

		if (begins_tag && text[n] == '>') {
			buf_add_char(all, ' ');
			n++;
		} else {
			buf_add(all, text, n);
		}
		text += n;
	}
}

/* Collects as much text as a guess looks at: of one text, or of a list of texts. */
static void collect_text(const struct json *texts, struct buf *all)
{
	collect_words(json_text(texts, ""), all);
	for (const struct json *c = json_is_array(texts) ? json_first(texts) : NULL;
	     c && all->len < LANGUAGE_GUESS_BYTES; c = json_next(texts, c)) {
		collect_words(json_text(c, ""), all);
		buf_add_char(all, '\n');
	}
}

static int compare_shares(const void *x, const void *y)
{
	const struct detected_language *a = x, *b = y;

	return (a->share < b->share) - (a->share > b->share);
}

size_t api_detect(const struct server_state *s, const struct json *texts, const char *target,
		  struct detected_language found[API_MAX_DETECTED], struct detected_language *same)
{
	const size_t n = list_languages(s, target, found);
	const char *codes[API_MAX_DETECTED + 1];
	double shares[API_MAX_DETECTED + 1] = { 0 };
	struct api_answer models = { .status = 0 };
	struct buf text = { 0 };

	collect_text(texts, &text);
	for (size_t i = 0; i < n; i++)
		codes[i] = found[i].code;
	if (same && n && api_choose_models(s, codes[0], target, &models))
		same->code = codes[n] = (models.then ? models.then : models.model)->target;
	language_guess_text(s->guess, buf_text(&text), text.len, codes, n + (models.model != NULL),
			    shares);
	for (size_t i = 0; i < n; i++)
		found[i].share = shares[i];
	if (same)
		same->share = shares[n];
	qsort(found, n, sizeof(*found), compare_shares);
	buf_free(&text);
	return n;
}

void api_keep_target(const struct detected_language *same, struct api_answer *a)
{
	if (same->share <= API_SURE_SHARE || same->share <= a->detected.share)
		return;
	a->is_unchanged = true;
	a->detected = *same;
	a->source = same->code;
}

void api_write_detected(struct json_writer *w, const struct detected_language *found)
{
	json_open(w, '{');
	json_put_int(w, "confidence", lround(100 * found->share));
	json_put_str(w, "language", found->code);
	json_close(w, '}');
}

void libre_detect(struct server_state *s, struct api_call *call, struct api_answer *a)
{
	struct detected_language found[API_MAX_DETECTED];
	const struct json *q = json_get(call->body, "q");
	struct json_writer w = { .out = &a->body };
	size_t n;

	if (!libre_check_key(s, call, a))
		return;
	if (json_is_null(q) || !*json_text(q, "?")) {
		api_refuse(a, 400, "Invalid request: missing q parameter");
		return;
	}
	if (!api_check_texts(q, "q", a))
		return;
	n = api_detect(s, q, NULL, found, NULL);
	a->status = 200;
	json_open(&w, '[');
	for (size_t i = 0; i < MIN(n, (size_t)3); i++)
		api_write_detected(&w, &found[i]);
	json_close(&w, ']');
}
