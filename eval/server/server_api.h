/*
 * server_api.h - requests of the interfaces that clients speak, and their answers
 *
 *	api_begin(s, &call, &answer)	an answer, or a job for the queue
 *	api_finish(s, &answer)		when the job is done: its answer
 *	api_answer_free(s, &answer)
 */
#ifndef WERKBANK_EVAL_SERVER_SERVER_API_H
#define WERKBANK_EVAL_SERVER_SERVER_API_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "data/judge/language_guess.h"
#include "eval/document/docfile.h"
#include "eval/server/decoder_link.h"
#include "eval/server/form_json.h"
#include "eval/server/http_request.h"
#include "eval/server/server_files.h"
#include "eval/server/server_keys.h"
#include "eval/server/server_metrics.h"
#include "eval/server/text_layout.h"
#include "eval/server/translation_queue.h"
#include "share/format/json.h"

#define SERVER_MAX_MODELS 16
#define API_MAX_TEXTS	  1024 /* of a request */
#define API_MAX_BEST	  16   /* alternatives of a text, and the best */
#define API_MAX_DETECTED  (2 * SERVER_MAX_MODELS)
#define API_FILE_S	  3600.0	     /* until the translation of a file is given up */
#define API_FORM_BYTES	  ((size_t)64 << 10) /* of a form beside its file */

struct server_limits {
	int64_t chars;	     /* of a request */
	int64_t queue_chars; /* of all that wait */
	double seconds;	     /* until the answer */
	size_t file_bytes;   /* of a file; 0: no files */
};

/* What all requests share. */
struct server_state {
	struct server_limits limits;
	struct server_keys keys;
	bool has_keys;
	const char *cors; /* borrowed: origin that browsers let in; NULL: none */
	/* borrowed: names of this server, with commas between them, beside localhost and numbers; NULL: none */
	const char *host_names;
	/* (n_glossaries) borrowed: of the command line, until they are checked */
	char *const *glossaries;
	size_t n_glossaries;
	const struct language_guess *guess; /* borrowed */
	struct translation_queue *queue;
	struct decoder_link decoders[SERVER_MAX_MODELS];
	size_t n_decoders;
	struct server_metrics metrics;
	int64_t key_chars[SERVER_MAX_KEYS]; /* characters translated for each key */
	struct server_files files;
	bool pivots; /* translate by way of a third language */
	size_t n_connections, max_connections;
	bool is_ending; /* no further requests */
};

/* One request. */
struct api_call {
	const struct http_request *request;
	const struct json *body;      /* an object of the body and the query */
	const struct form_file *file; /* NULL: the form has none */
	struct http_text rest;	      /* of the path, if the route ends with "*" */
	uint64_t client;	      /* name of the address; a valid key replaces it */
	double now;
};

/* A language of a model, and how probable it is that a text is in it. */
struct detected_language {
	const char *code; /* borrowed from the model */
	double share;	  /* 0 to 1 */
};

/* The interface decides the form of answers and errors. */
enum api_style { STYLE_LIBRE, STYLE_DEEPL };

struct api_answer {
	int status;	   /* 0: the job must be done first */
	const char *path;  /* of the table of routes, for the metrics */
	const char *type;  /* of the content */
	const char *allow; /* methods, with 405; NULL */
	struct buf body;
	enum api_style style;
	/* a translation */
	struct translation_job *job; /* owned until queue_leave() */
	struct text_layout layout;
	const struct decoder_link *model;
	/* of a translation by way of a third language: the second model; NULL: none */
	const struct decoder_link *then;
	const char *source;		   /* borrowed: the language of the texts */
	struct detected_language detected; /* … if is_detected */
	uint64_t client;
	size_t n_chars; /* of the texts */
	bool is_list, is_detected, shows_chars;
	bool is_unchanged; /* the texts are in the target language already */
	bool is_page;	   /* for browsers: the answer limits what its page may load */
	/* of a file */
	char *file_name;    /* owned: of its translation; NULL: the request has texts */
	char *address;	    /* owned: of this server, as the client wrote it; NULL */
	bool is_download;   /* the answer is a file of this name */
	int n_alternatives; /* 0: not requested */
};

void api_begin(struct server_state *s, struct api_call *call, struct api_answer *a);
/* The job is done: makes the answer. */
void api_finish(struct server_state *s, struct api_answer *a, double now);
void api_answer_free(struct server_state *s, struct api_answer *a);

/* An answer without a request that can be understood. */
void api_refuse(struct api_answer *a, int status, const char *fmt, ...) PRINTF_LIKE(3, 4);
/* The most bytes that the body of a request may have. */
size_t api_max_body(const struct server_state *s, const struct http_request *r);
/* Does a path belong to the interface of DeepL? */
enum api_style api_style_of(const struct http_text *path);

/* ---- for libre_api.c, deepl_api.c, file_api.c and server_page.c ---- */

typedef void api_handler(struct server_state *s, struct api_call *call, struct api_answer *a);
api_handler libre_translate, libre_languages, libre_detect, libre_settings, libre_health;
api_handler deepl_translate, deepl_languages, deepl_usage, deepl_glossaries, deepl_glossary_pairs;
api_handler file_translate, file_download, file_deepl, file_deepl_state;
api_handler page_send;
/* The translation of a file is done: keeps it, and answers with its address. */
void file_finish(struct server_state *s, struct api_answer *a, double now);
void libre_finish(const struct server_state *s, struct api_answer *a);
void deepl_finish(const struct server_state *s, struct api_answer *a);

/*
 * The key of a request: 0 and a refusal (403, or `missing` without a key), or 1: it may go on. The client of the call
 * becomes that of the key.
 */
bool api_check_key(struct server_state *s, struct api_call *call, const char *key, size_t n,
		   int missing, struct api_answer *a);
/* A text is said to be in the target language already if its share is larger than this, and than that of other languages. */
#define API_SURE_SHARE 0.5
/*
 * The languages that the texts (a string, a list, or NULL) may be in, best first: all languages of models, or with a target those from
 * which it is reached. Returns their number. *same: the target language (a share of 0 without a known target); NULL: not asked.
 */
size_t api_detect(const struct server_state *s, const struct json *texts, const char *target,
		  struct detected_language found[API_MAX_DETECTED], struct detected_language *same);
/* The answer has the texts as they are if they are in the target language rather than in a->detected. */
void api_keep_target(const struct detected_language *same, struct api_answer *a);
void api_write_detected(struct json_writer *w, const struct detected_language *found);
/* Sets a->model, and a->then if two models are needed. False: there is none. */
bool api_choose_models(const struct server_state *s, const char *source, const char *target,
		       struct api_answer *a);
/* Is some target language reached from the source, by one model or two? */
bool api_has_direction(const struct server_state *s, const char *source, const char *target);
/* Source and target are this language: if a model has it, the answer has the texts as they are. False: none has. */
bool api_keep_language(const struct server_state *s, const char *code, struct api_answer *a);
/* Sets the glossary of kind to the one that a member names, which a->model must have; false: a is a refusal. */
bool api_choose_glossary(const struct api_call *call, const char *member, struct job_kind *kind,
			 struct api_answer *a);
/* Sets the models of kind to those of a. */
void api_set_models(const struct api_answer *a, struct job_kind *kind);
/* Is it a text or a list of texts? False: a is a refusal, which calls it `name`. */
bool api_check_texts(const struct json *texts, const char *name, struct api_answer *a);
/*
 * Makes the job of a request: `texts` is a string or a list of strings, called `name` in errors. The models of `kind` are set
 * here.
 */
void api_submit(struct server_state *s, const struct api_call *call, const struct json *texts,
		const char *name, const struct job_kind *kind, bool joins_lines,
		struct api_answer *a);
/*
 * What both interfaces ask before a translation: the key, languages and models; false: a is a refusal. texts (NULL: a file) are for
 * requests without a source language. deepl_choose_models() reads target_lang and source_lang.
 */
bool libre_check_key(struct server_state *s, struct api_call *call, struct api_answer *a);
bool libre_choose_model(const struct server_state *s, const struct api_call *call,
			const struct json *texts, struct api_answer *a);
bool deepl_check_key(struct server_state *s, struct api_call *call, struct api_answer *a);
bool deepl_choose_models(const struct server_state *s, const struct api_call *call,
			 const struct json *texts, struct api_answer *a);
bool deepl_check_options(const struct api_call *call, struct api_answer *a);
/* Enters a->job into the queue. */
void api_enter_job(struct server_state *s, double seconds, double now, struct api_answer *a);
/* A member that is a string, or `missing` if there is none; NULL: it is another value, and a is a refusal. Borrowed. */
const char *api_read_text(const struct json *body, const char *name, const char *missing,
			  struct api_answer *a);
/* A member that is a whole number, or a string of one; false: it is neither. A missing one is 0. */
bool api_read_int(const struct json *body, const char *name, int64_t *value);

#endif
