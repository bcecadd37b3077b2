# train/launch/preflight: facts of hosts (probes) and the check of hosts before a start.
# Enter at preflight.h.
# May use: train/launch/remote, train/common, share.
liblaunch_a_SOURCES += \
	%D%/preflight.c %D%/preflight.h %D%/preflight_compare.c %D%/preflight_folder.c %D%/preflight_folder.h \
	%D%/preflight_internal.h %D%/preflight_network.c \
	%D%/preflight_ports.c %D%/preflight_findings.c %D%/probe.c %D%/probe.h %D%/probe_connect.c %D%/probe_facts.c \
	%D%/probe_machine.c %D%/probe_network.c
