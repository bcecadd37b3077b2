/* serve.h - (not written yet) */
#ifndef WERKBANK_EVAL_SERVE_H
#define WERKBANK_EVAL_SERVE_H

#endif
