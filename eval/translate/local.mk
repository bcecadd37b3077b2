# eval/translate: the command translate, the translation service, terms and other constraints of users.
# Enter at engine.h (a loaded model) and translate.h (the command).
# May use: eval/decode, eval/metrics, train/ckpt, data, share.
libeval_a_SOURCES += \
	%D%/alternatives.c %D%/constraint_options.c %D%/constraint_options.h \
	%D%/constraint_options_internal.h %D%/engine.c %D%/engine.h \
	%D%/segment_reader.c %D%/segment_reader.h %D%/serve.c %D%/serve.h \
	%D%/suggest.c %D%/suggest.h %D%/terms.c %D%/translate.c %D%/translate.h
