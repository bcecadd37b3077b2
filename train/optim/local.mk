# train/optim: the update of parameters: Adam, learning rate schedules, the moving average of weights.
# Enter at adam.h and schedule.h.
# May use: train/model, share/base, share/conf.
libtrain_a_SOURCES += \
	%D%/adam.c %D%/adam.h %D%/ema.c %D%/ema.h %D%/schedule.c %D%/schedule.h %D%/schedules.def
