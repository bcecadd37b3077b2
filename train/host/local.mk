# train/host: what a host does at the moment: processors, memory, disks, network, InfiniBand, GPUs.
# Enter at host_file.h (samples of a host).
# May use: share.
libcommon_a_SOURCES += \
	%D%/host_cpu.c %D%/host_cpu.h %D%/host_disk.c %D%/host_disk.h %D%/host_file.c %D%/host_file.h %D%/host_gpu.c \
	%D%/host_gpu.h %D%/host_ib.c %D%/host_net.c %D%/host_net.h %D%/host_nvml.c %D%/host_nvml.h
