/* safetensors.h - (not written yet) */
#ifndef WERKBANK_TRAIN_SAFETENSORS_H
#define WERKBANK_TRAIN_SAFETENSORS_H

#endif
