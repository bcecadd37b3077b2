# train/launch: starts trainings on one host or many, supervises and plans them. A library, so that tests can link it.
# Enter at main.c (the commands), then run/train_command.h.
# May use: its own rooms, train/common, share.
noinst_LIBRARIES += liblaunch.a
liblaunch_a_SOURCES =
include %D%/remote/local.mk
include %D%/preflight/local.mk
include %D%/hosts/local.mk
include %D%/plan/local.mk
include %D%/follow/local.mk
include %D%/run/local.mk
include %D%/job/local.mk
include %D%/tune/local.mk

bin_PROGRAMS += werkbank-launch
werkbank_launch_SOURCES = %D%/main.c
werkbank_launch_LDADD = liblaunch.a libcommon.a $(base_libs)
