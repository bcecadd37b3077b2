/*
 * serve.h - the translation service: JSON Lines on standard input and output.
 *
 * The model is loaded once. Then each input line, one JSON object, gets one output line, in order
 * and flushed at once. The service ends with its input. Its first output line reports that it is
 * ready:
 *
 *	{"ready":true,"source_language":"en","target_language":"de","step":N,"beam":4,"alpha":0.6,
 *	 "keeps_lines":false,"decoder_layers":6,"heads":8}
 *
 * Request                      {"id":7,"text":"Two dogs are running.","n_best":2,"beam":4}
 *	id                      a string or a number, copied to the answer; optional
 *	text                    raw text, required; it may have several sentences and lines
 *	whole                   true: translate the text as one sentence
 *	prefix                  whole words that the translation begins with; optional
 *	force, forbid           lists of target phrases: the translation contains each phrase of
 *	                        force, and no phrase of forbid; a forced phrase that contains a
 *	                        forbidden one is an error
 *	terms                   {"source":"target",...}: if the text has the words of source, the
 *	                        translation contains target. terms and forbid are added to
 *	                        --terms and --forbid
 *	alternatives, at        ask for so many words (1 to 20) that could be at position at
 *	                        (from 0) of tokens, given the tokens before it
 *	attention               ask for maps of attention, of a decoder layer and a head:
 *	                        {"layer":6,"head":2}, both from 1; without layer: the last layer,
 *	                        without head: the mean of all heads
 *	n_best, beam, alpha     replace the command line's values; beam is at least n_best
 *
 * Answer       {"id":7,"text":"Zwei Hunde rennen.","score":-0.31,"log_prob":-0.42,
 *               "tokens":["Zwei","Hunde","rennen","."],"token_log_probs":[-0.1,...],
 *               "source_tokens":["Two","dogs","are",...],"alignment":[0,1,3,4],
 *               "n_best":[{"text":...,"score":...,...},...]}
 *	tokens                  BPE pieces; a piece that ends in @@ continues in the next one
 *	alignment               for each token the index, from 0, of its source token
 *	attention               only if requested, of each translation: for each token a list of
 *	                        weights of the source tokens and, last, of the sentence's end,
 *	                        with the sum 1. null: the maps before it have SERVE_MAX_CELLS
 *	                        weights already
 *	n_best                  only if the request had n_best above 1: all translations, best first
 *	at, alternatives        only if requested: the position (at most that of the end), and
 *	                        [{"piece":"Hun@@","word":"Hunde","log_prob":-1.2,
 *	                        "prefix":"Zwei Hunde"},...], most probable first. word is the most
 *	                        probable whole word that begins with piece; prefix is the
 *	                        translation up to this word, for the next request. Piece </s>
 *	                        with word "" is the end
 *	terms_left              number of terms beyond the first 32, which were not used; missing: 0
 *	sentences               number of sentences, if more than one: each was translated by itself.
 *	                        tokens, scores and alignments follow one after the other (passages.h);
 *	                        attention is null then
 *	truncated               true if a sentence was too long and its end was not translated
 *	long                    true if a sentence is longer than all of the training text
 *
 * A request that fails gets {"id":...,"error":"a sentence"}; id is null if the line is no JSON
 * object. So does a request with a member that is not listed here, or with invalid UTF-8. SIGTERM
 * ends the service after the answer to the open request.
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
