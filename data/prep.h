/* prep.h - (not written yet) */
#ifndef WERKBANK_DATA_PREP_H
#define WERKBANK_DATA_PREP_H

#endif
