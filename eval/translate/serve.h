/*
 * serve.h - the translation service: JSON Lines on standard input and output.
 *
 * The model is loaded once. Then each input line, one JSON object, gets one output line, in order and
 * flushed at once; werkbank-serve(7) describes the members of both. The first output line reports that the
 * service is ready:
 *
 *	{"ready":true,"source_language":"en","target_language":"de","step":N,"beam":4,"alpha":0.6,
 *	 "keeps_lines":false,"decoder_layers":6,"heads":8,"tags":"<2de> <2en>"}		tags: if the model has some
 *
 * A request that fails gets {"id":...,"error":"a sentence"}; id is null if the line is not JSON object. So
 * does a request with an unknown member, or with invalid UTF-8. SIGTERM ends the service after the answer
 * to the open request.
 */
#ifndef WERKBANK_EVAL_TRANSLATE_SERVE_H
#define WERKBANK_EVAL_TRANSLATE_SERVE_H

#include <stdio.h>

#include "eval/translate/constraint_options.h"
#include "eval/translate/engine.h"
#include "eval/translate/passages.h"
#include "share/base/err.h"
#include "share/conf/conf.h"

#define SERVE_MAX_CELLS 100000 /* weights of attention in an answer */

/* Serves standard input and output with the model that c names, until the input ends. */
int serve_run(struct conf *c, struct err *e);

struct serve_context {
	struct engine *engine;		       /* borrowed */
	struct passages *passages;	       /* borrowed; of this engine */
	struct decode_options default_options; /* for members that a request lacks */
	struct constraint_options constraints; /* --terms and --forbid, for all requests */
};

/* Appends the answer to one request line, with a line end. Fails only if memory runs out. */
int serve_answer(const struct serve_context *s, const char *line, size_t n, struct buf *out,
		 struct err *e);

#endif
