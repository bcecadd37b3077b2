/* cpu_vec.h - (not written yet) */
#ifndef WERKBANK_KERNELS_CPU_VEC_H
#define WERKBANK_KERNELS_CPU_VEC_H

#endif
