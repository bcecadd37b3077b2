# train/optim: the update of parameters: Adam and other optimizers, learning rate schedules, the moving average of weights.
# Enter at adam.h and schedule.h; optimizers.def and schedules.def are the tables.
# May use: kernels/ops, train/comm, train/model, share/base, share/conf.
libtrain_a_SOURCES += \
	%D%/adafactor.c %D%/adafactor.h %D%/adam.c %D%/adam.h %D%/optimizer.c %D%/optimizer.h %D%/optimizers.def %D%/ema.c %D%/ema.h %D%/schedule.c %D%/schedule.h %D%/schedules.def
