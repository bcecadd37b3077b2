/* heldout.h - (not written yet) */
#ifndef WERKBANK_EVAL_HELDOUT_H
#define WERKBANK_EVAL_HELDOUT_H

#endif
