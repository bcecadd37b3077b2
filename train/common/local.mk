# train/common: shared by ranks and launcher: samples of a host, cost of networks, requests to a run, records of processes.
# Enter at host_file.h (samples of a host), network.h, control.h and leftover.h.
# May use: share.
noinst_LIBRARIES += libcommon.a
libcommon_a_SOURCES = \
	%D%/control.c %D%/control.h %D%/host_cpu.c %D%/host_cpu.h %D%/host_disk.c %D%/host_disk.h \
	%D%/host_file.c %D%/host_file.h %D%/host_gpu.c %D%/host_gpu.h %D%/host_ib.c \
	%D%/host_net.c %D%/host_net.h %D%/host_nvml.c %D%/host_nvml.h %D%/leftover.c \
	%D%/leftover.h %D%/linkfile.c %D%/linkfile.h %D%/network.c %D%/network.h \
	%D%/start_from.c %D%/start_from.h
