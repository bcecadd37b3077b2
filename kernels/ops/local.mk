# kernels/ops: the interface of all backends: the table of ops, tensors, number formats, dropout, packed panels.
# Enter at ops.h (struct ops), then ops.def (the list of ops with their formulas).
# May use: share.
libkernels_a_SOURCES += \
	%D%/adam_factor.h %D%/bf16.h %D%/cpu_level.h %D%/dropout.h %D%/ops.def %D%/ops.h \
	%D%/panels.c %D%/panels.h %D%/tensor.h %D%/wire.h
