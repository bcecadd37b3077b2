/* ngrams.h - (not written yet) */
#ifndef WERKBANK_EVAL_NGRAMS_H
#define WERKBANK_EVAL_NGRAMS_H

#endif
