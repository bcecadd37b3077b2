/*
 * score.h - the command "score": log-probabilities of given translations, one number a line, as JSON, or as a summary;
 * with --n-best-list of the candidates of each line, and with --rerank the best candidate of each line.
 *
 * A pair that the models cannot score keeps its place: "nan", or null with the reason in JSON.
 */
#ifndef WERKBANK_EVAL_SCORE_SCORE_H
#define WERKBANK_EVAL_SCORE_SCORE_H

#include "share/base/err.h"
#include "share/conf/conf.h"

int score_run(struct conf *c, struct err *e);

#endif
