# kernels: every op in plain C (ref_), fast on the CPU (cpu_) and on the GPU (cuda_).
noinst_LIBRARIES += libkernels.a
libkernels_a_SOURCES = \
	%D%/ops.c %D%/ops.h %D%/ops.def %D%/panels.c %D%/panels.h %D%/tensor.h %D%/dropout.h %D%/bf16.h %D%/adam_factor.h %D%/wire.h \
	%D%/ref.c %D%/ref.h %D%/ref_attention.c %D%/ref_decode.c %D%/ref_loss.c \
	%D%/profile.c %D%/profile.h %D%/work.c %D%/work.h \
	%D%/ref_linear.c %D%/ref_matmul.c %D%/ref_norm.c %D%/ref_point.c \
	%D%/cpu_dev.c %D%/cpu_matmul.c %D%/cpu_team.c %D%/cpu_team.h
libkernels_a_CPPFLAGS = $(AM_CPPFLAGS)
libkernels_a_CFLAGS = $(AM_CFLAGS) $(OPENMP_CFLAGS)
libkernels_a_LIBADD =

# The vector code is compiled once for each machine level; kernels/ops.c chooses.
cpu_vector_sources = \
	%D%/cpu.h %D%/cpu_gemm_tile.h %D%/cpu_linear_tile.h %D%/cpu_mask.h %D%/cpu_top.h \
	%D%/cpu_vec.h %D%/cpu_table.c %D%/cpu_attention.c %D%/cpu_decode.c \
	%D%/cpu_few.c %D%/cpu_gemm.c %D%/cpu_linear.c %D%/cpu_loss.c %D%/cpu_norm.c %D%/cpu_point.c
cpu_vector_flags = $(AM_CFLAGS) $(OPENMP_CFLAGS) -O3 -fno-math-errno -fno-trapping-math $(VECTOR_FLAGS)

noinst_LIBRARIES += libkernels_plain.a
libkernels_plain_a_SOURCES = $(cpu_vector_sources)
libkernels_plain_a_CPPFLAGS = $(AM_CPPFLAGS) -DCPU_VARIANT=plain
libkernels_plain_a_CFLAGS = $(cpu_vector_flags)
kernel_libs = libkernels.a libkernels_plain.a

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
kernel_libs += libkernels.a $(ONEDNN_LIBS) $(OPENMP_CFLAGS) $(CUDA_LIBS)

# The GPU backend. nvcc compiles these, and for tests the host compiler does, tests/cudasim.
cuda_sources = \
	%D%/cuda_attention.cu %D%/cuda_attention_any.cu %D%/cuda_attention_grad.cu \
	%D%/cuda_decode.cu %D%/cuda_dev.cu %D%/cuda_embed.cu %D%/cuda_graph.cu %D%/cuda_linear.cu %D%/cuda_loss.cu \
	%D%/cuda_norm.cu %D%/cuda_point.cu %D%/cuda_queue.cu %D%/cuda_compress.cu
cuda_headers = %D%/cuda.cuh %D%/cuda_attention.cuh %D%/cuda_attention_tiles.cuh %D%/cuda.h %D%/adam_factor.h %D%/cuda_blas.h \
	%D%/cuda_queue.h %D%/cuda_queue.cuh %D%/toolkit_library.h %D%/wire.h
EXTRA_DIST += $(cuda_sources) $(cuda_headers) %D%/cuda_blas.cu %D%/cuda_table.c
SUFFIXES = .cu
if HAVE_CUDA
cuda_objects = $(cuda_sources:.cu=.o) %D%/cuda_blas.o
cuda_flags = -std=c++17 -O3 $(NVCC_GENCODE) $(NVCCFLAGS) -I$(top_srcdir) -I. -D_GNU_SOURCE $(DEFS) \
	-DCUDA_LIBRARY_DIR='"$(CUDA_LIBRARY_DIR)"' -Xcompiler -Wall,-Wextra,-fno-exceptions,-fno-threadsafe-statics,-fPIC
.cu.o:
	@$(MKDIR_P) $(@D)
	$(AM_V_GEN)$(NVCC) $(cuda_flags) -c -o $@ $<
$(cuda_objects): $(cuda_headers) $(srcdir)/%D%/ops.def $(srcdir)/%D%/ops.h
CLEANFILES += $(cuda_objects)
libkernels_a_SOURCES += %D%/cuda_table.c
libkernels_a_LIBADD += $(cuda_objects)
else
libkernels_a_SOURCES += %D%/cuda_none.c
endif
