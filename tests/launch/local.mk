# tests/launch: hosts, preflight, plans, supervisor and commands of the launcher; diverged.sh, elastic.sh, launch.sh,
# signals.sh, stops.sh and watch_ssh.sh have live runs on this host, by live_runs.sh.
# Enter at launch_bench.h (runs commands in a test). hosts_fake.sh and many_hosts.sh play hosts by a script in ssh's place.
# May use: train/launch, train/common, share.
test_sources += \
	%D%/launch_bench.c %D%/launch_bench.h %D%/t_attempts.c %D%/t_follow.c %D%/t_hosts.c %D%/t_hosts_commands.c \
	%D%/t_job.c %D%/t_launch.c %D%/t_launcher.c %D%/t_mpirun.c %D%/t_plan_command.c %D%/t_plan_net.c \
	%D%/t_preflight.c %D%/t_probe.c %D%/t_remote.c %D%/t_run.c %D%/t_tune.c
dist_check_SCRIPTS += %D%/plan.sh %D%/hosts_fake.sh %D%/diverged.sh %D%/launch.sh %D%/elastic.sh %D%/signals.sh %D%/stops.sh %D%/watch_ssh.sh %D%/identity.sh %D%/rescue.sh %D%/lease.sh %D%/many_hosts.sh
EXTRA_DIST += %D%/live_runs.sh
TESTS += %D%/diverged.sh %D%/plan.sh %D%/hosts_fake.sh %D%/signals.sh %D%/identity.sh %D%/rescue.sh %D%/lease.sh %D%/many_hosts.sh
long_tests += %D%/launch.sh %D%/stops.sh %D%/elastic.sh %D%/watch_ssh.sh
