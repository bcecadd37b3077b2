/* bleu.h - (not written yet) */
#ifndef WERKBANK_EVAL_BLEU_H
#define WERKBANK_EVAL_BLEU_H

#endif
