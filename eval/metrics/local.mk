# eval/metrics: BLEU, chrF and TER with sacreBLEU's tokenisers, confidence intervals, paired tests.
# Enter at metric.h (one interface for all of them).
# May use: share.
libeval_a_SOURCES += \
	%D%/bleu.c %D%/bleu.h %D%/chrf.c %D%/chrf.h %D%/metric.c %D%/metric.h \
	%D%/ngrams.c %D%/ngrams.h %D%/resample.c %D%/resample.h \
	%D%/score_passes.c %D%/score_passes.h \
	%D%/score_tokenize.c %D%/score_tokenize.h %D%/signature.c %D%/signature.h \
	%D%/ter.c %D%/ter.h %D%/ter_shift.c %D%/ter_shift.h \
	%D%/ter_tokenize.c %D%/ter_tokenize.h \
	%D%/unicode.c %D%/unicode.def %D%/unicode.h
