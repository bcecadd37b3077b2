# kernels/cpu: the fast backend of processors: matrix products, attention, norms, decoding, the threads that share them.
# Enter at cpu.h (what the files share), cpu_table.c (the table of one machine level), cpu_team.h (threads).
# May use: kernels/ops, kernels/ref (single ops that have no fast version), share.
libkernels_a_SOURCES += %D%/cpu_dev.c %D%/cpu_team.c %D%/cpu_features.c %D%/cpu_levels.c %D%/cpu_team.h

# The vector code is compiled once for each machine level; cpu_levels.c chooses.
cpu_vector_sources = \
	%D%/cpu.h %D%/cpu_activate.c %D%/cpu_attention.c %D%/cpu_decode.c %D%/cpu_gemm.c %D%/cpu_gemm_tile.h \
	%D%/cpu_gemm_pack.h %D%/cpu_linear.c %D%/cpu_linear_kinds.h %D%/cpu_linear_tile.h %D%/cpu_loss.c %D%/cpu_mask.h \
	%D%/cpu_matmul_small.c %D%/cpu_norm.c %D%/cpu_point.c %D%/cpu_ssru.c %D%/cpu_table.c %D%/cpu_top.h \
	%D%/cpu_vec.h %D%/cpu_tiles.h
cpu_vector_flags = $(AM_CFLAGS) -O3 -fno-math-errno -fno-trapping-math $(VECTOR_FLAGS)

noinst_LIBRARIES += libkernels_plain.a
libkernels_plain_a_SOURCES = $(cpu_vector_sources)
libkernels_plain_a_CPPFLAGS = $(AM_CPPFLAGS) -DCPU_VARIANT=plain
libkernels_plain_a_CFLAGS = $(cpu_vector_flags)
kernel_libs += libkernels.a libkernels_plain.a

if HAVE_VECTOR_VARIANTS
noinst_LIBRARIES += libkernels_v3.a libkernels_v4.a
libkernels_v3_a_SOURCES = $(cpu_vector_sources)
libkernels_v3_a_CPPFLAGS = $(AM_CPPFLAGS) -DCPU_VARIANT=v3
libkernels_v3_a_CFLAGS = $(cpu_vector_flags) -march=x86-64-v3
libkernels_v4_a_SOURCES = $(cpu_vector_sources)
libkernels_v4_a_CPPFLAGS = $(AM_CPPFLAGS) -DCPU_VARIANT=v4
libkernels_v4_a_CFLAGS = $(cpu_vector_flags) -march=x86-64-v4 -mprefer-vector-width=512
kernel_libs += libkernels_v3.a libkernels_v4.a
endif
