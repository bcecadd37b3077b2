/* shuffle.h - (not written yet) */
#ifndef WERKBANK_DATA_SHUFFLE_H
#define WERKBANK_DATA_SHUFFLE_H

#endif
