/* rewrite.h - (not written yet) */
#ifndef WERKBANK_DATA_REWRITE_H
#define WERKBANK_DATA_REWRITE_H

#endif
