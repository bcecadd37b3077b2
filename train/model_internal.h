/* model_internal.h - (not written yet) */
#ifndef WERKBANK_TRAIN_MODEL_INTERNAL_H
#define WERKBANK_TRAIN_MODEL_INTERNAL_H

#endif
