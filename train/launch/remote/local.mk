# train/launch/remote: lists of hosts, commands on many hosts by ssh, the command lines of mpirun and srun.
# Enter at hosts.h (lists), remote.h (commands) and rank_launch.h (ranks).
# May use: train/common, share.
liblaunch_a_SOURCES += \
	%D%/command_line.c %D%/command_line.h %D%/hosts.c %D%/hosts.h %D%/hosts_aws.c %D%/hosts_query.c \
	%D%/hosts_query.h %D%/launcher.c %D%/launcher.h %D%/mpirun.c %D%/mpirun.h %D%/rank_launch.c \
	%D%/rank_launch.h %D%/remote.c %D%/remote.h %D%/remote_explain.c %D%/rsh_agent.c %D%/rsh_agent.h
