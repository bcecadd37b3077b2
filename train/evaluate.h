/* evaluate.h - (not written yet) */
#ifndef WERKBANK_TRAIN_EVALUATE_H
#define WERKBANK_TRAIN_EVALUATE_H

#endif
