# train/record: metric sinks (TensorBoard, Prometheus), evaluations, signs of how a run learns, logs of OpenSeq2Seq.
# Enter at metric_sinks.h, evaluations.h, learning.h and recipe_check.h.
# May use: data/words, share.
libtrain_a_SOURCES += \
	%D%/evaluations.c %D%/evaluations.h %D%/learning.c %D%/learning.h \
	%D%/learning_resume.c %D%/learning_watch.c %D%/learning_watch.h \
	%D%/metric_sinks.c %D%/metric_sinks.h %D%/openseq2seq.c %D%/openseq2seq.h \
	%D%/prometheus.c %D%/prometheus.h %D%/recipe_check.c %D%/recipe_check.h \
	%D%/scalars.c %D%/scalars.h %D%/tensorboard.c %D%/tensorboard.h
