/* deepl_api.c - the interface of DeepL, version 2: /v2/translate, /v2/languages, /v2/usage, /v2/glossaries */
#include <ctype.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>
#include <time.h>

#include "eval/server/server_api.h"
#include "share/base/text.h"
#include "share/base/util.h"
#include "share/format/language_name.h"

#define NO_LIMIT    1000000000000 /* what DeepL's paid accounts answer */
#define MAX_IGNORED 64		  /* tags of a list: each one is searched for in all texts */

/* Authorization: DeepL-Auth-Key KEY; 403 without one, as DeepL answers. */
bool deepl_check_key(struct server_state *s, struct api_call *call, struct api_answer *a)
{
	static const char scheme[] = "DeepL-Auth-Key ";
	const struct http_text *key = &call->request->authorization;
	const size_t skip = sizeof(scheme) - 1;
	const bool has_key = key->n > skip && !strncasecmp(key->text, scheme, skip);

	return api_check_key(s, call, has_key ? key->text + skip : "", has_key ? key->n - skip : 0,
			     403, a);
}

/* Options that would change the translation in ways that no model here can; what they may be. */
static const struct {
	const char *name, *allowed; /* values between blanks */
} deepl_needs[] = {
	/* clang-format off */
	{ "tag_handling", " html xml " },
	{ "custom_instructions", "" },
	{ "style_id", "" },
	{ "formality", " default prefer_more prefer_less " },
	{ "split_sentences", " 0 1 nonewlines " },
	/* clang-format on */
};

bool deepl_check_options(const struct api_call *call, struct api_answer *a)
{
	for (size_t i = 0; i < ARRAY_LEN(deepl_needs); i++) {
		const struct json *v = json_get(call->body, deepl_needs[i].name);
		char word[40] = "";

		if (json_is_null(v))
			continue;
		if (json_text(v, NULL))
			snprintf(word, sizeof(word), " %.30s ", json_text(v, NULL));
		else if (json_boolean(v, false) || !json_boolean(v, true))
			snprintf(word, sizeof(word), " %d ", json_boolean(v, false));
		if (!*word || !strstr(deepl_needs[i].allowed, word)) {
			api_refuse(a, 400, "Value for '%s' not supported.", deepl_needs[i].name);
			return false;
		}
	}
	return true;
}

/* Has an element of this name of n bytes content in some text? <x/> and <x a="1"></x> have none. */
static bool has_content(const struct json *texts, const char *name, size_t n)
{
	const char *one = json_text(texts, NULL);

	for (const struct json *c = one ? NULL : json_first(texts); c; c = json_next(texts, c))
		if (has_content(c, name, n))
			return true;
	for (const char *at = one; at && (at = strchr(at, '<')) != NULL;) {
		const bool is_it = !strncmp(++at, name, n) && strchr(" \t\n\r/>", at[n]);
		const char *end = at + (is_it ? strcspn(at, "<>") : 0);

		if (is_it && *end == '>' && end[-1] != '/' && strncmp(end + 1, "</", 2) != 0)
			return true;
	}
	return false;
}

/* names: with commas between them; *count: of all names so far. */
static bool some_has_content(const struct json *texts, const char *names, size_t *count)
{
	for (size_t n; *(names += strspn(names, ", ")); names += n) {
		n = strcspn(names, ", ");
		if (++*count > MAX_IGNORED || has_content(texts, names, n))
			return true;
	}
	return false;
}

/* ignore_tags: elements that are not translated; those without content, such as placeholders, never are. */
static bool deepl_check_ignored(const struct api_call *call, const struct json *texts,
				struct api_answer *a)
{
	const struct json *list = json_get(call->body, "ignore_tags");
	size_t count = 0;
	bool is_bad = some_has_content(texts, json_text(list, ""), &count);

	for (const struct json *c = json_is_array(list) ? json_first(list) : NULL; c && !is_bad;
	     c = json_next(list, c))
		is_bad = !json_text(c, NULL) || some_has_content(texts, json_text(c, ""), &count);
	if (is_bad)
		api_refuse(a, 400,
			   "Value for 'ignore_tags' not supported: elements with content are "
			   "translated, unless they have translate=\"no\", and a request has at "
			   "most %d such tags.",
			   MAX_IGNORED);
	return !is_bad;
}

/* split_sentences: "0" or false, "1" (the default) or true, "nonewlines". */
static void read_splitting(const struct api_call *call, bool *is_whole, bool *joins_lines)
{
	const struct json *v = json_get(call->body, "split_sentences");
	const char *text = json_text(v, NULL);

	*is_whole = text ? !strcmp(text, "0") : !json_boolean(v, true);
	*joins_lines = text && !strcmp(text, "nonewlines");
}

static bool read_switch(const struct json *body, const char *name)
{
	const struct json *v = json_get(body, name);
	const char *text = json_text(v, NULL);

	return text ? !strcmp(text, "1") || !strcasecmp(text, "true") : json_boolean(v, false);
}

bool deepl_choose_models(const struct server_state *s, const struct api_call *call,
			 const struct json *texts, struct api_answer *a)
{
	const char *target = api_read_text(call->body, "target_lang", "", a);
	const char *source = target ? api_read_text(call->body, "source_lang", "", a) : NULL;
	struct detected_language found[API_MAX_DETECTED], same = { NULL, 0 };
	size_t n;

	if (!source)
		return false;
	/* with source_lang only the number of languages counts */
	n = *target ? api_detect(s, *source ? NULL : texts, target, found, &same) : 0;
	if (n > 1 && !*source && !texts) {
		api_refuse(a, 400,
			   "Parameter 'source_lang' not specified: the language of a file is not "
			   "detected.");
		return false;
	}
	if (!n || !api_choose_models(s, *source ? source : found[0].code, target, a)) {
		api_refuse(a, 400,
			   n ? "Value for 'source_lang' not supported."
			     : "Value for 'target_lang' not supported.");
		return false;
	}
	a->detected = found[0];
	if (texts && !*source)
		api_keep_target(&same, a);
	return true;
}

void deepl_translate(struct server_state *s, struct api_call *call, struct api_answer *a)
{
	const struct json *text = json_get(call->body, "text");
	struct job_kind kind = { .n_best = 1 };
	const char *tags;
	bool joins_lines;

	if (!deepl_check_key(s, call, a))
		return;
	if (json_is_null(text)) {
		api_refuse(a, 400, "Parameter 'text' not specified.");
		return;
	}
	if (!api_check_texts(text, "text", a) || !deepl_check_ignored(call, text, a) ||
	    !deepl_choose_models(s, call, text, a) || !deepl_check_options(call, a) ||
	    !api_choose_glossary(call, "glossary_id", &kind, a))
		return;
	tags = json_text(json_get(call->body, "tag_handling"), "");
	read_splitting(call, &kind.is_whole, &joins_lines);
	if (!strcmp(tags, "xml"))
		kind.markup = joins_lines || kind.is_whole ? "xml" : "xml-lines";
	else if (*tags)
		kind.markup = "html";
	a->shows_chars = read_switch(call->body, "show_billed_characters");
	api_submit(s, call, text, "text", &kind, joins_lines, a);
}

static void put_upper(struct json_writer *w, const char *key, const char *code)
{
	char upper[DECODER_LANGUAGE];
	size_t i = 0;

	for (; code[i] && i + 1 < sizeof(upper); i++)
		upper[i] = (char)toupper((unsigned char)code[i]);
	upper[i] = '\0';
	json_put_str(w, key, upper);
}

/* Characters of a text of the request. */
static size_t input_chars(const struct api_answer *a, size_t input)
{
	size_t n = 0;

	for (size_t i = 0; i < a->layout.n; i++) {
		const struct layout_piece *p = &a->layout.pieces[i];

		if (p->input == input)
			n += p->n_kept + p->n_chars;
	}
	return n;
}

void deepl_finish(const struct server_state *s, struct api_answer *a)
{
	struct json_writer w = { .out = &a->body };

	(void)s;
	json_open(&w, '{');
	json_put_open(&w, "translations", '[');
	for (size_t i = 0; i < a->layout.n_inputs; i++) {
		struct buf text = { 0 };

		layout_write(&a->layout, a->job, i, 0, &text);
		json_open(&w, '{');
		put_upper(&w, "detected_source_language", a->source);
		json_put_str(&w, "text", buf_text(&text));
		if (a->shows_chars)
			json_put_int(&w, "billed_characters", (int64_t)input_chars(a, i));
		json_close(&w, '}');
		buf_free_part(&text, &a->body);
	}
	json_close(&w, ']');
	json_close(&w, '}');
}

/* Is this the first model with its language on this side? */
static bool is_first_language(const struct server_state *s, size_t i, bool is_target)
{
	for (size_t k = 0; k < i; k++)
		if (!strcmp(is_target ? s->decoders[k].target : s->decoders[k].source,
			    is_target ? s->decoders[i].target : s->decoders[i].source))
			return false;
	return true;
}

void deepl_languages(struct server_state *s, struct api_call *call, struct api_answer *a)
{
	const char *type = json_text(json_get(call->body, "type"), "source");
	const bool is_target = !strcmp(type, "target");
	struct json_writer w = { .out = &a->body };

	if (!deepl_check_key(s, call, a))
		return;
	if (!is_target && strcmp(type, "source") != 0) {
		api_refuse(a, 400, "Value for 'type' not supported.");
		return;
	}
	a->status = 200;
	json_open(&w, '[');
	for (size_t i = 0; i < s->n_decoders; i++) {
		const char *code = is_target ? s->decoders[i].target : s->decoders[i].source;

		if (!*code || !is_first_language(s, i, is_target))
			continue;
		json_open(&w, '{');
		put_upper(&w, "language", code);
		json_put_str(&w, "name", language_name_of(code));
		if (is_target)
			json_put_bool(&w, "supports_formality", false);
		json_close(&w, '}');
	}
	json_close(&w, ']');
}

/* Requests make no glossaries; those of the server are used by name. */
void deepl_glossary_pairs(struct server_state *s, struct api_call *call, struct api_answer *a)
{
	if (!deepl_check_key(s, call, a))
		return;
	a->status = 200;
	buf_add_str(&a->body, "{\"supported_languages\":[]}");
}

void deepl_usage(struct server_state *s, struct api_call *call, struct api_answer *a)
{
	struct json_writer w = { .out = &a->body };

	if (!deepl_check_key(s, call, a))
		return;
	a->status = 200;
	json_open(&w, '{');
	json_put_int(&w, "character_count",
		     s->has_keys ? s->key_chars[call->client - 1]
				 : queue_get_counts(s->queue)->chars);
	json_put_int(&w, "character_limit", NO_LIMIT);
	json_close(&w, '}');
}

void deepl_glossaries(struct server_state *s, struct api_call *call, struct api_answer *a)
{
	struct json_writer w = { .out = &a->body };

	if (!deepl_check_key(s, call, a))
		return;
	a->status = 200;
	json_open(&w, '{');
	json_put_open(&w, "glossaries", '[');
	for (size_t i = 0; i < s->n_decoders; i++)
		for (size_t k = 0; k < s->decoders[i].n_glossaries; k++) {
			const struct decoder_link *d = &s->decoders[i];
			const time_t loaded = (time_t)d->loaded;
			char text[40] = "";
			struct tm utc;

			if (gmtime_r(&loaded, &utc))
				strftime(text, sizeof(text), "%Y-%m-%dT%H:%M:%SZ", &utc);
			json_open(&w, '{');
			json_put_str(&w, "glossary_id", d->glossaries[k].name);
			json_put_str(&w, "name", d->glossaries[k].name);
			json_put_bool(&w, "ready", true);
			json_put_str(&w, "source_lang", d->source);
			json_put_str(&w, "target_lang", d->target);
			json_put_str(&w, "creation_time", text);
			json_put_int(&w, "entry_count", d->glossaries[k].n_terms);
			json_close(&w, '}');
		}
	json_close(&w, ']');
	json_close(&w, '}');
}
