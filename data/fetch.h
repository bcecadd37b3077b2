/* fetch.h - (not written yet) */
#ifndef WERKBANK_DATA_FETCH_H
#define WERKBANK_DATA_FETCH_H

#endif
