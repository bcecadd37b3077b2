# train/ckpt: checkpoints: safetensors files, what a checkpoint holds, which one is the newest or the best, averages.
# Enter at ckpt.h.
# May use: train/model, kernels, share.
libtrain_a_SOURCES += \
	%D%/ckpt.c %D%/ckpt.h %D%/ckpt_average.c %D%/ckpt_average.h %D%/ckpt_find.c \
	%D%/ckpt_internal.h %D%/ckpt_save.c %D%/safetensors.c %D%/safetensors.h
