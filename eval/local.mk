# eval: werkbank-eval: translation, scores, reports, import and export of models.
# Enter at main.c (the commands); each folder is a room.
# May use: its own rooms, train, data, kernels, share.
noinst_LIBRARIES += libeval.a
libeval_a_SOURCES =
include %D%/metrics/local.mk
include %D%/decode/local.mk
include %D%/document/local.mk
include %D%/translate/local.mk
include %D%/evaluate/local.mk
include %D%/score/local.mk
include %D%/report/local.mk
include %D%/weights/local.mk
include %D%/import/local.mk
include %D%/export/local.mk
include %D%/verify/local.mk
include %D%/server/local.mk
libeval_a_CPPFLAGS = $(AM_CPPFLAGS)

bin_PROGRAMS += werkbank-eval
werkbank_eval_SOURCES = %D%/main.c
werkbank_eval_LDADD = libeval.a $(train_libs) $(mpi_libs)
