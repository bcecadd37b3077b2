# train: the model, its training on one rank or many, and the launcher.
noinst_LIBRARIES += libtrain.a
libtrain_a_SOURCES = \
	%D%/adam.c        %D%/adam.h \
	%D%/ckpt.c        %D%/ckpt.h        %D%/ckpt_internal.h %D%/ckpt_save.c \
	%D%/buckets.c     %D%/buckets.h     %D%/compress.c    %D%/compress.h \
	%D%/comm.c        %D%/comm.h        %D%/reduce.c      %D%/reduce.h \
	%D%/model.c       %D%/model.h       %D%/params.def \
	%D%/model_internal.h %D%/model_backward.c %D%/model_forward.c %D%/model_head.c %D%/model_pack.c %D%/model_plan.c \
	%D%/safetensors.c %D%/safetensors.h \
	%D%/sched.c       %D%/sched.h \
	%D%/tensorboard.c %D%/tensorboard.h \
	%D%/control.c     %D%/control.h \
	%D%/network.c     %D%/network.h \
	%D%/trainer.c     %D%/trainer.h     %D%/trainer_internal.h \
	%D%/trainer_average.c %D%/trainer_open.c %D%/trainer_report.c %D%/trainer_save.c %D%/trainer_step.c \
	%D%/evaluate.c    %D%/evaluate.h    %D%/evaluate_internal.h %D%/evaluate_spread.c \
	%D%/leftover.c    %D%/leftover.h    %D%/linkfile.c   %D%/linkfile.h \
	%D%/host_watch.c  %D%/host_watch.h \
	%D%/pulse.c       %D%/pulse.h       %D%/pulse_internal.h %D%/pulse_watch.c %D%/pulse_word.c \
	%D%/telemetry.c   %D%/telemetry.h   %D%/telemetry_internal.h %D%/telemetry_records.c
libtrain_a_CPPFLAGS = $(AM_CPPFLAGS)
train_libs = libtrain.a libprobe.a $(kernel_libs) $(data_libs) $(base_libs)

if HAVE_MPI
libtrain_a_SOURCES += %D%/comm_mpi.c
libtrain_a_CPPFLAGS += $(MPI_CFLAGS)
mpi_libs = $(MPI_LIBS)
endif

# Readers of what a host is and does: for ranks and for the launcher's questions.
noinst_LIBRARIES += libprobe.a
libprobe_a_SOURCES = %D%/host_file.c %D%/host_file.h %D%/host_cpu.c %D%/host_cpu.h \
	%D%/host_disk.c %D%/host_disk.h %D%/host_net.c %D%/host_net.h %D%/host_ib.c \
	%D%/host_gpu.c %D%/host_gpu.h %D%/host_nvml.c %D%/host_nvml.h

# What the launcher does beside running a training; apart, so that tests can link it.
noinst_LIBRARIES += liblaunch.a
liblaunch_a_SOURCES = %D%/hosts.c %D%/hosts.h %D%/hosts_aws.c %D%/network.c
liblaunch_a_SOURCES += %D%/mpirun.c %D%/mpirun.h %D%/ssh_agent.c %D%/ssh_agent.h
liblaunch_a_SOURCES += %D%/train_command.c %D%/train_command.h %D%/attempts.c %D%/attempts.h \
	%D%/muster.c %D%/muster.h %D%/outcome.c %D%/outcome.h %D%/control.c \
	%D%/supervise.c %D%/supervise.h %D%/rundir.c %D%/rundir.h %D%/detach.c %D%/detach.h \
	%D%/live.c %D%/live.h %D%/follow.c %D%/follow.h %D%/run_commands.c %D%/run_commands.h \
	%D%/job_command.c %D%/job_command.h
liblaunch_a_SOURCES += %D%/leftover.c %D%/leftover.h %D%/linkfile.c %D%/linkfile.h
liblaunch_a_SOURCES += %D%/plan.c %D%/plan.h %D%/plan_command.c %D%/plan_command.h \
	%D%/plan_grid.c %D%/plan_grid.h %D%/plan_run.c %D%/plan_run.h
liblaunch_a_SOURCES += %D%/remote.c %D%/remote.h %D%/remote_explain.c %D%/probe.h %D%/probe.c \
	%D%/probe_facts.c %D%/probe_machine.c %D%/probe_network.c %D%/probe_meet.c
liblaunch_a_SOURCES += %D%/preflight.c %D%/preflight.h %D%/preflight_internal.h %D%/preflight_judge.c \
	%D%/preflight_network.c %D%/preflight_print.c %D%/hosts_ask.c %D%/hosts_ask.h

bin_PROGRAMS += werkbank-train werkbank-launch
werkbank_train_SOURCES = %D%/main.c %D%/bandwidth.c %D%/bandwidth.h
werkbank_train_LDADD = $(train_libs) $(mpi_libs)

werkbank_launch_SOURCES = %D%/launch_main.c %D%/hosts_command.c %D%/hosts_command.h
werkbank_launch_SOURCES += %D%/hosts_clean.c %D%/hosts_bandwidth.c %D%/hosts_sync.c
werkbank_launch_LDADD = liblaunch.a libprobe.a $(base_libs)
