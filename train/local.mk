# train: the model, its training on one rank or many, and the launcher.
noinst_LIBRARIES += libtrain.a
libtrain_a_SOURCES = \
	%D%/adam.c        %D%/adam.h        %D%/arena.c       %D%/arena.h \
	%D%/ckpt.c        %D%/ckpt.h        %D%/ckpt_internal.h %D%/ckpt_find.c %D%/ckpt_save.c \
	%D%/ckpt_average.c %D%/ckpt_average.h \
	%D%/buckets.c     %D%/buckets.h     %D%/compress.c    %D%/compress.h \
	%D%/comm.c        %D%/comm.h        %D%/reduce.c      %D%/reduce.h \
	%D%/reduce_host.c %D%/reduce_internal.h \
	%D%/ema.c         %D%/ema.h \
	%D%/model.c       %D%/model.h       %D%/params.def \
	%D%/model_internal.h %D%/model_backward.c %D%/model_batch.c %D%/model_forward.c %D%/model_head.c %D%/model_pack.c %D%/model_plan.c \
	%D%/openseq2seq.c %D%/openseq2seq.h \
	%D%/outlets.c     %D%/outlets.h     %D%/prometheus.c  %D%/prometheus.h \
	%D%/safetensors.c %D%/safetensors.h \
	%D%/scalars.c     %D%/scalars.h \
	%D%/sched.c       %D%/sched.h \
	%D%/tensorboard.c %D%/tensorboard.h \
	%D%/trainer.c     %D%/trainer.h     %D%/trainer_internal.h \
	%D%/trainer_average.c %D%/trainer_ema.c %D%/trainer_mirror.c %D%/trainer_open.c %D%/trainer_report.c %D%/trainer_save.c %D%/trainer_start.c %D%/trainer_step.c \
	%D%/evaluate.c    %D%/evaluate.h    %D%/evaluate_internal.h %D%/evaluate_spread.c \
	%D%/evaluations.c %D%/evaluations.h \
	%D%/host_watch.c  %D%/host_watch.h \
	%D%/pulse.c       %D%/pulse.h       %D%/pulse_internal.h %D%/pulse_watch.c %D%/pulse_word.c \
	%D%/telemetry.c   %D%/telemetry.h   %D%/telemetry_internal.h %D%/telemetry_records.c
libtrain_a_CPPFLAGS = $(AM_CPPFLAGS)
train_libs = libtrain.a libcommon.a $(kernel_libs) $(data_libs) $(base_libs)

if HAVE_MPI
libtrain_a_SOURCES += %D%/comm_mpi.c
libtrain_a_CPPFLAGS += $(MPI_CFLAGS)
mpi_libs = $(MPI_LIBS)
endif

# GPUs of several ranks; tests compile the same files for the simulated ones.
nccl_sources = %D%/comm_nccl.c %D%/reduce_gpu.c
EXTRA_DIST += $(nccl_sources) %D%/comm_nccl_library.c %D%/comm_nccl_library.h %D%/comm_nccl_none.c
libtrain_a_SOURCES += %D%/comm_nccl.h
if HAVE_NCCL
libtrain_a_SOURCES += $(nccl_sources) %D%/comm_nccl_library.c
libtrain_a_CPPFLAGS += $(CUDA_CPPFLAGS) -DCUDA_LIBRARY_DIR='"$(CUDA_LIBRARY_DIR)"'
else
libtrain_a_SOURCES += %D%/comm_nccl_none.c
endif

bin_PROGRAMS += werkbank-train
werkbank_train_SOURCES = %D%/main.c %D%/bandwidth.c %D%/bandwidth.h %D%/doctor.c %D%/doctor.h
werkbank_train_LDADD = $(train_libs) $(mpi_libs)

include %D%/common/local.mk
include %D%/launch/local.mk
