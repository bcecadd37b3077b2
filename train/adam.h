/* adam.h - (not written yet) */
#ifndef WERKBANK_TRAIN_ADAM_H
#define WERKBANK_TRAIN_ADAM_H

#endif
