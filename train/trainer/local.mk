# train/trainer: the training loop: open, step, evaluate, average, save, report.
# Enter at trainer.h; trainer_internal.h lists the files, trainer_step.c is one optimizer step.
# May use: every other room of train (not launch), data/source, data/words, data/shard, kernels, share.
libtrain_a_SOURCES += \
	%D%/evaluate.c %D%/evaluate.h %D%/evaluate_internal.h %D%/evaluate_ranks.c %D%/exchange.c \
	%D%/exchange.h %D%/local_steps.c %D%/local_steps.h %D%/processor_level.c %D%/processor_level.h %D%/product_choices.c %D%/product_choices.h \
	%D%/product_format.c %D%/product_format.h %D%/rank_arrays.c %D%/rank_arrays.h %D%/rescue.c \
	%D%/rescue.h %D%/run_records.c %D%/run_records.h %D%/run_watch.c %D%/run_watch.h \
	%D%/stop_requests.c %D%/stop_requests.h %D%/tag_shares.c %D%/tag_shares.h %D%/time_limit.c %D%/time_limit.h %D%/time_plan.c \
	%D%/time_plan.h %D%/trainer.c %D%/trainer.h %D%/trainer_gpu.c %D%/trainer_gpu.h \
	%D%/trainer_internal.h %D%/trainer_memory.c %D%/trainer_open.c %D%/trainer_report.c \
	%D%/trainer_save.c %D%/trainer_state.c %D%/trainer_step.c %D%/weight_average.c \
	%D%/weight_average.h %D%/weight_changes.c %D%/weight_changes.h
