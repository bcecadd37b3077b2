# train/ckpt: checkpoints: safetensors files, what a checkpoint holds, which one is the newest or the best, averages.
# Enter at ckpt.h; ckpt.c reads, ckpt_save.c writes, ckpt_find.c finds checkpoints.
# May use: train/model, data/shard, share.
libtrain_a_SOURCES += \
	%D%/ckpt.c %D%/ckpt.h %D%/ckpt_average.c %D%/ckpt_average.h %D%/ckpt_find.c \
	%D%/ckpt_internal.h %D%/ckpt_save.c %D%/safetensors.c %D%/safetensors.h
