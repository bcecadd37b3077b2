/* sgm.h - (not written yet) */
#ifndef WERKBANK_DATA_SGM_H
#define WERKBANK_DATA_SGM_H

#endif
