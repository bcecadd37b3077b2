# kernels/ref: the definition of each op in plain C, one loop after the other, without tricks.
# Enter at ref.h; tests compare the other backends with these functions.
# May use: kernels/ops, share.
libkernels_a_SOURCES += \
	%D%/ref.c %D%/ref.h %D%/ref_attention.c %D%/ref_decode.c %D%/ref_linear.c \
	%D%/ref_loss.c %D%/ref_matmul.c %D%/ref_norm.c %D%/ref_point.c
