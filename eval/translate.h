/* translate.h - (not written yet) */
#ifndef WERKBANK_EVAL_TRANSLATE_H
#define WERKBANK_EVAL_TRANSLATE_H

#endif
