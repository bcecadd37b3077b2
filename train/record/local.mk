# train/record: what a run writes besides its journal: TensorBoard, Prometheus, the list of evaluations; foreign logs.
# Enter at metric_sinks.h and evaluations.h.
# May use: share.
libtrain_a_SOURCES += \
	%D%/evaluations.c %D%/evaluations.h %D%/metric_sinks.c %D%/metric_sinks.h \
	%D%/openseq2seq.c %D%/openseq2seq.h %D%/prometheus.c %D%/prometheus.h \
	%D%/scalars.c %D%/scalars.h %D%/tensorboard.c %D%/tensorboard.h
