# eval: decoding, scores, the translate service.
noinst_LIBRARIES += libeval.a
libeval_a_SOURCES = \
	%D%/alternatives.c \
	%D%/answers.c   %D%/answers.h   %D%/answers_files.c %D%/answers_learning.c %D%/answers_machine.c \
	%D%/average.c   %D%/average.h \
	%D%/beam.c      %D%/beam.h      %D%/beam_internal.h %D%/beam_constrain.c \
	%D%/pick.c      %D%/pick.h \
	%D%/bleu.c      %D%/bleu.h \
	%D%/chrf.c      %D%/chrf.h \
	%D%/compare.c   %D%/compare.h   %D%/compare_runs.c %D%/compare_runs.h \
	%D%/ct2.c       %D%/ct2.h       %D%/ct2.def %D%/ct2_read.c \
	%D%/decode.c    %D%/decode.h    %D%/decode_internal.h \
	%D%/engine.c    %D%/engine.h \
	%D%/export.c    %D%/export.h \
	%D%/forbid.c    %D%/forbid.h \
	%D%/evidence.c  %D%/evidence.h \
	%D%/foreign.c   %D%/foreign.h \
	%D%/heldout.c   %D%/heldout.h   %D%/heldout_tools.c %D%/heldout_spread.c \
	%D%/ledger.c    %D%/ledger.h \
	%D%/metric.c    %D%/metric.h \
	%D%/import.c    %D%/import.h    %D%/import_model.c %D%/import_model.h \
	%D%/import_words.c %D%/import_words.h \
	%D%/ngrams.c    %D%/ngrams.h \
	%D%/npz.c       %D%/npz.h \
	%D%/records.c   %D%/records.h \
	%D%/report.c    %D%/report.h    %D%/report_html.c %D%/report_plot.c %D%/report_text.c \
	%D%/resample.c  %D%/resample.h \
	%D%/score_tools.c %D%/score_tools.h \
	%D%/score_tokenize.c %D%/score_tokenize.h \
	%D%/serve.c     %D%/serve.h \
	%D%/sides.c     %D%/sides.h \
	%D%/statistics.c %D%/statistics.h \
	%D%/take.c      %D%/take.h      %D%/take.def \
	%D%/stepper.c   %D%/stepper.h   %D%/stepper_internal.h %D%/stepper_memory.c %D%/stepper_words.c \
	%D%/steer.c     %D%/steer.h     %D%/steer_internal.h %D%/terms.c \
	%D%/suggest.c   %D%/suggest.h \
	%D%/ter.c       %D%/ter.h       %D%/ter_shift.c %D%/ter_shift.h \
	%D%/allowed.c   %D%/allowed.h \
	%D%/translate.c %D%/translate.h \
	%D%/unicode.c   %D%/unicode.h   %D%/unicode.def
libeval_a_CPPFLAGS = $(AM_CPPFLAGS)

bin_PROGRAMS += werkbank-eval
werkbank_eval_SOURCES = %D%/main.c
werkbank_eval_LDADD = libeval.a $(train_libs) $(mpi_libs)

EXTRA_DIST += tests/bench_shortlist.sh
EXTRA_DIST += tests/peers/unicode_tables.py tests/peers/score.py tests/peers/ctranslate2_decode.py tests/peers/import_models.py tests/peers/wishes.py
