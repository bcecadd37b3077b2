# kernels: every op in plain C (ref), fast on the CPU (cpu) and on the GPU (cuda).
# Enter at ops/ops.h; ops.c chooses a backend at run time, profile.c and device_roof.c measure one, op_cost.c counts its FLOPs and bytes.
# May use: share.
noinst_LIBRARIES += libkernels.a
libkernels_a_SOURCES = %D%/device_roof.c %D%/device_roof.h %D%/ops.c %D%/profile.c %D%/profile.h %D%/op_cost.c %D%/op_cost.h \
	%D%/product_rates.c %D%/product_rates.h
include %D%/ops/local.mk
include %D%/ref/local.mk
libkernels_a_CPPFLAGS = $(AM_CPPFLAGS)
libkernels_a_CFLAGS = $(AM_CFLAGS)
libkernels_a_LIBADD =

kernel_libs =
include %D%/cpu/local.mk
kernel_libs += libkernels.a $(CUDA_LIBS)
include %D%/cuda/local.mk
