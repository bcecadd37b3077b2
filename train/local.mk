# train: the model, its training on one rank or many, and the launcher.
noinst_LIBRARIES += libtrain.a
libtrain_a_SOURCES =
libtrain_a_CPPFLAGS = $(AM_CPPFLAGS)
include %D%/model/local.mk
include %D%/optim/local.mk
include %D%/ckpt/local.mk
include %D%/comm/local.mk
include %D%/watch/local.mk
include %D%/record/local.mk
include %D%/trainer/local.mk
train_libs = libtrain.a libcommon.a $(kernel_libs) $(data_libs) $(base_libs)

bin_PROGRAMS += werkbank-train
werkbank_train_SOURCES = %D%/main.c %D%/bandwidth.c %D%/bandwidth.h %D%/doctor.c %D%/doctor.h
werkbank_train_LDADD = $(train_libs) $(mpi_libs)

include %D%/common/local.mk
include %D%/host/local.mk
include %D%/launch/local.mk
