# train/launch/remote: lists of hosts, commands on many hosts by ssh, mpirun's command line.
# Enter at hosts.h (lists) and remote.h (commands).
# May use: train/common, share.
liblaunch_a_SOURCES += \
	%D%/hosts.c %D%/hosts.h %D%/hosts_aws.c %D%/hosts_query.c %D%/hosts_query.h %D%/launcher.c %D%/launcher.h \
	%D%/mpirun.c %D%/mpirun.h %D%/remote.c %D%/remote.h %D%/remote_explain.c %D%/rsh_agent.c %D%/rsh_agent.h
