# eval/verify: checks the files of runs, corpora and models, and says what can be rebuilt.
# Enter at verify.h.
# May use: train/ckpt, train/record, share.
libeval_a_SOURCES += %D%/verify.c %D%/verify.h
