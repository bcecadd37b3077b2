# train/record: metric sinks of a run (TensorBoard, Prometheus), its list of evaluations, logs of OpenSeq2Seq.
# Enter at metric_sinks.h and evaluations.h.
# May use: data/words, share.
libtrain_a_SOURCES += \
	%D%/evaluations.c %D%/evaluations.h %D%/metric_sinks.c %D%/metric_sinks.h \
	%D%/openseq2seq.c %D%/openseq2seq.h %D%/prometheus.c %D%/prometheus.h \
	%D%/scalars.c %D%/scalars.h %D%/tensorboard.c %D%/tensorboard.h
