# train/launch/run: the life of a run seen from outside: start, supervise, restart, stop.
# Enter at attempts.h (a run) and supervise.h (one job of it).
# May use: train/launch/remote, train/launch/preflight, train/common, share.
liblaunch_a_SOURCES += \
	%D%/attempts.c %D%/attempts.h %D%/attempts_internal.h %D%/broken_job.c %D%/console_follow.c %D%/console_follow.h %D%/detach.c %D%/detach.h %D%/end_cause.c %D%/end_cause.h \
	%D%/host_return.c %D%/host_return.h %D%/mpirun_output.c %D%/mpirun_output.h %D%/outcome.c %D%/outcome.h %D%/rescued.c %D%/rescued.h \
	%D%/roll_call.c %D%/roll_call.h %D%/run_commands.c %D%/run_commands.h %D%/run_handle.c %D%/run_handle.h \
	%D%/rundir.c %D%/rundir.h %D%/supervise.c %D%/supervise.h %D%/train_command.c %D%/train_command.h
