# launch: starts trainings on one host or many, and watches over them. A library, so that tests can link it.
noinst_LIBRARIES += liblaunch.a
liblaunch_a_SOURCES = \
	%D%/attempts.c %D%/attempts.h %D%/detach.c %D%/detach.h %D%/follow.c %D%/follow.h \
	%D%/hosts.c %D%/hosts.h %D%/hosts_ask.c %D%/hosts_ask.h %D%/hosts_aws.c \
	%D%/hosts_bandwidth.c %D%/hosts_clean.c %D%/hosts_command.c %D%/hosts_command.h \
	%D%/hosts_sync.c %D%/job_command.c %D%/job_command.h %D%/live.c %D%/live.h %D%/mpirun.c \
	%D%/mpirun.h %D%/muster.c %D%/muster.h %D%/outcome.c %D%/outcome.h %D%/plan.c %D%/plan.h \
	%D%/plan_command.c %D%/plan_command.h %D%/plan_grid.c %D%/plan_grid.h %D%/plan_run.c \
	%D%/plan_run.h %D%/preflight.c %D%/preflight.h %D%/preflight_internal.h \
	%D%/preflight_judge.c %D%/preflight_network.c %D%/preflight_print.c %D%/probe.c \
	%D%/probe.h %D%/probe_facts.c %D%/probe_machine.c %D%/probe_meet.c %D%/probe_network.c \
	%D%/remote.c %D%/remote.h %D%/remote_explain.c %D%/run_commands.c %D%/run_commands.h \
	%D%/rundir.c %D%/rundir.h %D%/ssh_agent.c %D%/ssh_agent.h %D%/supervise.c %D%/supervise.h \
	%D%/train_command.c %D%/train_command.h

bin_PROGRAMS += werkbank-launch
werkbank_launch_SOURCES = %D%/main.c
werkbank_launch_LDADD = liblaunch.a libcommon.a $(base_libs)
