# train/common: shared by ranks and launcher: cost of networks, requests to a run, records of processes.
# Enter at network.h, control.h and leftover.h.
# May use: share.
noinst_LIBRARIES += libcommon.a
libcommon_a_SOURCES = \
	%D%/control.c %D%/control.h %D%/leftover.c %D%/leftover.h %D%/linkfile.c %D%/linkfile.h \
	%D%/network.c %D%/network.h %D%/run_versions.c %D%/run_versions.h %D%/start_from.c %D%/start_from.h
