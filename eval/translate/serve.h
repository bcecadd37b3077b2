/*
 * serve.h - translation as a service on a pair of pipes: JSON Lines.
 *
 * The model is loaded once; then every line of input, one JSON object, gets one
 * line of output, in order, written at once. When the input ends, so does the
 * service. First of all it says that it is ready:
 *
 *	{"ready":true,"source_language":"en","target_language":"de","step":N,"beam":4,"alpha":0.6}
 *
 * Request                      {"id":7,"text":"Two dogs are running.","n_best":2,"beam":4}
 *	id                      a string or a number that names it, given back; may be missing
 *	text                    raw text, required
 *	prefix                  how the translation must begin: whole words; may be missing
 *	force, forbid           lists of phrases, target language: each of these must be in the
 *	                        translation, each of those must not; what is forced is stronger
 *	terms                   {"source":"target",…}: where the words of source are in the text,
 *	                        target must be in the translation. These, and what is forbidden,
 *	                        are added to --terms and --forbid
 *	alternatives, at        ask for so many other words (1 to 20) that could stand at place at
 *	                        (from 0) of tokens, given those before it
 *	n_best, beam, alpha     instead of the command line's; beam is at least n_best
 *
 * Answer       {"id":7,"text":"Zwei Hunde rennen.","score":-0.31,"log_prob":-0.42,
 *               "tokens":["Zwei","Hunde","rennen","."],"token_log_probs":[-0.1,…],"source_tokens":["Two","dogs","are",…],
 *               "alignment":[0,1,3,4],"n_best":[{"text":…,"score":…,…},…]}
 *	tokens                  BPE pieces; those that end in @@ go on in the next
 *	alignment               for each of tokens the number, from 0, of one of source_tokens
 *	n_best                  only when n_best was above 1: all translations, best first
 *	at, alternatives        only when asked for: the place (at most that of the end), and
 *	                        [{"piece":"Hun@@","word":"Hunde","log_prob":-1.2,"prefix":"Zwei Hunde"},…],
 *	                        likeliest first: a token; the whole word that it most likely
 *	                        becomes; what would stand up to there, to be sent as the next prefix.
 *	                        Piece </s>, word "": the end
 *	terms_left              how many terms, beyond the first 32, were not minded; missing: 0
 *	truncated               true when the text was too long and its end was not translated
 *
 * A request that cannot be answered gets {"id":…,"error":"a sentence"}; id is
 * null when the line could not be read as an object.
 */
#ifndef WERKBANK_EVAL_TRANSLATE_SERVE_H
#define WERKBANK_EVAL_TRANSLATE_SERVE_H

#include <stdio.h>

#include "eval/translate/engine.h"
#include "eval/translate/constraint_options.h"
#include "share/conf/conf.h"
#include "share/base/err.h"

/* Serve standard input and output with the model that c names. */
int serve_run(struct conf *c, struct err *e);

struct serve_context {
	struct engine *engine;		       /* borrowed */
	struct decode_options default_options; /* of requests that say nothing else */
	struct constraint_options constraints; /* of all of them */
};

/*
 * Append the answer to one request line (with its line end). Only memory running out is
 * a failure.
 */
int serve_answer(const struct serve_context *s, const char *line, size_t n, struct buf *out,
		 struct err *e);

#endif
