/* supervise.h - (not written yet) */
#ifndef WERKBANK_TRAIN_SUPERVISE_H
#define WERKBANK_TRAIN_SUPERVISE_H

#endif
