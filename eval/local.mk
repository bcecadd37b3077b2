# eval: decoding, scores, the translate service.
noinst_LIBRARIES += libeval.a
libeval_a_SOURCES = \
	%D%/bleu.c      %D%/bleu.h \
	%D%/chrf.c      %D%/chrf.h \
	%D%/decode.c    %D%/decode.h \
	%D%/ngrams.c    %D%/ngrams.h \
	%D%/score_tools.c %D%/score_tools.h \
	%D%/score_tokenize.c %D%/score_tokenize.h \
	%D%/heldout.c   %D%/heldout.h \
	%D%/serve.c     %D%/serve.h \
	%D%/translate.c %D%/translate.h
libeval_a_CPPFLAGS = $(AM_CPPFLAGS) $(PCRE2_CFLAGS)

bin_PROGRAMS += werkbank-eval
werkbank_eval_SOURCES = %D%/main.c
werkbank_eval_LDADD = libeval.a $(train_libs) $(mpi_libs)
