/* trainer.h - (not written yet) */
#ifndef WERKBANK_TRAIN_TRAINER_H
#define WERKBANK_TRAIN_TRAINER_H

#endif
