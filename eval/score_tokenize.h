/* score_tokenize.h - (not written yet) */
#ifndef WERKBANK_EVAL_SCORE_TOKENIZE_H
#define WERKBANK_EVAL_SCORE_TOKENIZE_H

#endif
