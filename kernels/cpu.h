/* cpu.h - (not written yet) */
#ifndef WERKBANK_KERNELS_CPU_H
#define WERKBANK_KERNELS_CPU_H

#endif
