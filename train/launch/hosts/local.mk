# train/launch/hosts: lists of hosts, ssh to many of them, probes, the check before a start, mpirun's command line.
# Enter at hosts.h and preflight.h.
# May use: train/common, share.
liblaunch_a_SOURCES += \
	%D%/hosts.c %D%/hosts.h %D%/hosts_aws.c %D%/hosts_bandwidth.c %D%/hosts_clean.c \
	%D%/hosts_command.c %D%/hosts_command.h %D%/hosts_query.c %D%/hosts_query.h \
	%D%/hosts_sync.c %D%/launcher.c %D%/launcher.h %D%/mpirun.c %D%/mpirun.h %D%/preflight.c %D%/preflight.h \
	%D%/preflight_compare.c %D%/preflight_internal.h %D%/preflight_network.c \
	%D%/preflight_ports.c %D%/preflight_print.c %D%/probe.c %D%/probe.h %D%/probe_connect.c %D%/probe_facts.c \
	%D%/probe_machine.c %D%/probe_network.c %D%/remote.c %D%/remote.h %D%/remote_explain.c \
	%D%/rsh_agent.c %D%/rsh_agent.h
