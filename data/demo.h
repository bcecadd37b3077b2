/* demo.h - (not written yet) */
#ifndef WERKBANK_DATA_DEMO_H
#define WERKBANK_DATA_DEMO_H

#endif
