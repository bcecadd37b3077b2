# train/trainer: the training loop: open, step, evaluate, average, save, report.
# Enter at trainer.h; trainer_internal.h has the state of a run, trainer_step.c is one optimizer step.
# May use: every other room of train (not launch), data/source, data/words, data/shard, kernels, share.
libtrain_a_SOURCES += \
	%D%/evaluate.c %D%/evaluate.h %D%/evaluate_internal.h %D%/evaluate_ranks.c %D%/time_plan.c %D%/time_plan.h \
	%D%/trainer.c %D%/trainer.h %D%/trainer_changes.c %D%/trainer_ema.c %D%/trainer_format.c %D%/trainer_internal.h \
	%D%/trainer_gpu.c %D%/trainer_gpu.h %D%/trainer_local_steps.c %D%/trainer_open.c \
	%D%/trainer_products.c %D%/trainer_report.c %D%/trainer_rescue.c %D%/trainer_save.c \
	%D%/trainer_staging.c %D%/trainer_start.c %D%/trainer_step.c %D%/trainer_stop.c \
	%D%/trainer_time.c %D%/trainer_watch.c
