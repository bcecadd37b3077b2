# train/watch: supervision of ranks: heartbeats, the watchdog that names late ranks and ends hanging jobs, telemetry.
# Enter at telemetry.h (measurements) and heartbeat.h (protocol of heartbeats and watchdog).
# May use: train/comm, train/common, share/base.
libtrain_a_SOURCES += \
	%D%/heartbeat.c %D%/heartbeat.h %D%/heartbeat_internal.h %D%/heartbeat_message.c \
	%D%/host_watch.c %D%/host_watch.h %D%/link_measure.c %D%/link_measure.h %D%/link_speed.c %D%/link_speed.h %D%/telemetry.c %D%/telemetry.h \
	%D%/telemetry_internal.h %D%/telemetry_records.c %D%/watchdog.c
