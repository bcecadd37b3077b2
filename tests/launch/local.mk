# tests/launch: hosts, preflight, mpirun's command line, plans; launch.sh is a live run on this host.
# hosts_fake.sh plays the hosts by a script in ssh's place: it needs no root and no sshd.
# May use: train/launch, train/common, share.
test_sources += \
	%D%/launch_bench.c %D%/launch_bench.h %D%/t_attempts.c %D%/t_hosts.c %D%/t_hosts_commands.c \
	%D%/t_job.c %D%/t_launch.c %D%/t_mpirun.c %D%/t_plan.c %D%/t_plan_command.c %D%/t_plan_net.c \
	%D%/t_preflight.c %D%/t_probe.c %D%/t_remote.c %D%/t_run.c
dist_check_SCRIPTS += %D%/plan.sh %D%/hosts_fake.sh %D%/launch.sh
TESTS += %D%/plan.sh %D%/hosts_fake.sh
long_tests += %D%/launch.sh
