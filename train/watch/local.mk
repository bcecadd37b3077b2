# train/watch: who watches the ranks: heartbeats, the watchdog that names a late rank, telemetry of hosts.
# Enter at telemetry.h and heartbeat.h.
# May use: train/comm, train/common, kernels, share.
libtrain_a_SOURCES += \
	%D%/heartbeat.c %D%/heartbeat.h %D%/heartbeat_internal.h %D%/heartbeat_message.c \
	%D%/host_watch.c %D%/host_watch.h %D%/telemetry.c %D%/telemetry.h \
	%D%/telemetry_internal.h %D%/telemetry_records.c %D%/watchdog.c
