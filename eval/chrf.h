/* chrf.h - (not written yet) */
#ifndef WERKBANK_EVAL_CHRF_H
#define WERKBANK_EVAL_CHRF_H

#endif
