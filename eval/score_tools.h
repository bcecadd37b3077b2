/* score_tools.h - (not written yet) */
#ifndef WERKBANK_EVAL_SCORE_TOOLS_H
#define WERKBANK_EVAL_SCORE_TOOLS_H

#endif
