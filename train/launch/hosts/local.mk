# train/launch/hosts: the command "hosts": check, bandwidth, clean, sync.
# Enter at hosts_command.h.
# May use: train/launch/preflight, train/launch/remote, train/common, share.
liblaunch_a_SOURCES += \
	%D%/hosts_bandwidth.c %D%/hosts_clean.c %D%/hosts_command.c %D%/hosts_command.h %D%/hosts_sync.c
