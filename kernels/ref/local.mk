# kernels/ref: the definition of each op in plain C: one loop after the other, one thread, sums in double.
# Enter at ref.h; then the head of each ref_*.c, with its formulas. tests/kernels/t_ops.c compares the other backends with it.
# May use: kernels/ops, share.
libkernels_a_SOURCES += \
	%D%/ref.c %D%/ref.h %D%/ref_activate.c %D%/ref_attention.c %D%/ref_decode.c %D%/ref_linear.c \
	%D%/ref_loss.c %D%/ref_matmul.c %D%/ref_norm.c %D%/ref_point.c %D%/ref_ssru.c
