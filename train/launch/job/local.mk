# train/launch/job: job scripts for Slurm, PBS and Kubernetes.
# Enter at job_command.h.
# May use: train/launch/run, train/launch/remote, share.
liblaunch_a_SOURCES += \
	%D%/job_batch.c %D%/job_command.c %D%/job_command.h %D%/job_internal.h %D%/job_k8s.c
