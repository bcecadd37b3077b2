/* activation.h - the numbers of the activations in activations.def. */
#ifndef WERKBANK_SHARE_BASE_ACTIVATION_H
#define WERKBANK_SHARE_BASE_ACTIVATION_H

enum activation {
#define ACTIVATION(name, text) ACTIVATION_##name,
#include "share/base/activations.def"
	N_ACTIVATIONS
};

#endif
