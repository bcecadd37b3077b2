/* ref.h - (not written yet) */
#ifndef WERKBANK_KERNELS_REF_H
#define WERKBANK_KERNELS_REF_H

#endif
