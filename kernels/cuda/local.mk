# kernels/cuda: the backend of NVIDIA GPUs: cuBLASLt for products, own kernels for the rest, CUDA graphs, a second stream for NCCL.
# Enter at cuda.h (a reading order of the files), then cuda.cuh (shared by the kernels). Only here CUDA headers are used.
# May use: kernels/ops, share.
# nvcc compiles the .cu files; for tests without a GPU the host compiler does, see tests/cudasim.
cuda_sources = \
	%D%/cuda_activate.cu %D%/cuda_attention.cu %D%/cuda_attention_any.cu %D%/cuda_attention_grad.cu \
	%D%/cuda_choices.cu %D%/cuda_decode.cu %D%/cuda_dev.cu %D%/cuda_embed.cu %D%/cuda_few_rows.cu %D%/cuda_graph.cu %D%/cuda_linear.cu %D%/cuda_loss.cu \
	%D%/cuda_norm.cu %D%/cuda_point.cu %D%/cuda_product.cu %D%/cuda_queue.cu %D%/cuda_ssru.cu %D%/cuda_compress.cu
cuda_headers = %D%/cuda.cuh %D%/cuda_attention.cuh %D%/cuda_attention_tiles.cuh %D%/cuda_product.cuh %D%/cuda.h kernels/ops/adam_factor.h %D%/cuda_blas.h \
	%D%/cuda_queue.h %D%/cuda_queue.cuh %D%/toolkit_library.h kernels/ops/wire.h
EXTRA_DIST += $(cuda_sources) $(cuda_headers) %D%/cuda_blas.cu %D%/cuda_table.c
SUFFIXES = .cu
if HAVE_CUDA
cuda_objects = $(cuda_sources:.cu=.o) %D%/cuda_blas.o
cuda_flags = -std=c++17 -O3 $(NVCC_GENCODE) $(NVCCFLAGS) -I$(top_srcdir) -I. -D_GNU_SOURCE $(ASSERT_FLAGS) $(DEFS) \
	-DCUDA_LIBRARY_DIR='"$(CUDA_LIBRARY_DIR)"' -Xcompiler -Wall,-Wextra,-fno-exceptions,-fno-threadsafe-statics,-fPIC
.cu.o:
	@$(MKDIR_P) $(@D)
	$(AM_V_GEN)$(NVCC) $(cuda_flags) -c -o $@ $<
$(cuda_objects): $(cuda_headers) $(srcdir)/kernels/ops/ops.def $(srcdir)/kernels/ops/ops.h $(srcdir)/share/base/activations.def
CLEANFILES += $(cuda_objects)
libkernels_a_SOURCES += %D%/cuda_table.c
libkernels_a_LIBADD += $(cuda_objects)
else
libkernels_a_SOURCES += %D%/cuda_none.c
endif
