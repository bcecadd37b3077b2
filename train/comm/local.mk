# train/comm: communication between ranks: communicators (one rank, MPI, NCCL), buckets, compression, reductions.
# Enter at comm.h (the communicator) and reduce.h (sums of gradients over ranks).
# May use: train/common, kernels, share/base.
libtrain_a_SOURCES += \
	%D%/buckets.c %D%/buckets.h %D%/comm.c %D%/comm.h %D%/comm_nccl.h \
	%D%/compress.c %D%/compress.h %D%/reduce.c %D%/reduce.h %D%/reduce_host.c \
	%D%/reduce_internal.h
if HAVE_MPI
libtrain_a_SOURCES += %D%/comm_mpi.c
libtrain_a_CPPFLAGS += $(MPI_CFLAGS)
mpi_libs = $(MPI_LIBS)
endif

# GPUs of several ranks; tests compile the same files for the simulated ones.
nccl_sources = %D%/comm_nccl.c %D%/reduce_gpu.c
EXTRA_DIST += $(nccl_sources) %D%/comm_nccl_library.c %D%/comm_nccl_library.h %D%/comm_nccl_none.c
if HAVE_NCCL
libtrain_a_SOURCES += $(nccl_sources) %D%/comm_nccl_library.c
libtrain_a_CPPFLAGS += $(CUDA_CPPFLAGS) -DCUDA_LIBRARY_DIR='"$(CUDA_LIBRARY_DIR)"'
else
libtrain_a_SOURCES += %D%/comm_nccl_none.c
endif
