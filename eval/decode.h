/* decode.h - (not written yet) */
#ifndef WERKBANK_EVAL_DECODE_H
#define WERKBANK_EVAL_DECODE_H

#endif
